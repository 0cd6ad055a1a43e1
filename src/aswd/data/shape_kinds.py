"""Shapes that need no file, as triangles: filled ones in the plane, and surfaces in space."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from aswd.data.surfaces import Surface

_FINE = 200  # corners of what is round


def _turn(count: int, start: float = 0.0, end: float = 2 * np.pi) -> np.ndarray:
    """Points of the unit circle from angle to angle, ``[count + 1, 2]``."""
    angle = np.linspace(start, end, count + 1)
    return np.stack([np.cos(angle), np.sin(angle)], 1)


def _filled(outline: np.ndarray) -> np.ndarray:
    """Triangles from the origin, from which all of the closed ``outline [n, 2]`` must be seen."""
    return np.stack([np.zeros_like(outline), outline, np.roll(outline, -1, 0)], 1)


def _sheet(points: np.ndarray) -> np.ndarray:
    """Triangles of a grid of points ``[a, b, d]``, two between any four neighbours."""
    p, q, r, s = points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]
    dim = points.shape[2]
    return np.concatenate([np.stack(corners, 2).reshape(-1, 3, dim) for corners in ((p, q, r), (p, r, s))])


def _disk() -> np.ndarray:
    return _filled(_turn(_FINE)[:-1])


def _ring() -> np.ndarray:
    """Between the radii 0.65 and 1."""
    return _sheet(np.stack([0.65 * _turn(_FINE), _turn(_FINE)]))


def _square() -> np.ndarray:
    return _filled(np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]]))


def _triangle() -> np.ndarray:
    return _filled(_turn(3, np.pi / 2, 2.5 * np.pi)[:-1])


def _star() -> np.ndarray:
    """Five points; the inner corners are where the edges of the pentagram cross."""
    radius = np.where(np.arange(10) % 2 == 0, 1, np.cos(0.4 * np.pi) / np.cos(0.2 * np.pi))
    return _filled(radius[:, None] * _turn(10, np.pi / 2, 2.5 * np.pi)[:-1])


def _heart() -> np.ndarray:
    """(16 sin^3 t, 13 cos t - 5 cos 2t - 2 cos 3t - cos 4t), filled."""
    t = 2 * np.pi / _FINE * np.arange(_FINE)
    return _filled(np.stack([16 * np.sin(t) ** 3, 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)], 1))


def _cross() -> np.ndarray:
    """Two bars, three times as long as wide."""
    arm = np.array([[1 / 3, 1 / 3], [1 / 3, 1], [-1 / 3, 1]])
    quarter = np.array([[0.0, 1], [-1, 0]])  # rows times it: a quarter turn
    return _filled(np.concatenate([arm @ np.linalg.matrix_power(quarter, k) for k in range(4)]))


def _moons() -> np.ndarray:
    """Two half rings that interleave, as scikit-learn's, 0.3 thick."""
    upper = np.stack([0.85 * _turn(_FINE, 0, np.pi), 1.15 * _turn(_FINE, 0, np.pi)])
    return np.concatenate([_sheet(upper), _sheet([1, 0.5] - upper)])


def _sphere() -> np.ndarray:
    height, around = _turn(_FINE // 2, -np.pi / 2, np.pi / 2)[:, None], _turn(_FINE)[None]
    return _sheet(_solid(height[..., 0] * around[..., 0], height[..., 1], height[..., 0] * around[..., 1]))


def _torus() -> np.ndarray:
    """Radius 1 about the axis, 0.4 of the tube."""
    tube, around = 0.4 * _turn(_FINE)[:, None], _turn(_FINE)[None]
    return _sheet(_solid((1 + tube[..., 0]) * around[..., 0], tube[..., 1], (1 + tube[..., 0]) * around[..., 1]))


def _cube() -> np.ndarray:
    face = np.insert(_square(), 2, 1.0, axis=2)
    return np.concatenate([np.roll(side * face, axis, 2) for axis in range(3) for side in (-1, 1)])


def _solid(*coordinates: np.ndarray) -> np.ndarray:
    return np.stack(np.broadcast_arrays(*coordinates), -1)


SHAPES: dict[str, Callable[[], np.ndarray]] = {
    "disk": _disk,
    "ring": _ring,
    "square": _square,
    "triangle": _triangle,
    "star": _star,
    "heart": _heart,
    "cross": _cross,
    "moons": _moons,
    "sphere": _sphere,
    "cube": _cube,
    "torus": _torus,
}


@cache
def shape(name: str) -> Surface:
    """The shape ``name``, one of :data:`SHAPES`.

    >>> shape("square").areas().sum(), shape("cube").dim
    (np.float64(4.0), 3)
    """
    return Surface(SHAPES[name]())
