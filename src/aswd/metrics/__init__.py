"""Evaluation metrics: torchmetrics classes and the functions behind them."""

from aswd.utils import torchvision_import

torchvision_import.install()  # before Lightning or torchmetrics import it

from aswd.metrics.barycenter import free_support_barycenter
from aswd.metrics.frechet import frechet_distance
from aswd.metrics.wasserstein import ExactWasserstein, exact_wasserstein

__all__ = ["ExactWasserstein", "exact_wasserstein", "frechet_distance", "free_support_barycenter"]
