"""The targets of the flow in the plane. A function with :func:`_add` before it is a data set: its name, and its first line in listings."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Target = Callable[..., np.ndarray]  # number of points, random numbers, options -> [N, 2]
TARGETS: dict[str, Target] = {}


def _add(function: Target) -> Target:
    TARGETS[function.__name__] = function
    return function


@_add
def swiss_roll(n: int, rng: np.random.Generator, one_scale: bool = False) -> np.ndarray:
    """The swiss roll of scikit-learn without noise, columns 0 and 2, each divided by its largest absolute value."""
    from sklearn.datasets import make_swiss_roll

    points = make_swiss_roll(n, random_state=_random_state(rng))[0][:, [0, 2]]
    return points / np.abs(points).max(None if one_scale else 0)


@_add
def moons(n: int, rng: np.random.Generator) -> np.ndarray:
    """Two half circles without noise, divided by the largest absolute value."""
    from sklearn.datasets import make_moons

    points = make_moons(n, random_state=_random_state(rng))[0]
    return points / np.abs(points).max()


@_add
def circle(n: int, rng: np.random.Generator) -> np.ndarray:
    """A ring: the outer circle of ``make_circles`` with noise 0.01."""
    from sklearn.datasets import make_circles

    points, ring = make_circles(2 * n, noise=0.01, random_state=_random_state(rng))
    return points[ring == 0]


@_add
def rectangle(n: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform on [-1, 1]^2."""
    return rng.uniform(-1, 1, (n, 2))


@_add
def gaussians_8(n: int, rng: np.random.Generator, std: float = 0.01) -> np.ndarray:
    """Eight Gaussians at radius sqrt(2).

    Angles are multiples of 45 degrees; centres are filled in turn with 60 points each, or an eighth of fewer than 480.
    """
    angle = 2 * np.pi / 8 * (np.arange(n) // min(60, math.ceil(n / 8)) % 8)
    return math.sqrt(2) * np.stack([np.sin(angle), np.cos(angle)], 1) + rng.normal(0, std, (n, 2))


@_add
def gaussians_25(n: int, rng: np.random.Generator, std: float = 0.01) -> np.ndarray:
    """A 5 x 5 grid of Gaussians on [-sqrt(2), sqrt(2)]^2, N/25 points each."""
    axis = np.linspace(-math.sqrt(2), math.sqrt(2), 5)
    centres = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(25, 2)
    return centres[np.arange(n) * 25 // n] + rng.normal(0, std, (n, 2))


@_add
def knot(n: int, rng: np.random.Generator) -> np.ndarray:
    """A knot: (sin(pi t) cos t, sin(pi t) sin t) for t = 0 .. 2 pi in N even steps."""
    t = 2 * np.pi / n * np.arange(n)
    return np.sin(np.pi * t)[:, None] * np.stack([np.cos(t), np.sin(t)], 1)


@_add
def heart(n: int, rng: np.random.Generator) -> np.ndarray:
    """A heart: (16 sin^3 t, 13 cos t - 5 cos 2t - 2 cos 3t - cos 4t), each axis divided by its largest absolute value."""
    t = 2 * np.pi / n * np.arange(n)
    points = np.stack([16 * np.sin(t) ** 3, 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)], 1)
    return points / np.abs(points).max(0)


def _random_state(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
