"""Slice costs: what two sets of samples cost under one slice."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from aswd.distances.aggregations import Aggregation, Max, Separable, Weighted
from aswd.distances.parts import Part
from aswd.distances.problem import Slices
from aswd.distances.slicing import mean_slice_cost, slice_costs, weighted_slice_cost


class SliceCost(Part):
    """Base of the slice costs. A subclass must define :meth:`costs`."""

    option = "slice_cost"
    one_direction: ClassVar[bool] = True  # whether every direction is a slice of its own

    def costs(self, s: Slices) -> Tensor:
        """The cost of every slice, ``[R, L]``, differentiable with respect to samples or features, and directions."""
        raise TypeError(f"{type(self).__name__} must define costs(slices)")

    def compared(self, s: Slices) -> Tensor:
        """The costs, up to rounding, to choose slices by; no gradient is taken."""
        return self.costs(s)

    def count(self, directions: int) -> int:
        """Number of slices that so many directions make."""
        return directions

    def num_sorts(self, directions: int, aggregation: Aggregation) -> int:
        """Rows of N values that are sorted for the value; a slice that is selected is sorted again."""
        return 2 * (directions + isinstance(aggregation, Max))

    def aggregate(self, s: Slices, aggregation: Aggregation) -> Tensor:
        """The aggregated costs of every replica, ``[R]``."""
        if isinstance(aggregation, Max):
            return self.costs(self.selected(s, aggregation))[:, 0]
        return aggregation(self.costs(s), s)

    def selected(self, s: Slices, aggregation: Max, count: int = 1) -> Slices:
        """The slices with only those ``count`` directions that matter, ``[R, count, D]``."""
        with torch.no_grad():
            index = aggregation.select(self.compared(s), count)
        return s._replace(theta=s.theta.take_along_dim(index[:, :, None], 1))

    def plan(self, s: Slices, aggregation: Aggregation) -> Tensor:
        """The transport plan between the samples that the aggregated cost is the cost of, ``[R, N, M]``."""
        raise ValueError(f"a plan needs a cost between samples, such as slice_cost='lifted'; got {self!r}")


class Sorted(SliceCost):
    """W_k^k between the projections, by sorting."""

    def costs(self, s: Slices) -> Tensor:
        return slice_costs(s)

    def aggregate(self, s: Slices, aggregation: Aggregation) -> Tensor:
        if isinstance(aggregation, Separable):
            return mean_slice_cost(s, aggregation)
        if isinstance(aggregation, Weighted):
            return aggregation.estimate(weighted_slice_cost(s, aggregation.slice_weights(s)))
        return super().aggregate(s, aggregation)
