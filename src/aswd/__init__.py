"""Sliced Wasserstein distances, and the experiments of "Augmented Sliced Wasserstein Distances" (Chen, Yang and Li, ICLR 2022)."""

from importlib.metadata import version

__version__ = version("aswd")
