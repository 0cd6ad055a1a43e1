"""Sliced Wasserstein distances, and the experiments of "Augmented Sliced Wasserstein Distances" (Chen, Yang and Li, ICLR 2022)."""

from importlib.metadata import version

from aswd import _numpy, _torchvision

_numpy.choose()
_torchvision.install()

__version__ = version("aswd")
