r"""The mean transport cost over the slices of two sets of features, with its gradients.

All sliced distances are evaluated here. Given the features of both sides and the directions, a projection computes values on the line,
:func:`~aswd.distances.one_dimensional.solve_rows` gives the cost of every slice together with its gradient, and
the projection pulls that gradient back to features and directions. All of it happens in the forward pass, a chunk of slices at a
time, so that neither the values nor their gradients are ever held for all slices at once; backward only scales.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator

import torch
from torch import Tensor

from aswd.distances.one_dimensional import Plan, clamp_tiny, quantile_plan, safe_root, solve_rows
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


def mean_slice_cost(
    projection: Projection,
    x: Tensor,
    y: Tensor,
    directions: Tensor,
    x_weights: Tensor | None,
    y_weights: Tensor | None,
    order: float,
    root_each: bool = False,
) -> Tensor:
    r"""``mean_l W_k^k`` (or, with ``root_each``, ``mean_l W_k``) of every replica.

    Args:
        projection: computes values on the line from features and directions, and pulls gradients back.
        x, y: features ``[R, N, D]`` and ``[R, M, D]``.
        directions: ``[R, L, D']``.
        x_weights, y_weights: ``[R, N]`` and ``[R, M]`` or ``None``.
        order: k.
        root_each: take the 1/k root of every slice before the mean, as the paper's Algorithm 1 does.

    Returns:
        ``[R]``, differentiable once with respect to ``x``, ``y`` and ``directions``.
    """
    return _MeanSliceCost.apply(x, y, directions, x_weights, y_weights, projection, order, root_each)


def slice_costs(
    projection: Projection, x: Tensor, y: Tensor, directions: Tensor, x_weights: Tensor | None, y_weights: Tensor | None, order: float
) -> Tensor:
    """``W_k^k`` of every slice, ``[R, L]``, without gradients."""
    with torch.no_grad():
        plan = quantile_plan(x.shape[1], y.shape[1], x_weights, y_weights, device=x.device, dtype=x.dtype)
        costs = x.new_empty(directions.shape[:2])
        for rows, columns in _chunks(x, y, directions):
            for cols in columns:
                theta = directions[rows, cols]
                u, v = _values(x[rows], theta, 0), _values(y[rows], theta, 1)
                projection.slice(x[rows], theta, u)
                projection.slice(y[rows], theta, v)
                costs[rows, cols] = _solve(u, v, plan, rows, order, False, False)
    return costs


def cost_and_gradients(
    projection: Projection,
    x: Tensor,
    y: Tensor,
    directions: Tensor,
    x_weights: Tensor | None,
    y_weights: Tensor | None,
    order: float,
    root_each: bool = False,
    need: tuple[bool, bool, bool] = (True, True, True),
) -> tuple[Tensor, list[Tensor | None]]:
    """:func:`mean_slice_cost` and its gradients with respect to ``x``, ``y`` and ``directions``, those that are in ``need``."""
    need_x, need_y, need_directions = need
    need_u, need_v = need_x or need_directions, need_y or need_directions
    count = directions.shape[1]
    plan = quantile_plan(x.shape[1], y.shape[1], x_weights, y_weights, device=x.device, dtype=x.dtype)
    total = x.new_zeros(len(x))
    grads = [torch.empty_like(tensor) if needed else None for tensor, needed in zip((x, y, directions), need, strict=True)]
    for rows, columns in _chunks(x, y, directions):
        x_rows, y_rows = x[rows], y[rows]
        x_sum, y_sum = _Sum(), _Sum()
        costs = []
        for cols in columns:
            theta = directions[rows, cols]
            u, v = _values(x_rows, theta, 0), _values(y_rows, theta, 1)
            u_residual, v_residual = projection.slice(x_rows, theta, u), projection.slice(y_rows, theta, v)
            cost = _solve(u, v, plan, rows, order, need_u, need_v)  # u and v now hold slopes, both with the sign of u's
            if root_each:
                cost = _root_each(cost, [slope for slope, needed in ((u, need_u), (v, need_v)) if needed], order)
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
    def forward(ctx, x, y, directions, x_weights, y_weights, projection, order, root_each):
        need = ctx.needs_input_grad[:3]
        cost, grads = cost_and_gradients(projection, x, y, directions, x_weights, y_weights, order, root_each, need)
        ctx.save_for_backward(*grads)
        return cost

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return *(None if g is None else grad[:, None, None] * g for g in ctx.saved_tensors), None, None, None, None, None


class _Sum:
    """A sum of tensors of one shape, accumulated in the first."""

    def __init__(self) -> None:
        self.total: Tensor | None = None

    def add(self, part: Tensor | None) -> None:
        """Add ``part``; ``None`` adds nothing."""
        self.total = part if self.total is None else self.total.add_(part)


def _root_each(cost: Tensor, slopes: list[Tensor], order: float) -> Tensor:
    """The 1/k root of every slice's cost; ``slopes`` are scaled to those of the root, in place."""
    root = safe_root(cost, order)
    for slope in slopes:
        slope *= (root / clamp_tiny(cost) / order)[..., None]
    return root


def _solve(u: Tensor, v: Tensor, plan: Plan, rows: slice, order: float, need_u: bool, need_v: bool) -> Tensor:
    """:func:`solve_rows` on ``[r, l, N]``: the weights of a replica serve all of its slices."""
    r, count, n = u.shape
    if plan.u_weights is not None:
        weights = (w[rows].repeat_interleave(count, 0) for w in (plan.u_weights, plan.v_weights))
        plan = Plan(None, *weights)
    return solve_rows(u.view(-1, n), v.view(-1, v.shape[2]), plan, order, need_u, need_v).view(r, count)


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


def _chunks(x: Tensor, y: Tensor, directions: Tensor) -> Iterator[tuple[slice, list[slice]]]:
    """Ranges of replicas, each with ranges of directions, whose values fit into a chunk."""
    replicas, count, dim = directions.shape
    samples = max(x.shape[1], y.shape[1])
    # Every chunk adds to a gradient as wide as the features: for wide features use few chunks, as far as the buffers allow.
    budget = max(64, _chunk_size(x.device) // samples, min(dim, ROOM // samples))
    row_step, col_step = chunk_size(replicas, budget // count), chunk_size(count, budget)
    columns = [slice(col, col + col_step) for col in range(0, count, col_step)]
    for row in range(0, replicas, row_step):
        yield slice(row, row + row_step), columns
