"""Benchmarks: what the numbers of the README are measured with; and the profile of a run."""

from aswd.utils import torchvision_import

torchvision_import.install()  # before Lightning or torchmetrics import it
