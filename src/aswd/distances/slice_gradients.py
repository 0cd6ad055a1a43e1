"""Costs and gradients of all slices, by the compiled kernel, by slices or by products; see :mod:`aswd.distances.slicing`."""

from __future__ import annotations

import torch
from torch import Tensor

from aswd.distances import kernel
from aswd.distances.aggregations import Separable
from aswd.distances.chunks import (
    KEPT,
    MIN_SLICES,
    NARROW_FEATURES,
    SHARES,
    Chunk,
    RunningSum,
    over_samples,
    sample_blocks,
    scaled,
    split_slices,
    value_buffer,
)
from aswd.distances.one_dimensional import Plan, quantile_plan, solve_rows
from aswd.distances.projections import Linear, Projection, weigh_rows
from aswd.distances.repeated import Repeated
from aswd.distances.sorting import chunk_size, use_kernel
from aswd.distances.workers import map_chunks, one_torch_thread


def cost_and_gradients(
    x: Tensor,
    y: Tensor,
    directions: Tensor,
    x_weights: Tensor | None,
    y_weights: Tensor | None,
    projection: Projection,
    order: float,
    aggregation: Separable,
    weights: Tensor | None = None,
    need: tuple[bool, bool, bool] = (True, True, True),
    repeated: Repeated | None = None,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """The mean over slices of a function of their costs, or the sum under ``weights [R, L]``, and its gradients, those in ``need``.

    Returns:
        The value ``[R]``; the function of every cost, ``[R, L]``; the gradients of the value with respect to ``x`` and ``y``, one after
        the other in ``[R, N + M, D]``; and that with respect to ``directions``.
    """
    plan = quantile_plan(x.shape[1], y.shape[1], x_weights, y_weights, device=x.device, dtype=x.dtype)
    scale = plan.slope_scale(x.shape[1], order)
    if weights is None:
        scale /= directions.shape[1]
    with one_torch_thread():
        if type(aggregation).each is Separable.each and suits_kernel(projection, x, directions, plan):
            costs, sides, theta_grad = kernel.sliced(x, y, directions, order, need, scale, weights, repeated)
            costs /= x.shape[1]
        else:
            solve = _by_products if _splits_by_products(projection, directions) else _by_slices
            costs, grads, theta_grad = solve(projection, x, y, directions, plan, order, aggregation, weights, need, (scale, -scale))
            theta_grad = None if theta_grad is None else scaled(theta_grad, scale, in_place=True)
            sides = join_sides(*grads)
        value = costs.sum(1).div_(costs.shape[1]) if weights is None else torch.linalg.vecdot(weights, costs)
        return value, costs, sides, theta_grad


def join_sides(x: Tensor | None, y: Tensor | None) -> Tensor | None:
    """``[R, N, D]`` and ``[R, M, D]`` one after the other, in the memory layout of the first; one of them where the other is ``None``."""
    if x is None or y is None:
        return x if y is None else y
    return torch.cat([x.mT, y.mT], 2).mT if x.stride(1) == 1 else torch.cat([x, y], 1)


def _has_products(projection: Projection) -> bool:
    """Whether the values are products <feature, theta>."""
    kind = type(projection)
    return kind.values is Linear.values and kind.slice is Linear.slice and kind.pull_back is Linear.pull_back


def suits_kernel(projection: Projection, x: Tensor, directions: Tensor, plan: Plan) -> bool:
    """Whether the compiled kernel can take these slices: products of float32 in few dimensions, N = M, no weights."""
    narrow = directions.shape[2] <= kernel.MAX_DIM and plan.shares_mass
    return narrow and _has_products(projection) and use_kernel(x, x.shape[1])


def _splits_by_products(projection: Projection, directions: Tensor) -> bool:
    return _has_products(projection) and directions.device.type == "cpu" and directions.shape[2] > NARROW_FEATURES


def _by_slices(
    projection: Projection,
    x: Tensor,
    y: Tensor,
    directions: Tensor,
    plan: Plan,
    order: float,
    aggregation: Separable,
    weights: Tensor | None,
    need: tuple[bool, bool, bool],
    scales: tuple[float, float],
) -> tuple[Tensor, list[Tensor | None], Tensor | None]:
    """A function of the cost of every slice, ``[R, L]``; the gradients of its weighted sum with respect to both sides, of which ``scales``
    are the common factors; and that with respect to directions, but for :meth:`Plan.slope_scale`.
    """
    need_x, need_y, need_directions = need
    need_u, need_v = need_x or need_directions, need_y or need_directions
    chunks = split_slices(x, y, directions)
    sums = 1 + max(chunk.part for chunk in chunks)
    parts = [x.new_empty(sums, *side.shape) if needed else None for side, needed in ((x, need_x), (y, need_y))]
    theta_grad = torch.empty_like(directions) if need_directions else None
    costs = x.new_empty(directions.shape[:2])

    def solve(chunk: Chunk) -> None:
        rows = chunk.rows
        x_rows, y_rows = x[rows], y[rows]
        x_sum, y_sum = RunningSum(), RunningSum()
        for cols in chunk.columns:
            theta = directions[rows, cols]
            u, v = value_buffer(x_rows, theta, 0), value_buffer(y_rows, theta, 1)
            u_residual, v_residual = projection.slice(x_rows, theta, u), projection.slice(y_rows, theta, v)
            cost = _solve(u, v, plan, rows, order, need_u, need_v)  # u and v now hold slopes, both with the sign of u's
            cost, factor = _each(aggregation, cost, order, None if weights is None else weights[rows, cols])
            if factor is not None:
                for slope in [slope for slope, needed in ((u, need_u), (v, need_v)) if needed]:
                    slope *= factor[..., None]
            costs[rows, cols] = cost
            if need_u:
                u_part, u_theta = projection.pull_back(u, u_residual, x_rows, theta, (need_x, need_directions))
                x_sum.add(u_part)
            if need_v:
                v_part, v_theta = projection.pull_back(v, v_residual, y_rows, theta, (need_y, need_directions))
                y_sum.add(v_part)
            if need_directions:
                torch.sub(u_theta, v_theta, out=theta_grad[rows, cols])
        for part, total in zip(parts, (x_sum.total, y_sum.total), strict=True):
            if part is not None:
                part[chunk.part, rows] = total

    map_chunks(solve, chunks, x.device)
    return costs, [None if part is None else _sum(part, scale) for part, scale in zip(parts, scales, strict=True)], theta_grad


def _sum(parts: Tensor, scale: float = 1.0) -> Tensor:
    """``scale`` times the sum of the partial sums ``[parts, R, N, D]``, in their order."""
    if len(parts) == 1:
        return parts[0] if scale == 1 else scaled(parts[0], scale, in_place=True)
    total = torch.empty_like(parts[0])

    def add(samples: slice) -> None:
        some = torch.add(parts[0, :, samples], parts[1, :, samples], out=total[:, samples])
        for part in parts[2:]:
            some += part[:, samples]
        some *= scale

    over_samples(add, parts)
    return total


def _by_products(
    projection: Projection,
    x: Tensor,
    y: Tensor,
    directions: Tensor,
    plan: Plan,
    order: float,
    aggregation: Separable,
    weights: Tensor | None,
    need: tuple[bool, bool, bool],
    scales: tuple[float, float],
) -> tuple[Tensor, list[Tensor | None], Tensor | None]:
    """As :func:`_by_slices`."""
    need_x, need_y, need_directions = need
    needs = need_x or need_directions, need_y or need_directions
    step = chunk_size(directions.shape[1], max(MIN_SLICES, KEPT // (len(x) * max(x.shape[1], y.shape[1]))))
    costs, sums, theta_grads = [], (RunningSum(), RunningSum()), []
    for start in range(0, directions.shape[1], step):
        theta = directions[:, start : start + step]
        cost, slopes = solve_all(projection, x, y, theta, plan, order, needs, reuse=True)
        cost, factor = _each(aggregation, cost, order, None if weights is None else weights[:, start : start + step])
        costs.append(cost)
        of_theta, at_once = RunningSum(), step == directions.shape[1]
        for side, kept, needed, total, scale, sign in zip((x, y), slopes, (need_x, need_y), sums, scales, (1, -1), strict=True):
            if kept is not None:
                part, theta_part = pull_back_slopes(
                    projection, side, theta, kept, factor, (needed, need_directions), scale if at_once else 1.0
                )
                total.add(part)
                of_theta.add(None if theta_part is None else theta_part.mul_(sign))
        theta_grads.append(of_theta.total)
    grads = [total.total for total in sums]
    if not at_once:
        grads = [None if grad is None else scaled(grad, scale, in_place=True) for grad, scale in zip(grads, scales, strict=True)]
    return torch.cat(costs, 1), grads, torch.cat(theta_grads, 1) if need_directions else None


def _each(aggregation: Separable, costs: Tensor, order: float, weights: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """The function of every cost, and the derivative of its weighted sum (``None``: one)."""
    costs, factor = aggregation.each(costs, order)
    return costs, factor if weights is None else weights if factor is None else weights * factor


def solve_all(
    projection: Projection,
    x: Tensor,
    y: Tensor,
    directions: Tensor,
    plan: Plan,
    order: float,
    needs: tuple[bool, bool],
    reuse: bool = False,
) -> tuple[Tensor, list[Tensor | None]]:
    """Costs ``[R, L]`` of all slices, and their slopes on the line, ``[R, L, N]``, of the sides that need them.

    With ``reuse`` the slopes are in memory of this thread, which the next call overwrites.
    """
    if suits_kernel(projection, x, directions, plan):
        costs, kept = kernel.slopes(x, y, directions, order, needs)
        return costs.div_(x.shape[1]), kept
    costs = x.new_empty(directions.shape[:2])
    kept = [
        None if not need else value_buffer(side, directions, 2 + i) if reuse else side.new_empty(*directions.shape[:2], side.shape[1])
        for i, (side, need) in enumerate(zip((x, y), needs, strict=True))
    ]
    chunks = split_slices(x, y, directions)
    projected = _splits_by_products(projection, directions) and len(chunks) < SHARES
    if projected:  # few slices of many samples: products of some samples at a time
        values = [x.new_empty(*directions.shape[:2], side.shape[1]) if k is None else k for side, k in zip((x, y), kept, strict=True)]
        chunks = split_slices(x, y, directions, few=True)

        def project(block: tuple[int, int, slice]) -> None:
            side, row, samples = block
            some = (x, y)[side][row, samples]
            some.sum()  # into the cache, in order: the product reads them in another one, in which memory is slow
            torch.mm(directions[row], some.mT, out=values[side][row][:, samples])

        blocks = [
            (i, row, samples) for i, side in enumerate((x, y)) for row in range(len(x)) for samples in sample_blocks(side, directions)
        ]
        map_chunks(project, reversed(blocks), x.device)  # what was checked last may still be in the cache

    def solve(chunk: Chunk) -> None:
        rows = chunk.rows
        for cols in chunk.columns:
            theta = directions[rows, cols]
            if projected:
                u, v = (side[rows, cols] for side in values)
            else:
                u, v = (
                    value_buffer(s[rows], theta, i) if k is None else k[rows, cols]
                    for i, (s, k) in enumerate(zip((x, y), kept, strict=True))
                )
                projection.slice(x[rows], theta, u)
                projection.slice(y[rows], theta, v)
            costs[rows, cols] = _solve(u, v, plan, rows, order, *needs)

    map_chunks(solve, chunks, x.device)
    return costs, kept


def pull_back_slopes(
    projection: Projection,
    features: Tensor,
    directions: Tensor,
    slopes: Tensor,
    weights: Tensor | None,
    need: tuple[bool, bool],
    scale: float = 1.0,
) -> tuple[Tensor | None, Tensor | None]:
    """Gradients with respect to features, times ``scale``, and directions from the slopes ``[R, L, N]`` of slices and their weights
    ``[R, L]``.
    """
    feature_grad, theta_grad = (torch.empty_like(t) if n else None for t, n in zip((features, directions), need, strict=True))
    by_products = _has_products(projection) and features.device.type == "cpu"
    chunks = split_slices(features, features, directions)
    sums = 1 + max(chunk.part for chunk in chunks)
    parts = features.new_empty(sums, *features.shape) if need[0] and not by_products else None
    weighted = directions if weights is None else directions * weights[..., None]

    def to_samples(block: tuple[int, slice]) -> None:
        row, samples = block
        some = weigh_rows(slopes[row][:, samples], weighted[row], out=feature_grad[row, samples])
        if scale != 1:
            some *= scale

    def to_slices(chunk: Chunk) -> None:
        rows, total = chunk.rows, RunningSum()
        for cols in chunk.columns:
            theta, x, slope = directions[rows, cols], features[rows], slopes[rows, cols]
            if weights is not None:
                slope = slope * weights[rows, cols, None]
            part, theta_part = projection.pull_back(slope, projection.residual(x, theta), x, theta, (parts is not None, need[1]))
            total.add(part)
            if need[1]:
                theta_grad[rows, cols] = theta_part
        if parts is not None:
            parts[chunk.part, rows] = total.total

    if need[0] and by_products:
        map_chunks(
            to_samples, [(row, samples) for row in range(len(features)) for samples in sample_blocks(features, directions)], features.device
        )
    if parts is not None or need[1]:
        map_chunks(to_slices, chunks, features.device)
    if parts is not None:
        feature_grad = _sum(parts, scale)
    return feature_grad, theta_grad


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
