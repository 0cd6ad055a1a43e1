r"""The lifted slice cost: the matching that a slice finds, with its cost between the samples themselves.

.. math:: c_l = \sum_{ij} \gamma^l_{ij} |x_i - y_j|^k, \qquad \gamma^l \text{ optimal between } p(x, \theta_l) \text{ and } p(y, \theta_l).

Every slice is then a transport plan, so that the cost bounds W_k^k from above: min-SWGG takes the best one, EST their mean under softmin
weights, PWD their mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from aswd.distances import kernel
from aswd.distances.aggregations import Aggregation, Max
from aswd.distances.chunks import slice_chunks
from aswd.distances.matched import (
    all_pairs_are_cheaper,
    matched_squares,
    pull_back_matches,
    pull_back_pairs,
    squared_distances,
)
from aswd.distances.one_dimensional import clamp_tiny, differentiable_gradients, match_rows, quantile_plan
from aswd.distances.problem import Slices
from aswd.distances.projections import Linear
from aswd.distances.slice_costs import SliceCost
from aswd.distances.slice_gradients import repeat_plan, suits_kernel

# Ranges of replicas and slices; indices of x (None: all in order) and of y, and mass: [r, l, K].
Matching = tuple[slice, slice, Tensor | None, Tensor, Tensor]


class Lifted(SliceCost):
    """The cost between the samples under the matching on the line, of order k; directions have no gradient."""

    def costs(self, s: Slices) -> Tensor:
        return _LiftedCosts.apply(s.x, s.y, s)

    def compared(self, s: Slices) -> Tensor:
        plan = quantile_plan(s.x.shape[1], s.y.shape[1], s.x_weights, s.y_weights, device=s.x.device, dtype=s.x.dtype)
        if type(s.projection) is Linear and suits_kernel(s.projection, s.x, s.theta, plan):
            return kernel.lifted(s.x, s.y, s.theta, s.order).div_(s.x.shape[1])
        return self.costs(s)

    def plan(self, s: Slices, aggregation: Aggregation) -> Tensor:
        with torch.no_grad():
            if isinstance(aggregation, Max):
                s = self.selected(s, aggregation)
            weights = aggregation.weights(self.costs(s), s)
            (replicas, n, _), m = s.x.shape, s.y.shape[1]
            plan = s.x.new_zeros(replicas, n * m)
            for rows, cols, i, j, mass in _matchings(s):
                weighted = weights[rows, cols, None] * mass
                i = torch.arange(n, device=j.device) if i is None else i
                plan[rows].scatter_add_(1, (i * m + j).flatten(1), weighted.expand_as(j).flatten(1))
            return plan.view(replicas, n, m)


def _matchings(s: Slices) -> Iterator[Matching]:
    """The matching of every slice, a chunk at a time; indices are of samples, mass is ``[r, l, K]`` or a scalar."""
    plan = quantile_plan(s.x.shape[1], s.y.shape[1], s.x_weights, s.y_weights, device=s.x.device, dtype=s.x.dtype)
    for rows, columns in slice_chunks(s.x, s.y, s.theta):
        for cols in columns:
            theta = s.theta[rows, cols]
            u, v = (torch.empty(*theta.shape[:2], f.shape[1], device=f.device, dtype=f.dtype) for f in (s.x_features, s.y_features))
            s.projection.slice(s.x_features[rows], theta, u)
            s.projection.slice(s.y_features[rows], theta, v)
            count = theta.shape[1]
            parts = match_rows(u.flatten(0, 1), v.flatten(0, 1), repeat_plan(plan.rows(rows.start, rows.stop), count))
            yield rows, cols, *(part if part is None or part.ndim == 0 else part.view(*theta.shape[:2], -1) for part in parts)


class _LiftedCosts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, y: Tensor, s: Slices) -> Tensor:
        s = Slices(*(part.detach() if isinstance(part, Tensor) else part for part in s))
        pairs = squared_distances(s.x, s.y) if all_pairs_are_cheaper(s.x, s.y, s.theta.shape[1]) else None
        ctx.save_for_backward(x, y, pairs)
        ctx.order, ctx.matchings = s.order, []
        costs = x.new_empty(s.theta.shape[:2])
        for matching in _matchings(s):
            rows, cols, i, j, mass = matching
            if pairs is None:
                squares = matched_squares(s.x[rows], s.y[rows], i, j)
            else:
                squares = pairs[rows].flatten(1).gather(1, _pair_index(i, j, pairs.shape).flatten(1)).view_as(j)
            costs[rows, cols] = ((squares if s.order == 2 else squares.pow(s.order / 2)) * mass).sum(2)
            if any(ctx.needs_input_grad[:2]):
                ctx.matchings.append(matching)
        return costs

    @staticmethod
    def backward(ctx, grad: Tensor):
        x, y, pairs = ctx.saved_tensors
        need = ctx.needs_input_grad[:2]
        if torch.is_grad_enabled() or torch._C._functorch.is_legacy_batchedtensor(grad):  # as in a vectorised Hessian
            plain = partial(_plain_costs, matchings=ctx.matchings, order=ctx.order)
            return *differentiable_gradients(plain, (x, y), need, grad), None
        if pairs is not None:
            plan = torch.zeros_like(pairs)
            for rows, cols, i, j, mass in ctx.matchings:
                weighted = (grad[rows, cols, None] * mass).expand(j.shape)
                plan[rows].flatten(1).scatter_add_(1, _pair_index(i, j, pairs.shape).flatten(1), weighted.flatten(1))
            return *pull_back_pairs(plan.mul_(_slope(pairs, ctx.order)), x, y, need), None
        grads = [torch.zeros_like(side) if needed else None for side, needed in zip((x, y), need, strict=True)]
        for rows, cols, i, j, mass in ctx.matchings:
            factor = (grad[rows, cols, None] * mass).expand(j.shape)
            slope = ctx.order if ctx.order == 2 else _slope(matched_squares(x[rows], y[rows], i, j), ctx.order)
            for total, part in zip(grads, pull_back_matches(factor * slope, x[rows], y[rows], i, j, need), strict=True):
                if total is not None:
                    total[rows] += part
        return *grads, None


def _slope(squares: Tensor, order: float) -> Tensor:
    """k |d|^(k-2) from |d|^2, by which d is the gradient of |d|^k; zero at zero."""
    return order * clamp_tiny(squares).pow(order / 2 - 1).masked_fill_(squares == 0, 0)


def _pair_index(i: Tensor | None, j: Tensor, shape: torch.Size) -> Tensor:
    """Positions of matched pairs in a flattened ``[N, M]`` matrix."""
    return (torch.arange(shape[1], device=j.device) if i is None else i) * shape[2] + j


def _plain_costs(x: Tensor, y: Tensor, matchings: list[Matching], order: float) -> Tensor:
    """The costs in differentiable operations of torch, under fixed matchings, all slices at once."""
    rows_of: dict[int, list[Tensor]] = {}
    for rows, _, i, j, mass in matchings:
        r = torch.arange(rows.start, rows.start + len(j), device=x.device)[:, None, None]
        squares = ((x[rows, None] if i is None else x[r, i]) - y[r, j]).square().sum(-1)
        zero = squares == 0
        powers = squares if order == 2 else squares.masked_fill(zero, 1).pow(order / 2).masked_fill(zero, 0)
        rows_of.setdefault(rows.start, []).append((powers * mass).sum(2))
    return torch.cat([torch.cat(parts, 1) for parts in rows_of.values()])
