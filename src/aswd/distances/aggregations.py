r"""Aggregations: one value from the costs of all slices.

A sliced distance is :math:`D = A(c_1, \dots, c_L)^{1/k}` with the costs :math:`c_l` of its slices, k-th powers of distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from aswd.distances.one_dimensional import clamp_tiny, safe_root
from aswd.distances.parts import Part
from aswd.distances.problem import Slices
from aswd.utils.checks import check_at_least, check_choice


class Aggregation(Part):
    """Base of the aggregations. A subclass must define :meth:`__call__` in differentiable operations of torch on ``[R, L]``."""

    option = "aggregation"
    needs_uniform: ClassVar[bool] = False  # whether it is right for directions that are uniform on the sphere only

    def __call__(self, costs: Tensor, s: Slices) -> Tensor:
        """A of every replica, ``[R]``, from costs ``[R, L]``: not negative, zero if all costs are zero, homogeneous of degree one."""
        return (self.weights(costs, s) * costs).sum(1)

    def weights(self, costs: Tensor, s: Slices) -> Tensor:
        """Weights ``[R, L]`` with A = sum_l w_l c_l, where there are such: those of the slices' plans in the plan of the distance."""
        raise ValueError(f"a plan needs an aggregation that weighs slices; {type(self).__name__} does not")

    def check(self, count: int, dim: int) -> None:
        """Raise ``ValueError`` for a number of slices, or a dimension of their directions, that it cannot take."""

    def distance(self, value: Tensor, count: int, samples: float, order: float, root: bool) -> Tensor:
        """The distance (or its k-th power) from the value of A over ``count`` slices, scaled by ``samples``."""
        value = value if samples == 1 else value * samples
        return safe_root(value, order) if root else value


class Separable(Aggregation):
    """The mean over slices of a function of each cost, whose gradient is known before the other costs are."""

    def each(self, costs: Tensor, order: float) -> tuple[Tensor, Tensor | None]:
        """The function of every cost, and its derivative (``None``: one)."""
        return costs, None

    def __call__(self, costs: Tensor, s: Slices) -> Tensor:
        return self.each(costs, s.order)[0].mean(1)

    def slope(self, value: Tensor, count: int, samples: float, order: float) -> Tensor | float:
        """Derivative of :meth:`distance` with root with respect to ``value``, to be multiplied with ``[R, ...]``."""
        return (safe_root(value * samples, order) / (order * clamp_tiny(value)))[:, None, None]


class Mean(Separable):
    """The mean of the costs: the sliced Wasserstein distance."""

    def weights(self, costs: Tensor, s: Slices) -> Tensor:
        return torch.full_like(costs, 1 / costs.shape[1])


class Weighted(Aggregation):
    """A sum of costs under weights that are known before the costs are; a negative one counts as zero. A subclass must define
    :meth:`slice_weights`.
    """

    def slice_weights(self, s: Slices) -> Tensor:
        """The weights ``[R, L]``, differentiable with respect to samples or features, and directions."""
        raise TypeError(f"{type(self).__name__} must define slice_weights(slices)")

    def weights(self, costs: Tensor, s: Slices) -> Tensor:
        return self.slice_weights(s)

    def __call__(self, costs: Tensor, s: Slices) -> Tensor:
        return self.estimate(super().__call__(costs, s))

    def estimate(self, total: Tensor) -> Tensor:
        """The value from the weighted sum."""
        return total.clamp_min(0)


class MeanOfRoots(Separable):
    """The sum over l of (c_l / L)^(1/k), to the power k: the pseudo-code of the ASWD paper, Algorithm 1."""

    def each(self, costs: Tensor, order: float) -> tuple[Tensor, Tensor]:
        root = safe_root(costs, order)
        return root, root / clamp_tiny(costs) / order

    def distance(self, value: Tensor, count: int, samples: float, order: float, root: bool) -> Tensor:
        total = value * self.slope(value, count, samples, order)
        return total if root else total**order

    def slope(self, value: Tensor, count: int, samples: float, order: float) -> float:
        return count * (samples / count) ** (1 / order)


class Max(Aggregation):
    """The largest cost. Only its slice is differentiated."""

    largest: ClassVar[bool] = True

    def select(self, costs: Tensor, count: int = 1) -> Tensor:
        """Indices of the ``count`` slices that matter, ``[R, count]``."""
        return costs.topk(min(count, costs.shape[1]), 1, self.largest).indices

    def weights(self, costs: Tensor, s: Slices) -> Tensor:
        return torch.zeros_like(costs).scatter_(1, self.select(costs), 1)


class Min(Max):
    """The smallest cost."""

    largest = False


@dataclass
class Softmin(Aggregation):
    r"""The mean of the costs under weights :math:`w_l \propto \exp(-c_l / \tau)`.

    Args:
        temperature: tau > 0; as it grows, the mean.
        energy_scale: the costs in the weights are ``"mean"`` over the samples, or ``"sum"``, where tau acts as tau / N.
        weights_gradient: differentiate the weights too.
    """

    temperature: float = 1.0
    energy_scale: str = "mean"
    weights_gradient: bool = True
    sign: ClassVar[int] = -1

    def __post_init__(self) -> None:
        check_at_least("temperature", self.temperature, 0, strictly=True)
        check_choice("energy_scale", self.energy_scale, ["mean", "sum"])
        check_choice("weights_gradient", self.weights_gradient, [True, False])

    def weights(self, costs: Tensor, s: Slices) -> Tensor:
        samples = 1 if self.energy_scale == "mean" else (s.x.shape[1] + s.y.shape[1]) / 2
        costs = costs if self.weights_gradient else costs.detach()
        return torch.softmax(self.sign * samples / self.temperature * costs, 1)


ENERGIES = ("exponential", "identity", "polynomial")


@dataclass
class Softmax(Softmin):
    r"""The mean of the costs under weights that grow with them, :math:`w_l \propto f(c_l / \tau)` (energy-based SW).

    Directions are drawn uniformly, and weighed by self-normalised importance sampling.

    Args:
        temperature: tau > 0; as it grows, the mean. The other energies have no scale, and need none.
        energy_scale: the costs in the weights are ``"mean"`` over the samples, as in the text of the EBSW paper, or ``"sum"``, as in its
            code, where tau acts as tau / N.
        weights_gradient: differentiate the weights too.
        energy: f: ``"exponential"`` exp(t), ``"identity"`` t, or ``"polynomial"`` t^energy_degree.
        energy_degree: of the polynomial energy.
    """

    energy_scale: str = "sum"
    energy: str = "exponential"
    energy_degree: float = 2.0
    sign: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("energy", self.energy, ENERGIES)
        check_at_least("energy_degree", self.energy_degree, 0, strictly=True)

    def weights(self, costs: Tensor, s: Slices) -> Tensor:
        if self.energy == "exponential":
            return super().weights(costs, s)
        costs = costs if self.weights_gradient else costs.detach()
        relative = costs / clamp_tiny(costs.detach().amax(1, keepdim=True))  # against overflow
        energy = relative if self.energy == "identity" else power(relative, self.energy_degree)
        return energy / clamp_tiny(energy.sum(1, keepdim=True))


def power(values: Tensor, degree: float) -> Tensor:
    """``values ** degree`` with derivatives zero at zero."""
    zero = values == 0
    return values.masked_fill(zero, 1).pow(degree).masked_fill(zero, 0)
