"""Images between bytes, as data and files have them, and numbers, as networks have them."""

from __future__ import annotations

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
