"""How uniform directions are sampled: independently, in orthogonal blocks, or as a point set of low discrepancy and its randomisation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from aswd.distances.parts import Part
from aswd.distances.streams import Streams
from aswd.utils.checks import check_at_least, check_choice

RANDOMISATIONS = ("rotation", "scramble", "none")
_BITS = 30  # of the coordinates of a Sobol point


class PointSet(Part):
    """Base of the point sets on the sphere. A subclass must define :meth:`points`; it is then rotated at random, or used as it is."""

    option = "sampling"
    randomisations: ClassVar[tuple[str, ...]] = ("rotation", "none")
    dim: ClassVar[int | None] = None  # the only dimension that it is for

    def points(self, count: int, dim: int) -> Tensor:
        """``count`` unit vectors, ``[count, dim]``, in float64."""
        raise TypeError(f"{type(self).__name__} must define points(count, dim)")

    def check(self, randomisation: str) -> None:
        """Raise ``ValueError`` for a randomisation that the set does not have."""
        check_choice("randomisation", randomisation, RANDOMISATIONS)
        if randomisation not in self.randomisations:
            known = " or ".join(map(repr, self.randomisations))
            raise ValueError(f"randomisation must be {known} for {type(self).__name__}; got {randomisation!r}")

    def check_dim(self, dim: int) -> None:
        """Raise ``ValueError`` for directions of a dimension that the set is not for."""
        if self.dim is not None and dim != self.dim:
            raise ValueError(f"{type(self).__name__} is a point set in dimension {self.dim}; got {dim}: use 'sobol' or 'halton'")

    def draw(self, count: int, dim: int, streams: Streams, randomisation: str) -> Tensor:
        """Directions ``[R, count, dim]``."""
        self.check_dim(dim)
        points = _cached(type(self), count, dim, *streams.kind)
        return points.expand(streams.count, -1, -1) if randomisation == "none" else points @ orthonormal(streams.normal(dim, dim))


@lru_cache(maxsize=16)
def _cached(kind: type[PointSet], count: int, dim: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    with torch.inference_mode(False), torch.device("cpu"):  # whatever mode and default device the first call has
        points = kind().points(count, dim)
    return points.to(device, dtype)


def orthonormal(normal: Tensor) -> Tensor:
    """Orthonormal columns from normal ones, ``[..., d, m]`` with m <= d: uniform among all such."""
    if normal.shape[-2] > 4:
        q, r = torch.linalg.qr(normal)
        return q * torch.where(r.diagonal(dim1=-2, dim2=-1) < 0, -1, 1).to(q.dtype)[..., None, :]
    columns: list[Tensor] = []  # many small matrices: Gram-Schmidt is faster than one call of LAPACK for each
    for column in normal.unbind(-1):
        for _ in range(2):  # twice is enough
            for other in columns:
                column = column - other * torch.linalg.vecdot(other, column)[..., None]
        columns.append(functional.normalize(column, dim=-1))
    return torch.stack(columns, -1)


class Random(PointSet):
    """Independent directions."""

    randomisations = RANDOMISATIONS  # of no effect

    def draw(self, count: int, dim: int, streams: Streams, randomisation: str) -> Tensor:
        return streams.sphere(count, dim)


@dataclass
class Orthogonal(PointSet):
    """Independent blocks of orthonormal directions; the last one may be incomplete.

    Args:
        block: directions in a block; at most, and by default, d.
    """

    block: int | None = None
    randomisations = ("rotation",)

    def __post_init__(self) -> None:
        if self.block is not None:
            check_at_least("block", self.block, 1, whole=True)

    def draw(self, count: int, dim: int, streams: Streams, randomisation: str) -> Tensor:
        size = min(self.block or dim, dim)
        blocks, rest = divmod(count, size)
        parts = [orthonormal(streams.normal(blocks, dim, size)).mT.flatten(1, 2)] if blocks else []
        if rest:
            parts.append(orthonormal(streams.normal(dim, rest)).mT)
        return torch.cat(parts, 1) if len(parts) > 1 else parts[0]


class Spiral(PointSet):
    """The generalised spiral on the sphere in three dimensions."""

    dim = 3

    def points(self, count: int, dim: int) -> Tensor:
        z = 1 - (2 * torch.arange(1, count + 1, dtype=torch.float64) - 1) / count
        angle, radius = 1.8 * math.sqrt(count) * z.arccos(), (1 - z.square()).sqrt()
        return torch.stack([radius * angle.cos(), radius * angle.sin(), z], -1)


class Net(PointSet):
    """Base of what maps points of the unit cube to the sphere, by normal quantiles unless :meth:`to_sphere` does something else."""

    randomisations = RANDOMISATIONS

    def cube(self, count: int, dim: int) -> Tensor:
        """Points of the open unit cube, ``[count, c]``, in float64."""
        raise NotImplementedError

    def shift(self, cube: Tensor, streams: Streams) -> Tensor:
        """Scramble: every replica of the points moved by its own random vector modulo one, ``[R, count, c]``."""
        low = 2.0**-40
        return ((cube + streams.uniform(0.5, 1, cube.shape[-1]).double() + 0.5) % 1).clamp_(low, 1 - low)

    def to_sphere(self, cube: Tensor) -> Tensor:
        """Points of the cube, mapped to the sphere."""
        return functional.normalize(torch.special.ndtri(cube), dim=-1)

    def points(self, count: int, dim: int) -> Tensor:
        return self.to_sphere(self.cube(count, dim))

    def draw(self, count: int, dim: int, streams: Streams, randomisation: str) -> Tensor:
        if randomisation != "scramble":
            return super().draw(count, dim, streams, randomisation)
        self.check_dim(dim)
        device, dtype = streams.kind
        return self.to_sphere(self.shift(_cached_cube(type(self), count, dim, device), streams)).to(dtype)


@lru_cache(maxsize=16)
def _cached_cube(kind: type[Net], count: int, dim: int, device: torch.device) -> Tensor:
    with torch.inference_mode(False), torch.device("cpu"):
        return kind().cube(count, dim).to(device)


class Sobol(Net):
    """Sobol's sequence without its first point; scrambled by a random digital shift."""

    def cube(self, count: int, dim: int) -> Tensor:
        if dim > torch.quasirandom.SobolEngine.MAXDIM:
            most = torch.quasirandom.SobolEngine.MAXDIM
            raise ValueError(f"Sobol's sequence has at most {most} dimensions; got {dim}: use 'orthogonal' or 'random'")
        points = torch.quasirandom.SobolEngine(dim).draw(count + 1, dtype=torch.float64)[1:]
        return points + 0.5 ** (_BITS + 1)

    def shift(self, cube: Tensor, streams: Streams) -> Tensor:
        digits = (cube * 2**_BITS).long() ^ streams.integers(2**_BITS, 1, cube.shape[-1])
        return (digits + 0.5) / 2**_BITS


class EqualArea(Sobol):
    """Sobol's sequence in the square, mapped to the sphere in three dimensions by the map that preserves areas."""

    dim = 3

    def cube(self, count: int, dim: int) -> Tensor:
        return super().cube(count, 2)

    def to_sphere(self, cube: Tensor) -> Tensor:
        height, angle = cube[..., 0], 2 * math.pi * cube[..., 1]
        radius = 2 * (height - height.square()).sqrt()
        return torch.stack([radius * angle.cos(), radius * angle.sin(), 1 - 2 * height], -1)


class Halton(Net):
    """Halton's sequence: radical inverses in the first d primes; scrambled by a random shift modulo one."""

    def cube(self, count: int, dim: int) -> Tensor:
        columns = [_radical_inverse(np.arange(1, count + 1), base) for base in _primes(dim)]
        return torch.from_numpy(np.stack(columns, 1))


def _radical_inverse(index: np.ndarray, base: int) -> np.ndarray:
    inverse, scale = np.zeros(len(index)), 1.0
    while index.any():
        scale /= base
        inverse += scale * (index % base)
        index = index // base
    return inverse


def _primes(count: int) -> np.ndarray:
    """The first primes."""
    bound = max(15, int(count * (math.log(count + 1) + math.log(math.log(count + 2) + 1) + 1)))
    sieve = np.ones(bound + 1, bool)
    sieve[:2] = False
    for n in range(2, math.isqrt(bound) + 1):
        if sieve[n]:
            sieve[n * n :: n] = False
    return np.flatnonzero(sieve)[:count]
