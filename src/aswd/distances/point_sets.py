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
from aswd.distances.scrambling import BITS, permuted_inverse, scrambled_digits
from aswd.distances.streams import Streams
from aswd.utils.checks import check_at_least, check_choice

RANDOMISATIONS = ("rotation", "scramble", "none")


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

    def is_fixed(self, randomisation: str) -> bool:
        """Whether every draw is the same."""
        return randomisation == "none"

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

    def is_fixed(self, randomisation: str) -> bool:
        return False

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

    def scrambled(self, count: int, dim: int, streams: Streams) -> Tensor:
        """Scrambled points of the open unit cube, ``[R, count, c]``, in float64: each alone uniform, independent between replicas."""
        raise NotImplementedError

    def to_sphere(self, cube: Tensor) -> Tensor:
        """Points of the cube, mapped to the sphere."""
        return functional.normalize(torch.special.ndtri(cube), dim=-1)

    def points(self, count: int, dim: int) -> Tensor:
        return self.to_sphere(self.cube(count, dim))

    def draw(self, count: int, dim: int, streams: Streams, randomisation: str) -> Tensor:
        if randomisation != "scramble":
            return super().draw(count, dim, streams, randomisation)
        self.check_dim(dim)
        return self.to_sphere(self.scrambled(count, dim, streams)).to(streams.kind[1])


class Sobol(Net):
    """Sobol's sequence, without its first point, the origin, unless it is scrambled.

    Scrambled by a random linear map of the binary digits, in which every digit changes the later ones (Matousek's form of Owen's
    scrambling), and a random digital shift, as in scipy and torch. It keeps the elementary intervals of the net, and the variance of an
    estimate is that under Owen's own scrambling, which permutes the digits of every interval independently.
    """

    def cube(self, count: int, dim: int) -> Tensor:
        return (_sobol_digits(count + 1, dim, torch.device("cpu"))[1:].double() + 0.5) / 2**BITS

    def scrambled(self, count: int, dim: int, streams: Streams) -> Tensor:
        return scrambled_digits(_sobol_digits(count, dim, streams.kind[0]), count, streams)


class EqualArea(Sobol):
    """Sobol's sequence in the square, mapped to the sphere in three dimensions by the map that preserves areas."""

    dim = 3

    def cube(self, count: int, dim: int) -> Tensor:
        return super().cube(count, 2)

    def scrambled(self, count: int, dim: int, streams: Streams) -> Tensor:
        return super().scrambled(count, 2, streams)

    def to_sphere(self, cube: Tensor) -> Tensor:
        height, angle = cube[..., 0], 2 * math.pi * cube[..., 1]
        radius = 2 * (height - height.square()).sqrt()
        return torch.stack([radius * angle.cos(), radius * angle.sin(), 1 - 2 * height], -1)


class Halton(Net):
    """Halton's sequence: radical inverses in the first d primes, without the first point, the origin, unless it is scrambled.

    Scrambled by random permutations of the digits, independent for every position and dimension, as in scipy; in base two these are digital
    shifts.
    """

    def cube(self, count: int, dim: int) -> Tensor:
        columns = [_radical_inverse(np.arange(1, count + 1), base) for base in _primes(dim)]
        return torch.from_numpy(np.stack(columns, 1))

    def scrambled(self, count: int, dim: int, streams: Streams) -> Tensor:
        index = torch.arange(count, device=streams.kind[0])
        return torch.stack([permuted_inverse(index, int(base), streams) for base in _primes(dim)], -1)


@lru_cache(maxsize=16)
def _sobol_digits(count: int, dim: int, device: torch.device) -> Tensor:
    """The first points of Sobol's sequence, as whole numbers of :data:`BITS` binary digits, ``[count, dim]``."""
    most = torch.quasirandom.SobolEngine.MAXDIM
    if dim > most:
        raise ValueError(f"Sobol's sequence has at most {most} dimensions; got {dim}: use 'orthogonal' or 'random'")
    with torch.inference_mode(False), torch.device("cpu"):  # whatever mode and default device the first call has
        return (torch.quasirandom.SobolEngine(dim).draw(count, dtype=torch.float64) * 2**BITS).long().to(device)


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
