"""A Frechet distance at every evaluation of a task: FID, or that of the digit network."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytorch_lightning import LightningDataModule
from torch import Tensor

from aswd.data.images import ImageData
from aswd.data.mnist import Mnist
from aswd.metrics.mnist_features import MnistFeatures, features_path, mnist_features
from aswd.metrics.reference import Extractor, FrechetToReference, Reference, describe_data, reference, reference_from_features
from aswd.utils.errors import UserError


class FrechetEvaluation:
    """Measures generated images against real ones, whose moments are computed once.

    Args:
        extractor: the network.
        metric_class: the metric on its features.
    """

    def __init__(self, extractor: Extractor, metric_class: type[FrechetToReference] = FrechetToReference) -> None:
        self.extractor, self.metric_class = extractor, metric_class
        self.real: Reference | None = None
        self.details: dict[str, Any] = {}  # how the last distance was computed
        self._features: list[Tensor] = []
        self._resolution: list[int] = []

    def use_train_split(self, data: ImageData, cache_dir: str, device: str) -> None:
        """Measure against the train split of a data module of ours, whose moments are cached in ``cache_dir``."""
        if self.real is None:
            self.real = reference(data, self.extractor, cache_dir, device=device)

    def add_real(self, images: Tensor) -> None:
        """Add real images, uint8 ``[n, C, H, W]``, unless the moments are known."""
        if self.real is None:
            self._features.append(self.extractor.features(images))
            self._resolution = list(images.shape[1:])

    def finish_real(self, data: LightningDataModule | None) -> None:
        """Measure against the images that were added, the validation batches of ``data``."""
        if self.real is None:
            ours = isinstance(data, ImageData)
            described = describe_data(data) if ours else {"name": "dataloaders" if data is None else type(data).__name__}
            split = "test" if ours else "validation"
            self.real = reference_from_features(self._features, self.extractor, described, split, self._resolution)
            self._features = []

    def distance(self, batches: Iterable[Tensor]) -> Tensor:
        """The distance of generated images, batches of uint8 ``[n, C, H, W]``, as a scalar on the host."""
        metric = None
        for images in batches:
            if metric is None:  # only one process evaluates: nothing is to be synchronised
                metric = self.metric_class(self.real, self.extractor, sync_on_compute=False).to(images.device)
            metric.update(images)
        self.details = metric.record()
        return metric.compute()


def find_digit_features(option: str, data: LightningDataModule | None, channels: int) -> MnistFeatures | None:
    """The network of ``mnist_frechet``; ``None`` where that is not to be computed.

    Args:
        option: ``true``: the trained network is loaded, or trained now; ``auto``: only where the data are MNIST and the network is
            already on disk; ``false``.
        data: the data module.
        channels: of its images.

    Raises:
        UserError: ``option`` is ``true``, and the images are not grey, or MNIST is not there and cannot be fetched.
    """
    is_mnist = isinstance(data, Mnist) and data.config.name == "mnist"
    root = Path(data.config.root) if is_mnist else Path("data")
    if option == "false" or (option == "auto" and not (is_mnist and features_path(root).exists())):
        return None
    if channels != 1:
        raise UserError(f"mnist_frechet must be false for images that are not grey; got {option} with {channels} channels")
    return mnist_features(root)
