r"""The transport costs of the slices of two sets of features, with their gradients.

Given the features of both sides and the directions, a projection computes values on the line,
:func:`~aswd.distances.one_dimensional.solve_rows` gives the cost of every slice together with its gradient, and
the projection pulls that gradient back to features and directions. The work is split into chunks for the threads of
:mod:`aswd.distances.workers`, in one of three ways:

- by the compiled kernel, in few dimensions: it does all of it.
- by slices: a chunk takes some slices through all of it, and adds its part of the gradient to a sum of its own. Neither the values nor
  their slopes are ever held for all slices at once.
- by products, on a CPU, where values are products <feature, theta> in many dimensions, and sums of their own would be large: slopes are
  kept, and a chunk pulls all of them back to some samples.

For a mean over slices all of it happens in the forward pass, and backward only scales. Where the weight of a slice depends on all costs,
slopes are kept, and pulled back with their weights in the backward pass.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from aswd.distances import kernel
from aswd.distances.aggregations import Separable
from aswd.distances.one_dimensional import Plan, differentiable_gradients, quantile_plan, row_costs, solve_rows
from aswd.distances.problem import Slices
from aswd.distances.projections import Linear, Projection, weigh_rows
from aswd.distances.sorting import BLOCK, chunk_size, use_kernel
from aswd.distances.workers import map_chunks, one_torch_thread, threads_for

_CHUNK_ELSEWHERE = 1 << 26  # values per chunk on other devices than a CPU
_NARROW = 16  # features up to this dimension are sliced without regard to the shape of matrix products
_SLICES = 64  # of a chunk of wider features: thinner products are slow
_SHARES = 8  # with fewer chunks of slices than this, products are split by samples
_SUMS = 16  # partial sums of a gradient, at most
_KEPT = 1 << 23  # slopes that are kept at a time


class _Chunk(NamedTuple):
    """Some slices of some replicas, a few at a time, and the partial sum that they add to."""

    rows: slice
    columns: list[slice]
    part: int


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
    plan = quantile_plan(x.shape[1], y.shape[1], x_weights, y_weights, device=x.device, dtype=x.dtype)
    count, scale = directions.shape[1], plan.slope_scale(x.shape[1], order)
    with one_torch_thread():
        if type(aggregation).each is Separable.each and suits_kernel(projection, x, directions, plan):
            costs, grads = kernel.sliced(x, y, directions, order, need)
            costs /= x.shape[1]
        else:
            solve = _by_products if _splits_by_products(projection, directions) else _by_slices
            costs, grads = solve(projection, x, y, directions, plan, order, aggregation, need)
        signs = (scale / count, -scale / count, scale / count)
        return costs.sum(1).div_(count), [None if g is None else g.mul_(sign) for g, sign in zip(grads, signs, strict=True)]


def _has_products(projection: Projection) -> bool:
    """Whether the values are products <feature, theta>."""
    kind = type(projection)
    return kind.values is Linear.values and kind.slice is Linear.slice and kind.pull_back is Linear.pull_back


def suits_kernel(projection: Projection, x: Tensor, directions: Tensor, plan: Plan) -> bool:
    """Whether the compiled kernel can take these slices: products of float32 in few dimensions, N = M, no weights."""
    narrow = directions.shape[2] <= kernel.MAX_DIM and plan.shares_mass
    return narrow and _has_products(projection) and use_kernel(x, x.shape[1])


def _splits_by_products(projection: Projection, directions: Tensor) -> bool:
    return _has_products(projection) and directions.device.type == "cpu" and directions.shape[2] > _NARROW


def _by_slices(
    projection: Projection,
    x: Tensor,
    y: Tensor,
    directions: Tensor,
    plan: Plan,
    order: float,
    aggregation: Separable,
    need: tuple[bool, bool, bool],
) -> tuple[Tensor, list[Tensor | None]]:
    """A function of the cost of every slice, ``[R, L]``, and the gradients of its sum, but for :meth:`Plan.slope_scale`; y's negated."""
    need_x, need_y, need_directions = need
    need_u, need_v = need_x or need_directions, need_y or need_directions
    chunks = _chunks(x, y, directions)
    sums = 1 + max(chunk.part for chunk in chunks)
    parts = [x.new_empty(sums, *side.shape) if needed else None for side, needed in ((x, need_x), (y, need_y))]
    theta_grad = torch.empty_like(directions) if need_directions else None
    costs = x.new_empty(directions.shape[:2])

    def solve(chunk: _Chunk) -> None:
        rows = chunk.rows
        x_rows, y_rows = x[rows], y[rows]
        x_sum, y_sum = _Sum(), _Sum()
        for cols in chunk.columns:
            theta = directions[rows, cols]
            u, v = _values(x_rows, theta, 0), _values(y_rows, theta, 1)
            u_residual, v_residual = projection.slice(x_rows, theta, u), projection.slice(y_rows, theta, v)
            cost = _solve(u, v, plan, rows, order, need_u, need_v)  # u and v now hold slopes, both with the sign of u's
            cost, factor = aggregation.each(cost, order)
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
    grads = [None if part is None else part[0] if sums == 1 else part.sum(0) for part in parts]
    return costs, [*grads, theta_grad]


def _by_products(
    projection: Projection,
    x: Tensor,
    y: Tensor,
    directions: Tensor,
    plan: Plan,
    order: float,
    aggregation: Separable,
    need: tuple[bool, bool, bool],
) -> tuple[Tensor, list[Tensor | None]]:
    """As :func:`_by_slices`."""
    need_x, need_y, need_directions = need
    needs = need_x or need_directions, need_y or need_directions
    step = chunk_size(directions.shape[1], max(_SLICES, _KEPT // (len(x) * max(x.shape[1], y.shape[1]))))
    costs, sums, theta_grads = [], (_Sum(), _Sum()), []
    for start in range(0, directions.shape[1], step):
        theta = directions[:, start : start + step]
        cost, slopes = _solve_all(projection, x, y, theta, plan, order, needs, reuse=True)
        cost, factor = aggregation.each(cost, order)
        costs.append(cost)
        of_theta = _Sum()
        for side, kept, needed, total, sign in zip((x, y), slopes, (need_x, need_y), sums, (1, -1), strict=True):
            if kept is not None:
                part, theta_part = _pull_back(projection, side, theta, kept, factor, (needed, need_directions))
                total.add(part)
                of_theta.add(None if theta_part is None else theta_part.mul_(sign))
        theta_grads.append(of_theta.total)
    return torch.cat(costs, 1), [sums[0].total, sums[1].total, torch.cat(theta_grads, 1) if need_directions else None]


def _solve_all(
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
        None if not need else _values(side, directions, 2 + i) if reuse else side.new_empty(*directions.shape[:2], side.shape[1])
        for i, (side, need) in enumerate(zip((x, y), needs, strict=True))
    ]
    chunks = _chunks(x, y, directions)
    projected = _splits_by_products(projection, directions) and len(chunks) < _SHARES
    if projected:  # few slices of many samples: products of some samples at a time
        values = [x.new_empty(*directions.shape[:2], side.shape[1]) if k is None else k for side, k in zip((x, y), kept, strict=True)]
        chunks = _chunks(x, y, directions, few=True)

        def project(block: tuple[int, int, slice]) -> None:
            side, row, samples = block
            torch.mm(directions[row], (x, y)[side][row, samples].mT, out=values[side][row][:, samples])

        blocks = [(i, row, samples) for i, side in enumerate((x, y)) for row in range(len(x)) for samples in _blocks(side, directions)]
        map_chunks(project, blocks, x.device)

    def solve(chunk: _Chunk) -> None:
        rows = chunk.rows
        for cols in chunk.columns:
            theta = directions[rows, cols]
            if projected:
                u, v = (side[rows, cols] for side in values)
            else:
                u, v = (
                    _values(s[rows], theta, i) if k is None else k[rows, cols] for i, (s, k) in enumerate(zip((x, y), kept, strict=True))
                )
                projection.slice(x[rows], theta, u)
                projection.slice(y[rows], theta, v)
            costs[rows, cols] = _solve(u, v, plan, rows, order, *needs)

    map_chunks(solve, chunks, x.device)
    return costs, kept


def _blocks(features: Tensor, directions: Tensor) -> list[slice]:
    """Ranges of samples for matrix products with all directions; narrow ones have little to split."""
    _, count, dim = features.shape
    least = 128 if dim > _NARROW else 2048
    step = chunk_size(count, max(least, min(math.ceil(count / _SUMS), BLOCK * _SHARES // directions.shape[1])))
    return [slice(start, start + step) for start in range(0, count, step)]


def _pull_back(
    projection: Projection, features: Tensor, directions: Tensor, slopes: Tensor, weights: Tensor | None, need: tuple[bool, bool]
) -> tuple[Tensor | None, Tensor | None]:
    """Gradients with respect to features and directions from the slopes ``[R, L, N]`` of slices and their weights ``[R, L]``."""
    feature_grad, theta_grad = (torch.empty_like(t) if n else None for t, n in zip((features, directions), need, strict=True))
    by_products = _has_products(projection) and features.device.type == "cpu"
    chunks = _chunks(features, features, directions)
    sums = 1 + max(chunk.part for chunk in chunks)
    parts = features.new_empty(sums, *features.shape) if need[0] and not by_products else None
    weighted = directions if weights is None else directions * weights[..., None]

    def to_samples(block: tuple[int, slice]) -> None:
        row, samples = block
        feature_grad[row, samples] = weigh_rows(slopes[row][:, samples], weighted[row])

    def to_slices(chunk: _Chunk) -> None:
        rows, total = chunk.rows, _Sum()
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
            to_samples, [(row, samples) for row in range(len(features)) for samples in _blocks(features, directions)], features.device
        )
    if parts is not None or need[1]:
        map_chunks(to_slices, chunks, features.device)
    if parts is not None:
        feature_grad = parts[0] if sums == 1 else parts.sum(0)
    return feature_grad, theta_grad


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
            with threads_for(inputs[0], learns=True):
                grads = [None if g is None else grad[:, None, None] * g for g in (x_grad, y_grad, theta_grad)]
        return *grads, None, None, None, None, None


class _SliceCosts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, directions, x_weights, y_weights, projection, order):
        need_x, need_y, need_directions = ctx.needs_input_grad[:3]
        plan = quantile_plan(x.shape[1], y.shape[1], x_weights, y_weights, device=x.device, dtype=x.dtype)
        needs = need_x or need_directions, need_y or need_directions
        costs, slopes = _solve_all(projection, x, y, directions, plan, order, needs)
        ctx.save_for_backward(x, y, directions, *slopes)
        ctx.constants, ctx.scale = (x_weights, y_weights, projection, order), plan.slope_scale(x.shape[1], order)
        return costs

    @staticmethod
    def backward(ctx, grad):
        x, y, directions, *slopes = ctx.saved_tensors
        if torch.is_grad_enabled() or torch._C._functorch.is_legacy_batchedtensor(grad):  # as in a vectorised Hessian
            inputs = x, y, directions
            grads = differentiable_gradients(lambda *t: _plain_costs(*t, *ctx.constants), inputs, ctx.needs_input_grad, grad)
            return *grads, None, None, None, None
        need_x, need_y, need_directions = ctx.needs_input_grad[:3]
        grads, weights, of_theta = [None, None], ctx.scale * grad, _Sum()
        with one_torch_thread():
            for i, (side, kept, need, sign) in enumerate(zip((x, y), slopes, (need_x, need_y), (1, -1), strict=True)):
                if kept is not None:
                    need = need, need_directions
                    grads[i], theta_part = _pull_back(ctx.constants[2], side, directions, kept, sign * weights, need)
                    of_theta.add(theta_part)
        return *grads, of_theta.total, None, None, None, None


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
    """Buffers for values, kept per thread: newly allocated memory costs more than the work done in it."""

    def __init__(self) -> None:
        self.buffers = [torch.empty(0, dtype=torch.float32, device="cpu") for _ in range(4)]


_scratch = _Scratch()


def _values(features: Tensor, directions: Tensor, which: int) -> Tensor:
    """Uninitialised buffer for ``[r, l, N]`` values; on a CPU it is reused by this thread's next call for the same ``which``."""
    shape = (*directions.shape[:2], features.shape[1])
    size = math.prod(shape)
    if features.device.type != "cpu" or features.dtype != torch.float32 or size > _KEPT:
        return features.new_empty(shape)
    if size > len(_scratch.buffers[which]):
        with torch.inference_mode(False):  # writable in any mode later
            _scratch.buffers[which] = torch.empty(size, dtype=torch.float32, device="cpu")
    return _scratch.buffers[which][:size].view(shape)


def slice_chunks(x: Tensor, y: Tensor, directions: Tensor) -> Iterator[tuple[slice, list[slice]]]:
    """Ranges of replicas, each with ranges of directions, whose values fit into a chunk."""
    for chunk in _chunks(x, y, directions):
        yield chunk.rows, chunk.columns


def _chunks(x: Tensor, y: Tensor, directions: Tensor, few: bool = False) -> list[_Chunk]:
    """All slices in chunks; ``few``: of slices whose values are known, and no product limits their number from below."""
    replicas, count, dim = directions.shape
    on_cpu = directions.device.type == "cpu"
    most = max(1, _chunk_size(directions.device) // max(x.shape[1], y.shape[1]))
    if count <= most:  # whole replicas
        row_step = chunk_size(replicas, most // count)
        return [_Chunk(slice(row, row + row_step), [slice(0, count)], 0) for row in range(0, replicas, row_step)]
    if on_cpu:
        most = max(most, 8 if few or dim <= _NARROW else _SLICES)  # the kernel sorts eight rows at a time
    step = chunk_size(count, most) if count > 2 * most else most
    columns = [slice(start, min(start + step, count)) for start in range(0, count, step)]
    run = chunk_size(len(columns), math.ceil(len(columns) / _SUMS)) if on_cpu else len(columns)
    return [
        _Chunk(slice(row, row + 1), columns[start : start + run], start // run)
        for row in range(replicas)
        for start in range(0, len(columns), run)
    ]


def _chunk_size(device: torch.device) -> int:
    """Number of values on the line per side and chunk; on a CPU they are still in the cache when they are sorted."""
    return BLOCK if device.type == "cpu" else _CHUNK_ELSEWHERE
