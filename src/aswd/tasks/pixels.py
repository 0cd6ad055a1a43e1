"""Pictures between bytes, as data and files have them, and numbers, as networks have them."""

from __future__ import annotations

import torch
from torch import Tensor

PIXEL_RANGES: dict[str, tuple[float, float]] = {"unit": (0.0, 1.0), "symmetric": (-1.0, 1.0)}


def from_bytes(pictures: Tensor, pixel_range: str) -> Tensor:
    """uint8 to float32: 0 becomes the lower end of the range, 255 the upper one."""
    low, high = PIXEL_RANGES[pixel_range]
    return pictures.float() * ((high - low) / 255) + low


def to_bytes(pictures: Tensor, pixel_range: str) -> Tensor:
    """The nearest bytes; what lies outside of the range becomes its nearer end, and nothing wraps around.

    >>> to_bytes(torch.tensor([-1.5, -1.0, 0.0, 1.0, 1.5]), "symmetric")
    tensor([  0,   0, 128, 255, 255], dtype=torch.uint8)
    """
    low, high = PIXEL_RANGES[pixel_range]
    return ((pictures.float() - low) * (255 / (high - low))).round().clamp(0, 255).to(torch.uint8)
