"""What a cloud is drawn from: triangles, by area, or points of its own; and shapes that need no file, as triangles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np


class NoShape(ValueError):
    """What is wrong with a shape, as a sentence that lacks its subject."""


@dataclass(frozen=True)
class Surface:
    """Triangles ``[F, 3, d]``, d >= 2; in the plane they fill a region."""

    triangles: np.ndarray

    def __post_init__(self) -> None:
        if not self.areas().sum() > 0:
            raise NoShape("has no surface to draw from: all of its faces have no area")

    @property
    def dim(self) -> int:
        """d."""
        return self.triangles.shape[2]

    def areas(self) -> np.ndarray:
        r"""Of every triangle, :math:`\frac12 \sqrt{|a|^2 |b|^2 - \langle a, b \rangle^2}` with sides a and b, ``[F]``."""
        a, b = self.triangles[:, 1] - self.triangles[:, 0], self.triangles[:, 2] - self.triangles[:, 0]
        return np.sqrt(np.maximum((a * a).sum(1) * (b * b).sum(1) - (a * b).sum(1) ** 2, 0)) / 2

    def count(self, num_samples: int) -> int:
        """How many points :meth:`draw` gives."""
        return num_samples

    def draw(self, num_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Points uniform on the surface, ``[num_samples, d]``."""
        areas = self.areas()
        corners = self.triangles[rng.choice(len(areas), num_samples, p=areas / areas.sum())]
        u, v = rng.uniform(size=(2, num_samples, 1))
        u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)  # the other half of the parallelogram, folded back
        return corners[:, 0] + u * (corners[:, 1] - corners[:, 0]) + v * (corners[:, 2] - corners[:, 0])

    def normalised(self) -> Surface:
        """The same, its longest side from -1 to 1 and its box centred at the origin."""
        return Surface(_to_box(self.triangles))


@dataclass(frozen=True)
class Points:
    """Points ``[m, d]``, taken as they are: all of them, or ``num_samples`` of them."""

    points: np.ndarray

    def __post_init__(self) -> None:
        if self.points.size == 0:
            raise NoShape("is an empty cloud: it holds no point")

    @property
    def dim(self) -> int:
        """d."""
        return self.points.shape[1]

    def count(self, num_samples: int) -> int:
        """How many points :meth:`draw` gives."""
        return min(num_samples, len(self.points))

    def draw(self, num_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Points drawn without putting any back, ``[min(num_samples, m), d]``."""
        return self.points[rng.permutation(len(self.points))[:num_samples]]

    def normalised(self) -> Points:
        """The same, the longest side of its box from -1 to 1 and the box centred at the origin."""
        return Points(_to_box(self.points))


Source = Surface | Points


def _to_box(points: np.ndarray) -> np.ndarray:
    axes = tuple(range(points.ndim - 1))
    low, high = points.min(axes), points.max(axes)
    half = (high - low).max() / 2
    return (points - (low + high) / 2) / (half if half > 0 else 1)


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


def _cone() -> np.ndarray:
    """Height 2, radius 1 of its base."""
    base, top = np.insert(_turn(_FINE), 1, -1.0, axis=1), np.array([0.0, 1, 0])
    return np.concatenate([_sheet(np.stack([base, np.broadcast_to(end, base.shape)])) for end in (top, -top)])


def _trefoil() -> np.ndarray:
    """A tube of radius 0.4 around (sin t + 2 sin 2t, cos t - 2 cos 2t, -sin 3t)."""
    t = np.linspace(0, 2 * np.pi, 2 * _FINE + 1)
    centre = np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], 1)
    tangent = np.stack([np.cos(t) + 4 * np.cos(2 * t), -np.sin(t) + 4 * np.sin(2 * t), -3 * np.cos(3 * t)], 1)
    aside = np.cross(tangent, [0.0, 0, 1])  # the tangent is never upright
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    above = np.cross(aside, tangent / np.linalg.norm(tangent, axis=1, keepdims=True))
    around = 0.4 * _turn(_FINE // 2)[:, None]
    return _sheet(centre + around[..., :1] * aside + around[..., 1:] * above)


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
    "cone": _cone,
    "trefoil": _trefoil,
}


@cache
def shape(name: str) -> Surface:
    """The shape ``name``, one of :data:`SHAPES`.

    >>> shape("square").areas().sum(), shape("cube").dim
    (np.float64(4.0), 3)
    """
    return Surface(SHAPES[name]())
