"""Data modules: what a task starts from and aims at."""

from aswd.utils import torchvision_import

torchvision_import.install()  # before Lightning or torchmetrics import it

from aswd.data.registry import DATA, data_config

__all__ = ["DATA", "data_config"]
