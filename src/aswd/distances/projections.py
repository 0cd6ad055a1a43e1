r"""Projections p(x, theta) of samples to the line.

A projection has two parts: ``features(x)``, which does not depend on the direction, and ``slice(features, theta)``, which does.
Most projections are linear in theta and differ in their features only:

===============  ===============================================  ==================================
projection       features                                         slice
===============  ===============================================  ==================================
linear           x                                                <x, theta>
polynomial       all monomials of degree m                        <features, theta>
circular         x                                                norm(x - r theta)
neural           last hidden layer of an MLP, see                 <features, theta>, theta = last layer
                 :mod:`aswd.distances.neural`
augmented        g(x), see :mod:`aswd.distances.augmented`        <g(x), theta>
===============  ===============================================  ==================================
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from aswd.distances.layers import Parameters, norm
from aswd.distances.one_dimensional import clamp_tiny
from aswd.distances.problem import NARROW
from aswd.distances.streams import Streams
from aswd.utils.checks import check_at_least


class Projection:
    """Base of all projections.

    A subclass must define :meth:`values`, whose gradient then comes from autograd; everything else is optional.
    """

    def __repr__(self) -> str:  # without the address: a state_dict names what it belongs to; a dataclass adds its fields
        return f"{type(self).__name__}()"

    def direction_dim(self, dim: int) -> int:
        """Dimension of theta for samples of dimension ``dim``."""
        return dim

    def check(self, x: Tensor, y: Tensor, num_directions: int) -> None:
        """Raise ``ValueError`` for samples ``[R, N, d]`` and ``[R, M, d]`` that the projection cannot take, before it allocates memory."""

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        """Initial parameters of the projection, one set per replica, drawn from ``streams``."""
        return {}

    def own_directions(self, parameters: Parameters) -> Tensor | None:
        """Directions that are parameters of the projection, ``[R, L, D]``, or ``None`` if it has none."""
        return None

    def features(self, x: Tensor, parameters: Parameters) -> Tensor:
        """``[R, N, d]`` to ``[R, N, D]``."""
        return x

    closed_form: bool = False  # whether parameter_gradients is implemented, which saves autograd in every inner step
    outputs_features: bool = True  # whether output_norm is the norm of the features

    def traced(self, x: Tensor, parameters: Parameters) -> tuple[Tensor, Any]:
        """The features, and the intermediate results that :meth:`parameter_gradients` needs."""
        return self.features(x, parameters), None

    def parameter_gradients(
        self, x: Tensor, features: Tensor, trace: Any, features_grad: Tensor, parameters: Parameters
    ) -> dict[str, Tensor]:
        """Gradients of the parameters from the gradient of the features of ``x``; needed if :attr:`closed_form`."""
        return {}

    def own_gradients(self, theta_grad: Tensor) -> dict[str, Tensor]:
        """Gradients of the parameters that are directions, from the gradient of :meth:`own_directions`."""
        return {}

    def values(self, features: Tensor, directions: Tensor) -> Tensor:
        """p(x, theta) as ``[R, L, N]`` from features ``[R, N, D]`` and directions ``[R, L, D]``."""
        raise TypeError(f"{type(self).__name__} must define values(features, directions)")

    def output_norm(self, features: Tensor, parameters: Parameters) -> Tensor:
        """Norm of the output of the projection's network for every sample, ``[R, N]``, which the ASWD's penalty bounds."""
        return norm(features)

    def slice(self, features: Tensor, directions: Tensor, out: Tensor) -> Any:
        """Write the values to ``out``, and return what :meth:`pull_back` needs."""
        with torch.enable_grad():
            inputs = features.detach().requires_grad_(), directions.detach().requires_grad_()
            values = self.values(*inputs)
        out.copy_(values.detach())
        return values, inputs

    def residual(self, features: Tensor, directions: Tensor) -> Any:
        """What :meth:`pull_back` needs, where the values are not."""
        return self.slice(features, directions, features.new_empty(*directions.shape[:2], features.shape[1]))

    def pull_back(
        self, slope: Tensor, residual: Any, features: Tensor, directions: Tensor, need: tuple[bool, bool]
    ) -> tuple[Tensor | None, Tensor | None]:
        """Gradients with respect to (features, directions) from the gradient ``slope`` of the values."""
        values, inputs = residual
        wanted = [tensor for tensor, needed in zip(inputs, need, strict=True) if needed]
        grads = iter(torch.autograd.grad(values, wanted, slope, materialize_grads=True))
        return next(grads) if need[0] else None, next(grads) if need[1] else None


@dataclass
class Linear(Projection):
    r"""<x, theta>: the Radon transform's projection (SWD, Max-SWD, DSWD)."""

    def values(self, features: Tensor, directions: Tensor) -> Tensor:
        return directions @ features.mT

    def slice(self, features: Tensor, directions: Tensor, out: Tensor) -> None:
        torch.bmm(directions, features.mT, out=out)

    def residual(self, features: Tensor, directions: Tensor) -> None:
        return None

    def pull_back(
        self, slope: Tensor, residual: Any, features: Tensor, directions: Tensor, need: tuple[bool, bool]
    ) -> tuple[Tensor | None, Tensor | None]:
        return weigh_rows(slope, directions) if need[0] else None, weigh_columns(slope, features) if need[1] else None


def weigh_rows(slope: Tensor, directions: Tensor, out: Tensor | None = None) -> Tensor:
    """``slope^T directions``, ``[R, N, D]``; a narrow D as the inner axis of the product would be six times slower."""
    if directions.shape[-1] > NARROW:
        return torch.matmul(slope.mT, directions, out=out)
    product = (directions.mT @ slope).mT
    return product if out is None else out.copy_(product)


def weigh_columns(slope: Tensor, features: Tensor) -> Tensor:
    """``slope features``, ``[R, L, D]``; see :func:`weigh_rows`."""
    return (features.mT.contiguous() @ slope.mT).mT if features.shape[-1] <= NARROW else slope @ features


@dataclass
class Polynomial(Linear):
    r"""Sum over all monomials of exact degree m of theta_a x^a; theta has C(d + m - 1, m) components.

    Args:
        degree: m >= 1, odd for a metric.
    """

    degree: int = 3

    def __post_init__(self) -> None:
        check_at_least("degree", self.degree, 1, whole=True)

    def direction_dim(self, dim: int) -> int:
        return math.comb(dim + self.degree - 1, self.degree)

    def check(self, x: Tensor, y: Tensor, num_directions: int) -> None:
        free = _free_memory(x.device)
        if free is None:
            return
        count, samples = self.direction_dim(x.shape[-1]), len(x) * (x.shape[1] + y.shape[1])
        rows = 2 * (samples + len(x) * num_directions)  # monomials and directions, each with a temporary copy
        needed = count * (rows * x.element_size() + self.degree * 8)
        if needed > free:
            raise ValueError(
                f"degree={self.degree} in dimension {x.shape[-1]} has {count:,} monomials, which would take {needed / 2**30:,.1f} GiB "
                f"for {samples} samples and {num_directions} directions where {free / 2**30:,.1f} GiB are free: "
                "use a lower degree or dimension, or fewer of them"
            )

    def features(self, x: Tensor, parameters: Parameters) -> Tensor:
        index = _monomials(x.shape[-1], self.degree, x.device)
        product = x[..., index[0]]
        for factor in index[1:]:
            product = product * x[..., factor]
        return product


def _free_memory(device: torch.device) -> int | None:
    """Free memory of a device in bytes, or ``None`` if unknown."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type == "cpu" and Path("/proc/meminfo").exists():
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        return int(fields["MemAvailable"].split()[0]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if device.type == "cpu" else None


@lru_cache(maxsize=8)
def _monomials(dim: int, degree: int, device: torch.device) -> Tensor:
    """``[degree, count]``: the variables whose product each monomial is."""
    factors = chain.from_iterable(combinations_with_replacement(range(dim), degree))
    return torch.from_numpy(np.fromiter(factors, np.int64).reshape(-1, degree)).to(device).mT


@dataclass
class Circular(Projection):
    r"""norm(x - r theta), the circular defining function.

    Only differences of values matter, so the constant r norm(theta) is subtracted: with :math:`n = |x - r \theta|` and
    :math:`u = |x|^2 - 2 r \langle x, \theta \rangle`, :math:`p = u / (n + r |\theta|)`, which keeps float32 precision at r = 1000.
    For d above 16, :math:`n = \sqrt{u + r^2 |\theta|^2}` avoids an N x d x L tensor. That radicand cancels for samples close to
    r theta. In few dimensions samples do come close, and there the differences are computed one coordinate at a time; in many dimensions
    a random theta is far from every sample, but use float64 for given directions that are not.

    Args:
        radius: r > 0.
    """

    radius: float = 1.0
    _direct_up_to = 16

    def __post_init__(self) -> None:
        check_at_least("radius", self.radius, 0, strictly=True)

    def values(self, features: Tensor, directions: Tensor) -> Tensor:
        return torch.linalg.vector_norm(features[:, None] - self.radius * directions[:, :, None], dim=-1)

    def slice(self, features: Tensor, directions: Tensor, out: Tensor) -> Tensor:
        r = self.radius
        r_theta = clamp_tiny(r * torch.linalg.vector_norm(directions, dim=-1, keepdim=True))
        squared = r_theta.square()
        r_theta += squared - squared  # NaN where that overflows: all values would be equal
        torch.baddbmm(torch.linalg.vector_norm(features, dim=-1).square_()[:, None], directions, features.mT, alpha=-2 * r, out=out)
        if features.shape[-1] <= self._direct_up_to:
            norms = torch.zeros_like(out)
            for x, theta in self._coordinates(features, directions):
                norms += (x - r * theta).square_()
            norms.sqrt_()
            out /= norms + r_theta
            return norms
        norms = (out + squared).clamp_min_(0).sqrt_().add_(r_theta)
        out /= norms
        return norms.sub_(r_theta)  # undone rather than copied: newly allocated memory costs more than two passes

    def pull_back(
        self, slope: Tensor, residual: Any, features: Tensor, directions: Tensor, need: tuple[bool, bool]
    ) -> tuple[Tensor | None, Tensor | None]:
        r, norms = self.radius, residual
        # Zero where the norm is zero: a mask would take five times as long.
        pull = norms.reciprocal_().nan_to_num_(nan=math.nan, posinf=0).mul_(slope)
        if features.shape[-1] > self._direct_up_to:
            x_grad = (features * pull.sum(1)[..., None]).baddbmm_(pull.mT, directions, alpha=-r) if need[0] else None
            d_grad = weigh_columns(pull, features).mul_(-r).addcmul_(directions, r * r * pull.sum(2)[..., None]) if need[1] else None
            return x_grad, d_grad
        x_parts, d_parts = [], []
        for x, theta in self._coordinates(features, directions):
            part = (x - r * theta).mul_(pull)
            x_parts.append(part.sum(1) if need[0] else None)
            d_parts.append(part.sum(2).mul_(-r) if need[1] else None)
        return torch.stack(x_parts, -1) if need[0] else None, torch.stack(d_parts, -1) if need[1] else None

    @staticmethod
    def _coordinates(features: Tensor, directions: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Pairs of ``[R, 1, N]`` and ``[R, L, 1]``, one per coordinate."""
        return zip(features[:, None].unbind(-1), directions[:, :, None].unbind(-1), strict=True)
