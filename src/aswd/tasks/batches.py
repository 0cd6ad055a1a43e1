"""Batches as data modules hand them out, brought to the one shape that tasks compute with; images as bytes and as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

PIXEL_RANGES: dict[str, tuple[float, float]] = {"unit": (0.0, 1.0), "symmetric": (-1.0, 1.0)}


def from_bytes(images: Tensor, pixel_range: str) -> Tensor:
    """uint8 to float32: 0 becomes the lower end of the range, 255 the upper one."""
    low, high = PIXEL_RANGES[pixel_range]
    return images.float() * ((high - low) / 255) + low


def from_unit(images: Tensor, pixel_range: str) -> Tensor:
    """Images within [0, 1], within ``pixel_range``."""
    low, high = PIXEL_RANGES[pixel_range]
    return images if (low, high) == (0, 1) else images * (high - low) + low


def to_bytes(images: Tensor, pixel_range: str) -> Tensor:
    """The nearest bytes; values outside of the range become its nearer end, and do not wrap around.

    >>> to_bytes(torch.tensor([-1.5, -1.0, 0.0, 1.0, 1.5]), "symmetric")
    tensor([  0,   0, 128, 255, 255], dtype=torch.uint8)
    """
    low, high = PIXEL_RANGES[pixel_range]
    return ((images.float() - low) * (255 / (high - low))).round().clamp(0, 255).to(torch.uint8)


def as_points(batch: Any, replicas: int) -> Tensor:
    """Points ``[R, N, d]`` from ``[R, N, d]``, from ``[N, d]``, which all replicas share, or from the first entry of a tuple.

    Raises:
        ValueError: another shape.
    """
    points = _first(batch)
    if points.ndim == 2:
        return points.expand(replicas, *points.shape)
    if points.ndim != 3 or len(points) != replicas:
        shape = list(points.shape)
        raise ValueError(f"a batch of points must have the shape [N, d] or [{replicas}, N, d], one per seed; got {shape}")
    return points


def as_clouds(batch: Any, replicas: int) -> list[Tensor]:
    """Clouds ``[R, M_k, d]`` from a sequence of clouds, each as in :func:`as_points`.

    Raises:
        ValueError: no sequence of tensors.
    """
    if not isinstance(batch, Sequence) or not batch:
        raise ValueError(f"a batch of clouds must be a list of tensors, one per cloud; got {type(batch).__name__}")
    return [as_points(cloud, replicas) for cloud in batch]


def as_images(batch: Any, replicas: int, pixel_range: str = "unit") -> Tensor:
    """Images ``[R, B, C, H, W]`` in float32 within ``pixel_range``.

    Args:
        batch: images ``[R, B, C, H, W]``, or ``[B, C, H, W]``, which all replicas share; uint8, or floating point within [0, 1]; or a
            tuple with the images first, as of images and labels.
        replicas: R.
        pixel_range: a name of :data:`~aswd.tasks.batches.PIXEL_RANGES`.

    Raises:
        ValueError: another shape.
    """
    images = _first(batch)
    if images.ndim == 4:
        images = images.expand(replicas, *images.shape)
    if images.ndim != 5 or len(images) != replicas:
        shape = list(images.shape)
        raise ValueError(f"a batch of images must have the shape [B, C, H, W] or [{replicas}, B, C, H, W], one per seed; got {shape}")
    return from_bytes(images, pixel_range) if images.dtype == torch.uint8 else from_unit(images.float(), pixel_range)


def _first(batch: Any) -> Tensor:
    first = batch[0] if isinstance(batch, tuple | list) else batch
    if not isinstance(first, Tensor):
        raise ValueError(f"a batch must be a tensor, or a tuple with a tensor first; got {type(first).__name__}")
    return first
