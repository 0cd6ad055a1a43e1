"""What a cloud is drawn from: triangles, by area, or points of its own."""

from __future__ import annotations

from dataclasses import dataclass

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
