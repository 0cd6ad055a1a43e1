"""Frechet distances to a data set: moments of its features, kept on disk, and a torchmetrics class that measures against them."""

from __future__ import annotations

import hashlib
import json
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torchmetrics import Metric

from aswd.data.images import ImageData
from aswd.metrics.frechet import Moments, check_count, frechet_distance
from aswd.utils.errors import UserError
from aswd.utils.files import write_atomically
from aswd.utils.progress import progress_bar

BATCH = 64  # images that go through a network at once


class Extractor(Protocol):
    """A network that turns images into features."""

    name: str  # of the distance that it gives: "fid", "mnist_frechet"
    network: str  # what it is
    weights: str  # first digits of the SHA-256 of its weights
    resize: str  # how images are brought to its size
    dim: int  # of the features

    def features(self, images: Tensor) -> Tensor:
        """Of bytes ``[n, C, H, W]``, on their device, float32 ``[n, dim]``."""


@dataclass(frozen=True)
class Reference:
    """Moments of the features of real images, and of which images they are."""

    moments: Moments
    identity: dict[str, Any]


def reference(
    data: ImageData, extractor: Extractor, cache_dir: str | Path, split: str = "train", count: int | None = None, device: str = "cpu"
) -> Reference:
    """The moments of a data set's features, from ``cache_dir`` if they were taken before.

    Args:
        data: the images.
        extractor: the network.
        cache_dir: folder for the moments.
        split: ``train``, as FID is usually taken, or ``test``.
        count: of images, evenly spread over the split; default: all.
        device: on which the features are computed.

    Raises:
        UserError: ``count`` is above the number of images, or below two.
    """
    images = data.images(split)
    count = len(images) if count is None else count
    check_count(count)
    if count > len(images):
        raise UserError(f"count must be at most the {len(images)} images of the {split} split of {data.config.name}; got {count}")
    identity = _identity(describe_data(data), split, list(images.shape[1:]), count, extractor)
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:10]
    size = "x".join(map(str, images.shape[1:]))
    cache = Path(cache_dir, f"{extractor.name}-{data.config.name}-{split}-{size}-{count}-{key}.npz")
    moments = _read(cache, identity)
    if moments is None:
        chosen = images[torch.linspace(0, len(images) - 1, count).round().long()] if count < len(images) else images
        moments = _moments(chosen, extractor, device, f"{extractor.name} of {data.config.name} {split}")
        arrays = {"mean": moments.mean.numpy(), "covariance": moments.covariance.numpy(), "identity": json.dumps(identity, sort_keys=True)}
        write_atomically(cache, lambda partial: np.savez(partial, **arrays))
    return Reference(moments, identity)


def reference_from_features(
    features: Sequence[Tensor], extractor: Extractor, data: dict[str, Any], split: str, resolution: Sequence[int]
) -> Reference:
    """The moments of features that were computed elsewhere, for images that are not of a data module of ours.

    Args:
        features: batches ``[n, dim]``.
        extractor: the network that computed them.
        data: a description of the data, for the record.
        split: of which split, for the record.
        resolution: ``[channels, height, width]`` of the images.

    Raises:
        UserError: fewer than two features.
    """
    joined = torch.cat([batch.cpu() for batch in features]) if features else torch.empty(0, extractor.dim)
    return Reference(Moments.of(joined), _identity(data, split, resolution, len(joined), extractor))


def describe_data(data: ImageData) -> dict[str, Any]:
    """The options of a data module that change its images."""
    return {f.name: getattr(data.config, f.name) for f in fields(data.config) if not f.metadata.get("neutral")}


def _identity(data: dict[str, Any], split: str, resolution: Sequence[int], count: int, extractor: Extractor) -> dict[str, Any]:
    return {"data": data, "split": split, "resolution": list(resolution), "num_real": count, **_described(extractor)}


def _described(extractor: Extractor) -> dict[str, str]:
    return {"metric": extractor.name, "extractor": extractor.network, "weights": extractor.weights, "resize": extractor.resize}


def _moments(images: Tensor, extractor: Extractor, device: str, what: str) -> Moments:
    batches = progress_bar(images.split(BATCH), what=what, unit="batch")
    return Moments.of(torch.cat([extractor.features(batch.to(device)).cpu() for batch in batches]))


def _read(cache: Path, identity: dict[str, Any]) -> Moments | None:
    """The moments in a file; ``None`` where there is none, or it is damaged, or of something else."""
    try:
        with cache.open("rb") as file, np.load(file) as kept:
            if json.loads(str(kept["identity"])) == json.loads(json.dumps(identity)):
                return Moments(torch.from_numpy(kept["mean"]), torch.from_numpy(kept["covariance"]), identity["num_real"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        pass
    return None


class FrechetToReference(Metric):
    """The Frechet distance of images to a reference, and the record of how it was computed.

    Only sums are kept, of the features minus the reference's mean and of their products, in float64: any number of images takes the
    same memory, and processes add theirs up. The network is not part of the module: checkpoints do not hold it.

    Args:
        reference: moments of the real images.
        extractor: the one that they were taken with.
    """

    is_differentiable = False
    higher_is_better = False
    full_state_update = False

    def __init__(self, reference: Reference, extractor: Extractor, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        described = _described(extractor)
        if any(reference.identity[name] != value for name, value in described.items()):
            raise ValueError(f"extractor must be the one of the reference, {reference.identity}; got {described}")
        self.reference = reference
        self._extractor = (extractor,)  # in a tuple, unknown to torch
        dim = extractor.dim
        self.add_state("count", torch.zeros((), dtype=torch.long), dist_reduce_fx="sum")
        self.add_state("total", torch.zeros(dim, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("products", torch.zeros(dim, dim, dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, images: Tensor) -> None:
        """Add generated images, bytes ``[n, C, H, W]``.

        Raises:
            ValueError: another shape than the reference's images, or not bytes.
        """
        check_images(images)
        if list(images.shape[1:]) != self.reference.identity["resolution"]:
            raise ValueError(f"images must be as the real ones, {self.reference.identity['resolution']}; got {list(images.shape[1:])}")
        for batch in images.to(self.device).split(BATCH):
            centred = self._extractor[0].features(batch).double() - self.reference.moments.mean.to(self.device)
            self.count += len(batch)
            self.total += centred.sum(0)
            self.products += centred.T @ centred

    def compute(self) -> Tensor:
        """The distance, float64.

        Raises:
            UserError: fewer than two images.
        """
        count = int(self.count)
        check_count(count)
        warn_if_few(count, self._extractor[0].dim)
        mean = self.total.cpu() / count
        covariance = (self.products.cpu() - count * torch.outer(mean, mean)) / (count - 1)
        moments = Moments(mean + self.reference.moments.mean, covariance, count)
        return torch.tensor(frechet_distance(moments, self.reference.moments), dtype=torch.float64)

    def record(self) -> dict[str, Any]:
        """How the distance was computed: data, split, resolution, counts, network, weights, resize."""
        return {**self.reference.identity, "num_fake": int(self.count)}


def check_images(images: Tensor) -> None:
    """Bytes ``[n, 1 or 3, H, W]``; images in floating point would be cut or wrapped around on the way to bytes."""
    if images.dtype != torch.uint8 or images.ndim != 4 or images.shape[1] not in (1, 3):
        raise ValueError(f"images must be a uint8 tensor of shape [n, 1 or 3, H, W]; got {images.dtype} of {list(images.shape)}")


def warn_if_few(count: int, dim: int) -> None:
    """Warn below ``dim`` images, of whose features the covariance has no full rank."""
    if count < dim:
        warnings.warn(f"a Frechet distance from {count} images is far too large: take at least {dim}", stacklevel=3)
