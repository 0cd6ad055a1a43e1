r"""The transport costs of the slices of two sets of features, with their gradients.

Given the features of both sides and the directions, a projection computes values on the line,
:func:`~aswd.distances.one_dimensional.solve_rows` gives the cost of every slice together with its gradient, and
the projection pulls that gradient back to features and directions, a chunk of slices at a time. For a mean over slices all of it happens
in the forward pass, so that neither the values nor their gradients are ever held for all slices at once, and backward only scales. Where
the weight of a slice depends on all costs, their gradients on the line are kept, and pulled back with their weights in the backward pass.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from aswd.distances.aggregations import Separable
from aswd.distances.one_dimensional import Plan, differentiable_gradients, quantile_plan, row_costs, solve_rows
from aswd.distances.problem import Slices
from aswd.distances.projections import Projection
from aswd.distances.sorting import BLOCK, chunk_size
from aswd.distances.workers import worker_count

_CHUNK_ELSEWHERE = 1 << 26
ROOM = 8 * BLOCK  # values per side that a thread keeps memory for


def _chunk_size(device: torch.device) -> int:
    """Number of values on the line per side and chunk (but at least those of 64 slices: thinner matrix products are slow).

    On a CPU it is one block of the sort per thread, so that projected values are still in the cache when they are sorted and when
    their slopes are pulled back.
    """
    return BLOCK * worker_count() if device.type == "cpu" else _CHUNK_ELSEWHERE


def mean_slice_cost(s: Slices, aggregation: Separable) -> Tensor:
    """The mean over the slices of every replica of a function of their costs W_k^k, ``[R]``, in one pass.

    Differentiable with respect to features and directions: the gradient is computed together with the value, and backward only scales.
    """
    return _MeanSliceCost.apply(s.x_features, s.y_features, s.theta, s.x_weights, s.y_weights, s.projection, s.order, aggregation)


def slice_costs(s: Slices) -> Tensor:
    """W_k^k of every slice, ``[R, L]``, differentiable with respect to features and directions.

    The slopes of all slices, ``[R, L, N]`` for each side that needs a gradient, are kept for the backward pass.
    """
    return _SliceCosts.apply(s.x_features, s.y_features, s.theta, s.x_weights, s.y_weights, s.projection, s.order)


def cost_and_gradients(
    projection: Projection,
    x: Tensor,
    y: Tensor,
    directions: Tensor,
    x_weights: Tensor | None,
    y_weights: Tensor | None,
    order: float,
    aggregation: Separable,
    need: tuple[bool, bool, bool] = (True, True, True),
) -> tuple[Tensor, list[Tensor | None]]:
    """:func:`mean_slice_cost` and its gradients with respect to ``x``, ``y`` and ``directions``, those that are in ``need``."""
    need_x, need_y, need_directions = need
    need_u, need_v = need_x or need_directions, need_y or need_directions
    count = directions.shape[1]
    plan = quantile_plan(x.shape[1], y.shape[1], x_weights, y_weights, device=x.device, dtype=x.dtype)
    total = x.new_zeros(len(x))
    grads = [torch.empty_like(tensor) if needed else None for tensor, needed in zip((x, y, directions), need, strict=True)]
    for rows, columns in slice_chunks(x, y, directions):
        x_rows, y_rows = x[rows], y[rows]
        x_sum, y_sum = _Sum(), _Sum()
        costs = []
        for cols in columns:
            theta = directions[rows, cols]
            u, v = _values(x_rows, theta, 0), _values(y_rows, theta, 1)
            u_residual, v_residual = projection.slice(x_rows, theta, u), projection.slice(y_rows, theta, v)
            cost = _solve(u, v, plan, rows, order, need_u, need_v)  # u and v now hold slopes, both with the sign of u's
            cost, factor = aggregation.each(cost, order)
            if factor is not None:
                for slope in [slope for slope, needed in ((u, need_u), (v, need_v)) if needed]:
                    slope *= factor[..., None]
            costs.append(cost)
            if need_u:
                u_part, u_theta = projection.pull_back(u, u_residual, x_rows, theta, (need_x, need_directions))
                x_sum.add(u_part)
            if need_v:
                v_part, v_theta = projection.pull_back(v, v_residual, y_rows, theta, (need_y, need_directions))
                y_sum.add(v_part)
            if need_directions:
                torch.sub(u_theta, v_theta, out=grads[2][rows, cols])
        total[rows] = torch.cat(costs, 1).sum(1)
        for grad, part in zip(grads, (x_sum.total, y_sum.total), strict=False):
            if grad is not None:
                grad[rows] = part
    scale = plan.slope_scale(x.shape[1], order) / count
    return total.div_(count), [None if grad is None else grad.mul_(s) for grad, s in zip(grads, (scale, -scale, scale), strict=True)]


class _MeanSliceCost(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, directions, x_weights, y_weights, projection, order, aggregation):
        need = ctx.needs_input_grad[:3]
        cost, grads = cost_and_gradients(projection, x, y, directions, x_weights, y_weights, order, aggregation, need)
        ctx.save_for_backward(x, y, directions, *grads)
        ctx.constants, ctx.aggregation = (x_weights, y_weights, projection, order), aggregation
        return cost

    @staticmethod
    def backward(ctx, grad):
        *inputs, x_grad, y_grad, theta_grad = ctx.saved_tensors
        if torch.is_grad_enabled():

            def plain(*tensors: Tensor) -> Tensor:
                return ctx.aggregation.each(_plain_costs(*tensors, *ctx.constants), ctx.constants[-1])[0].mean(1)

            grads = differentiable_gradients(plain, inputs, ctx.needs_input_grad, grad)
        else:
            grads = [None if g is None else grad[:, None, None] * g for g in (x_grad, y_grad, theta_grad)]
        return *grads, None, None, None, None, None


class _SliceCosts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, directions, x_weights, y_weights, projection, order):
        need_x, need_y, need_directions = ctx.needs_input_grad[:3]
        needs = need_x or need_directions, need_y or need_directions
        plan = quantile_plan(x.shape[1], y.shape[1], x_weights, y_weights, device=x.device, dtype=x.dtype)
        costs = x.new_empty(directions.shape[:2])
        slopes = [x.new_empty(*directions.shape[:2], side.shape[1]) if need else None for side, need in zip((x, y), needs, strict=True)]
        for rows, columns in slice_chunks(x, y, directions):
            for cols in columns:
                theta = directions[rows, cols]
                u, v = (
                    _values(side[rows], theta, i) if kept is None else kept[rows, cols]
                    for i, (side, kept) in enumerate(zip((x, y), slopes, strict=True))
                )
                projection.slice(x[rows], theta, u)
                projection.slice(y[rows], theta, v)
                costs[rows, cols] = _solve(u, v, plan, rows, order, *needs)
        ctx.save_for_backward(x, y, directions, *slopes)
        ctx.constants, ctx.scale = (x_weights, y_weights, projection, order), plan.slope_scale(x.shape[1], order)
        return costs

    @staticmethod
    def backward(ctx, grad):
        x, y, directions, *slopes = ctx.saved_tensors
        if torch.is_grad_enabled():
            inputs = x, y, directions
            grads = differentiable_gradients(lambda *t: _plain_costs(*t, *ctx.constants), inputs, ctx.needs_input_grad, grad)
            return *grads, None, None, None, None
        need_x, need_y, need_directions = ctx.needs_input_grad[:3]
        grads, weights = [None, None, None], ctx.scale * grad
        for i, (side, kept, need, sign) in enumerate(zip((x, y), slopes, (need_x, need_y), (1, -1), strict=True)):
            if kept is not None:
                parts = _pull_back(
                    ctx.constants[2], side, directions, kept, sign * weights, (need, need_directions), slice_chunks(x, y, directions)
                )
                grads[i] = parts[0]
                if need_directions:
                    grads[2] = parts[1] if grads[2] is None else grads[2] + parts[1]
        return *grads, None, None, None, None


def _pull_back(
    projection: Projection,
    features: Tensor,
    directions: Tensor,
    slopes: Tensor,
    weights: Tensor,
    need: tuple[bool, bool],
    chunks: Iterable[tuple[slice, list[slice]]],
) -> tuple[Tensor | None, Tensor | None]:
    """Gradients with respect to features and directions from the slopes ``[R, L, N]`` of slices and their weights ``[R, L]``."""
    feature_parts, direction_parts = [], []
    for rows, columns in chunks:
        total, of_directions = _Sum(), []
        for cols in columns:
            theta, x = directions[rows, cols], features[rows]
            slope = slopes[rows, cols] * weights[rows, cols, None]
            part, theta_part = projection.pull_back(slope, projection.residual(x, theta), x, theta, need)
            total.add(part)
            of_directions.append(theta_part)
        feature_parts.append(total.total)
        direction_parts.append(torch.cat(of_directions, 1) if need[1] else None)
    return torch.cat(feature_parts) if need[0] else None, torch.cat(direction_parts) if need[1] else None


def _plain_costs(
    x: Tensor, y: Tensor, directions: Tensor, x_weights: Tensor | None, y_weights: Tensor | None, projection: Projection, order: float
) -> Tensor:
    """:func:`slice_costs` in differentiable operations of torch, all slices at once."""
    plan = repeat_plan(quantile_plan(x.shape[1], y.shape[1], x_weights, y_weights, device=x.device, dtype=x.dtype), directions.shape[1])
    u, v = projection.values(x, directions), projection.values(y, directions)
    return row_costs(u.flatten(0, 1), v.flatten(0, 1), plan, order).view(directions.shape[:2])


class _Sum:
    """A sum of tensors of one shape, accumulated in the first."""

    def __init__(self) -> None:
        self.total: Tensor | None = None

    def add(self, part: Tensor | None) -> None:
        """Add ``part``; ``None`` adds nothing."""
        if part is not None:
            self.total = part if self.total is None else self.total.add_(part)


def _solve(u: Tensor, v: Tensor, plan: Plan, rows: slice, order: float, need_u: bool, need_v: bool) -> Tensor:
    """:func:`solve_rows` on ``[r, l, N]``: the weights of a replica serve all of its slices."""
    r, count, n = u.shape
    plan = repeat_plan(plan.rows(rows.start, rows.stop), count)
    return solve_rows(u.view(-1, n), v.view(-1, v.shape[2]), plan, order, need_u, need_v).view(r, count)


def repeat_plan(plan: Plan, count: int) -> Plan:
    """A plan of replicas for the ``count`` slices of each."""
    if plan.u_weights is None:
        return plan
    return Plan(None, *(weights.repeat_interleave(count, 0) for weights in (plan.u_weights, plan.v_weights)))


class _Scratch(threading.local):
    """Buffers for the values of a chunk, kept per thread: newly allocated memory costs more than the work done in it."""

    def __init__(self) -> None:
        self.sides: list[Tensor] = [torch.empty(ROOM, dtype=torch.float32, device="cpu") for _ in range(2)]


_scratch = _Scratch()


def _values(features: Tensor, directions: Tensor, side: int) -> Tensor:
    """Uninitialised buffer for ``[r, l, N]`` values; on a CPU it is reused by the next call for the same ``side``."""
    shape = (*directions.shape[:2], features.shape[1])
    room = _scratch.sides[side]
    if features.device.type == "cpu" and features.dtype == room.dtype and math.prod(shape) <= len(room):
        return room[: math.prod(shape)].view(shape)
    return features.new_empty(shape)


def slice_chunks(x: Tensor, y: Tensor, directions: Tensor) -> Iterator[tuple[slice, list[slice]]]:
    """Ranges of replicas, each with ranges of directions, whose values fit into a chunk."""
    replicas, count, dim = directions.shape
    samples = max(x.shape[1], y.shape[1])
    # Every chunk adds to a gradient as wide as the features: for wide features use few chunks, as far as the buffers allow.
    budget = max(64, _chunk_size(x.device) // samples, min(dim, ROOM // samples))
    row_step, col_step = chunk_size(replicas, budget // count), chunk_size(count, budget)
    columns = [slice(col, col + col_step) for col in range(0, count, col_step)]
    for row in range(0, replicas, row_step):
        yield slice(row, row + row_step), columns
