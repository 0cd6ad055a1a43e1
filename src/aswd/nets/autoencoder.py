"""Encoder and decoder of the sliced Wasserstein autoencoder: the paper gives none, so they are those of the usual public code."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

SLOPE = 0.2  # of the LeakyReLUs
HIDDEN = 128  # units between maps and code


def check_size(size: int) -> None:
    """Raise ``ValueError`` for images that cannot be halved twice."""
    if size < 4 or size % 4:
        raise ValueError(f"size must be a multiple of 4 for the autoencoder; got {size}")


def _coarsest(size: int) -> tuple[int, int]:
    """Pixels per side of the smallest maps, and by how much the last pooling pads: 28 becomes 14, 7 and, padded, 4."""
    padding = size // 4 % 2
    return (size // 4 + padding) // 2, padding


def _convolutions(*channels: int) -> list[nn.Module]:
    """3 x 3 convolutions that keep the size, each with its LeakyReLU."""
    layers: list[nn.Module] = []
    for before, after in pairwise(channels):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.LeakyReLU(SLOPE, inplace=True)]
    return layers


class Encoder(nn.Module):
    """Three blocks of two 3 x 3 convolutions (16, 32, 64 filters) and an average pooling, then 128 units, then the code.

    Args:
        size: pixels per side of the grey images, a multiple of 4.
        latent_dim: dimension of the code.

    >>> Encoder()(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 2])
    """

    def __init__(self, size: int = 28, latent_dim: int = 2) -> None:
        super().__init__()
        check_size(size)
        side, padding = _coarsest(size)
        self.maps = nn.Sequential(
            *_convolutions(1, 16, 16),
            nn.AvgPool2d(2),
            *_convolutions(16, 32, 32),
            nn.AvgPool2d(2),
            *_convolutions(32, 64, 64),
            nn.AvgPool2d(2, padding=padding),
            nn.Flatten(),
        )
        self.code = nn.Sequential(nn.Linear(64 * side**2, HIDDEN), nn.ReLU(inplace=True), nn.Linear(HIDDEN, latent_dim))
        self.to(memory_format=torch.channels_last)  # a third faster on a CPU, and what tensor cores want

    def forward(self, images: Tensor) -> Tensor:
        """``[n, 1, size, size]`` to ``[n, latent_dim]``."""
        return self.code(self.maps(images))


class Decoder(nn.Module):
    """The encoder mirrored: 128 units, then three nearest up-samplings with two 3 x 3 convolutions each, then one to a single channel.

    Args:
        size: as the encoder's.
        latent_dim: as the encoder's.

    >>> Decoder()(torch.zeros(5, 2)).shape
    torch.Size([5, 1, 28, 28])
    """

    def __init__(self, size: int = 28, latent_dim: int = 2) -> None:
        super().__init__()
        check_size(size)
        side, padding = _coarsest(size)
        cut, activation = nn.Conv2d(64, 64, 3, padding=1 - padding), nn.LeakyReLU(SLOPE, inplace=True)  # crops what the pooling padded
        self.code = nn.Sequential(nn.Linear(latent_dim, HIDDEN), nn.Linear(HIDDEN, 64 * side**2), nn.ReLU(inplace=True))
        self.maps = nn.Sequential(
            nn.Unflatten(1, (64, side, side)),
            nn.Upsample(scale_factor=2),
            *_convolutions(64, 64, 64),
            nn.Upsample(scale_factor=2),
            *(cut, activation, *_convolutions(64, 64)),
            nn.Upsample(scale_factor=2),
            *_convolutions(64, 32, 32),
            nn.Conv2d(32, 1, 3, padding=1),
        )
        self.to(memory_format=torch.channels_last)

    def logits(self, code: Tensor) -> Tensor:
        """The images before the sigmoid, from which a cross-entropy is taken without loss."""
        return self.maps(self.code(code))

    def forward(self, code: Tensor) -> Tensor:
        """``[n, latent_dim]`` to ``[n, 1, size, size]`` in [0, 1]."""
        return torch.sigmoid(self.logits(code))
