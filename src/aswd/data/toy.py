"""The eight targets of the paper's flow experiment, as point clouds and as a data module."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from aswd.data.configs import ToyConfig
from aswd.data.modules import FixedBatch

_STREAM = 1  # of the random numbers of a seed, which source and directions share with the target


def _swiss_roll(n: int, rng: np.random.Generator) -> np.ndarray:
    """scikit-learn's roll without noise, columns 0 and 2, each divided by its largest absolute value."""
    from sklearn.datasets import make_swiss_roll

    points = make_swiss_roll(n, random_state=_random_state(rng))[0][:, [0, 2]]
    return points / np.abs(points).max(0)


def _moons(n: int, rng: np.random.Generator) -> np.ndarray:
    """Two half circles without noise, divided by the largest absolute value."""
    from sklearn.datasets import make_moons

    points = make_moons(n, random_state=_random_state(rng))[0]
    return points / np.abs(points).max()


def _circle(n: int, rng: np.random.Generator) -> np.ndarray:
    """The outer ring of ``make_circles`` with noise 0.01."""
    from sklearn.datasets import make_circles

    points, ring = make_circles(2 * n, noise=0.01, random_state=_random_state(rng))
    return points[ring == 0]


def _rectangle(n: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform on [-1, 1]^2."""
    return rng.uniform(-1, 1, (n, 2))


def _gaussians_8(n: int, rng: np.random.Generator) -> np.ndarray:
    """Centres at radius sqrt(2), angles multiples of 45 degrees, std 0.01, filled 60 points (of fewer than 480: an eighth) each in turn."""
    angle = 2 * np.pi / 8 * (np.arange(n) // min(60, math.ceil(n / 8)) % 8)
    return math.sqrt(2) * np.stack([np.sin(angle), np.cos(angle)], 1) + rng.normal(0, 0.01, (n, 2))


def _gaussians_25(n: int, rng: np.random.Generator) -> np.ndarray:
    """A 5 x 5 grid of centres on [-sqrt(2), sqrt(2)]^2, std 0.01, N/25 points each."""
    axis = np.linspace(-math.sqrt(2), math.sqrt(2), 5)
    centres = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(25, 2)
    return centres[np.arange(n) * 25 // n] + rng.normal(0, 0.01, (n, 2))


def _knot(n: int, rng: np.random.Generator) -> np.ndarray:
    """(sin(pi t) cos t, sin(pi t) sin t) for t = 0 .. 2 pi in N even steps."""
    t = 2 * np.pi / n * np.arange(n)
    return np.sin(np.pi * t)[:, None] * np.stack([np.cos(t), np.sin(t)], 1)


def _heart(n: int, rng: np.random.Generator) -> np.ndarray:
    """(16 sin^3 t, 13 cos t - 5 cos 2t - 2 cos 3t - cos 4t), each axis divided by its largest absolute value."""
    t = 2 * np.pi / n * np.arange(n)
    points = np.stack([16 * np.sin(t) ** 3, 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)], 1)
    return points / np.abs(points).max(0)


TARGETS: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "swiss_roll": _swiss_roll,
    "moons": _moons,
    "circle": _circle,
    "rectangle": _rectangle,
    "gaussians_8": _gaussians_8,
    "gaussians_25": _gaussians_25,
    "knot": _knot,
    "heart": _heart,
}


def _random_state(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def target(name: str, num_samples: int, seed: int, dim: int = 2) -> Tensor:
    """``num_samples`` points of a target, ``[N, dim]`` in float32; in more than two dimensions it lies in the plane of the first two.

    >>> target("knot", 500, seed=0).shape
    torch.Size([500, 2])
    """
    points = TARGETS[name](num_samples, np.random.default_rng([seed, _STREAM]))
    return torch.from_numpy(np.pad(points, ((0, 0), (0, dim - 2))).astype(np.float32))


class ToyTargets(FixedBatch):
    """One of :data:`TARGETS` for every seed, drawn from that seed.

    Args:
        seeds: one per replica.
        options: see :class:`~aswd.data.configs.ToyConfig`.
    """

    config_class = ToyConfig

    def samples(self) -> Tensor:
        """The targets, ``[R, N, d]`` in float32."""
        c = self.config
        return torch.stack([target(c.name, c.num_samples, seed, c.dim) for seed in self.seeds])
