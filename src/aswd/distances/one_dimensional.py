r"""Optimal transport on the line: where every sliced distance spends most of its time.

Between two empirical measures on the line the optimal plan is the monotone one, so for a convex cost

.. math:: W_k^k(u, v) = \int_0^1 |F_u^{-1}(q) - F_v^{-1}(q)|^k \, dq,

which for N equally weighted samples on each side is the mean of :math:`|u_{(n)} - v_{(n)}|^k` over the sorted
samples (the paper's equation for the empirical 1-D distance). Its gradient is closed-form,
:math:`k |d|^{k-1} \operatorname{sign}(d)` carried back through the sort, so nothing here is differentiated by
autograd: a solver returns the cost and the gradient together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from aswd.distances import kernel
from aswd.distances.checks import check_order, check_rows
from aswd.distances.modes import eager, without_autocast
from aswd.distances.sorting import BLOCK, chunk_size, sort_is_fast, sort_rows, use_kernel
from aswd.distances.workers import map_chunks
from aswd.utils.checks import check_choice


@eager
def wasserstein_1d(
    x: Tensor,
    y: Tensor,
    x_weights: Tensor | None = None,
    y_weights: Tensor | None = None,
    order: float = 2.0,
    root: bool = True,
) -> Tensor:
    r"""Exact Wasserstein distance on the line, batched and differentiable with respect to the samples.

    Args:
        x, y: samples ``[..., N]`` and ``[..., M]`` with the same leading dimensions.
        x_weights, y_weights: non-negative weights, broadcastable to the samples; each row is normalised to one.
            Default: uniform. They are constants: no gradient is computed for them.
        order: k >= 1.
        root: ``True`` for :math:`W_k`, ``False`` for :math:`W_k^k`. The gradient of the root at zero is zero.

    Returns:
        ``[...]``: one distance per row.

    Example:
        >>> wasserstein_1d(torch.tensor([0.0, 3.0]), torch.tensor([1.0, 2.0]))
        tensor(1.)
    """
    check_order(order)
    check_choice("root", root, [True, False])
    check_rows(x, y, x_weights, y_weights)
    dtype = torch.promote_types(x.dtype, y.dtype)
    compute = torch.promote_types(dtype, torch.float32)
    batch, n, m = x.shape[:-1], x.shape[-1], y.shape[-1]
    rows = [
        None if w is None else normalise_weights(w, compute).expand(*batch, size).reshape(-1, size)
        for w, size in ((x_weights, n), (y_weights, m))
    ]
    with without_autocast(x.device):
        plan = quantile_plan(n, m, *rows, device=x.device, dtype=compute)
        cost = _RowCost.apply(x.to(compute).reshape(-1, n), y.to(compute).reshape(-1, m), plan, float(order))
        return (safe_root(cost, order) if root else cost).reshape(batch).to(dtype)


def safe_root(power: Tensor, order: float) -> Tensor:
    """``power ** (1 / order)`` with gradient zero, not infinity, at zero, and a finite one near it."""
    if order == 1:
        return power
    return _Root.apply(power, order) if torch.is_grad_enabled() else power.pow(1 / order)


class _Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx, power: Tensor, order: float) -> Tensor:
        root = power.pow(1 / order)
        ctx.order = order
        ctx.save_for_backward(power, root)
        return root

    @staticmethod
    def backward(ctx, grad: Tensor):
        power, root = ctx.saved_tensors
        return grad * (root / clamp_tiny(power) / ctx.order), None


def clamp_tiny(power: Tensor) -> Tensor:
    """Clamp ``power`` from below to the smallest normal number, to divide by it."""
    return power.clamp_min(torch.finfo(power.dtype).tiny)


def mass_tolerance(count: int) -> float:
    """Rounding error of a sum of ``count`` weights: less mass counts as zero, since a root of high order would enlarge it."""
    return 4 * math.sqrt(count) * np.finfo(np.float64).eps


def normalise_weights(weights: Tensor, dtype: torch.dtype) -> Tensor:
    """Weights that sum to one on the last axis; divided by their maximum first, so that the sum neither overflows nor vanishes."""
    weights = weights.detach().to(torch.promote_types(weights.dtype, dtype))
    weights = weights / weights.amax(-1, keepdim=True)
    return (weights / weights.sum(-1, keepdim=True)).to(dtype)


class _RowCost(torch.autograd.Function):
    """Row costs of :func:`solve_rows` as a differentiable function of two sets of rows."""

    @staticmethod
    def forward(ctx, u: Tensor, v: Tensor, plan: Plan, order: float) -> Tensor:
        need_u, need_v = ctx.needs_input_grad[:2]
        inputs = u, v
        u, v = (u + 0).contiguous(), (v + 0).contiguous()  # copies, with -0.0 as 0.0: the two must tie
        cost = _solve_in_threads(u, v, plan, order, need_u, need_v)
        ctx.save_for_backward(*inputs, u if need_u else None, v if need_v else None)
        ctx.plan, ctx.order = plan, order
        return cost

    @staticmethod
    def backward(ctx, grad: Tensor):
        u, v, *slopes = ctx.saved_tensors
        if torch.is_grad_enabled():
            grads = differentiable_gradients(lambda u, v: row_costs(u, v, ctx.plan, ctx.order), (u, v), ctx.needs_input_grad, grad)
        else:
            scale = ctx.plan.slope_scale(u.shape[1], ctx.order) * grad
            grads = [None if slope is None else s[:, None] * slope for s, slope in zip((scale, -scale), slopes, strict=True)]
        return *grads, None, None


def differentiable_gradients(
    function: Callable[..., Tensor], inputs: Sequence[Tensor], needed: Sequence[bool], grad: Tensor
) -> list[Tensor | None]:
    """Gradients of ``function(*inputs)``, those ``needed``, that are themselves differentiable, for a backward pass under create_graph."""
    wanted = [tensor for tensor, need in zip(inputs, needed, strict=False) if need]
    with torch.enable_grad():
        grads = iter(torch.autograd.grad(function(*inputs), wanted, grad, create_graph=True, materialize_grads=True))
    return [next(grads) if need else None for need, _ in zip(needed, inputs, strict=False)]


def row_costs(u: Tensor, v: Tensor, plan: Plan, order: float) -> Tensor:
    """:func:`solve_rows` in differentiable operations of torch: slower, but with derivatives of any order under a fixed matching."""
    i, j, mass = match_rows(u.detach(), v.detach(), plan)
    difference = (u if i is None else u.gather(1, i)) - v.gather(1, j)
    if order == 2:
        return (mass * difference.square()).sum(1)
    zero = difference == 0  # where derivatives of the power may not exist
    return (mass * difference.abs().masked_fill(zero, 1).pow(order).masked_fill(zero, 0)).sum(1)


def match_rows(u: Tensor, v: Tensor, plan: Plan) -> tuple[Tensor | None, Tensor, Tensor]:
    """The optimal matching of every row: indices into u (``None``: in order) and v, ``[rows, K]``, and the mass of each match, or all."""
    (_, i), (_, j) = sort_rows(u, True, 0), sort_rows(v, True, 1)
    if plan.u_weights is not None:
        i_rank, j_rank, mass = _meetings(plan.u_weights.gather(1, i), plan.v_weights.gather(1, j))
    elif plan.meetings is not None:
        i_rank, j_rank, mass = (part.expand(len(u), -1) for part in plan.meetings)
    else:
        return None, torch.empty_like(j).scatter_(1, i, j), torch.full((), 1 / u.shape[1], dtype=u.dtype, device=u.device)
    return i.gather(1, i_rank), j.gather(1, j_rank), mass


class Plan:
    """Which ranks of the two sides are matched.

    Without weights and with N = M, rank n is matched with rank n. Without weights and N != M, the at most N + M - 1 matches of ranks are
    the same for every row. With weights they depend on the order of each row, and are computed after the row is sorted.
    """

    def __init__(self, meetings: tuple[Tensor, Tensor, Tensor] | None, u_weights: Tensor | None, v_weights: Tensor | None):
        self.meetings, self.u_weights, self.v_weights = meetings, u_weights, v_weights

    def slope_scale(self, n: int, order: float) -> float:
        """The common factor of all slopes: applied to the gradient in the end, it costs less than applied to each."""
        return order / n if self.shares_mass else order

    @property
    def shares_mass(self) -> bool:
        """Whether all matches have the mass 1/N, which is then applied in the end."""
        return self.meetings is None and self.u_weights is None

    def rows(self, start: int, stop: int) -> Plan:
        """The plan of rows ``start`` to ``stop``."""
        if self.u_weights is None:
            return self
        return Plan(None, self.u_weights[start:stop], self.v_weights[start:stop])


def quantile_plan(n: int, m: int, u_weights: Tensor | None, v_weights: Tensor | None, *, device: torch.device, dtype: torch.dtype) -> Plan:
    """The :class:`Plan` for rows of N and M samples; weights are ``[rows, N]`` and ``[rows, M]`` or ``None``."""
    if u_weights is not None or v_weights is not None:
        rows = len(u_weights if u_weights is not None else v_weights)
        u_weights, v_weights = (
            normalise_weights(torch.ones(rows, size, dtype=dtype, device=device), dtype) if weights is None else weights
            for weights, size in ((u_weights, n), (v_weights, m))
        )
        return Plan(None, u_weights, v_weights)
    return Plan(None if n == m else _uniform_meetings(n, m, device, dtype), None, None)


@lru_cache(maxsize=8)
def _uniform_meetings(n: int, m: int, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Matched ranks of N and M equally weighted samples, and their mass: at most N + M - 1 matches."""
    # The breakpoints i/N and j/M in units of 1/(N M): integers, so that equal ones compare as equal.
    ends = np.union1d(np.arange(1, n + 1, dtype=np.int64) * m, np.arange(1, m + 1, dtype=np.int64) * n)
    starts = np.concatenate([[0], ends[:-1]])
    i, j = torch.from_numpy(starts // m).to(device), torch.from_numpy(starts // n).to(device)
    return i, j, torch.from_numpy((ends - starts) / (n * m)).to(device, dtype)


def solve_rows(u: Tensor, v: Tensor, plan: Plan, order: float, need_u: bool, need_v: bool) -> Tensor:
    r"""W_k^k of every row of ``u [rows, N]`` and ``v [rows, M]``, overwriting the rows with its slopes.

    ``u`` and ``v`` must be contiguous; where ``need_u`` (``need_v``) is set, the rows are overwritten with slopes: the gradient of the
    cost divided by :meth:`Plan.slope_scale`, with the opposite sign in ``v``; otherwise they are unchanged.
    """
    share = u.shape[1] if plan.shares_mass else 1
    if plan.shares_mass and use_kernel(u, u.shape[1]):
        return kernel.solve(u, v, order, need_u, need_v).div_(share)
    if not sort_is_fast(u):
        return _solve_block(u, v, plan, order, need_u, need_v) / share
    step = chunk_size(len(u), BLOCK // max(u.shape[1], v.shape[1]))
    blocks = ((start, start + step) for start in range(0, len(u), step))
    costs = [_solve_block(u[a:b], v[a:b], plan.rows(a, b), order, need_u, need_v) for a, b in blocks]
    return (costs[0] if len(costs) == 1 else torch.cat(costs)).div_(share)


def _solve_in_threads(u: Tensor, v: Tensor, plan: Plan, order: float, need_u: bool, need_v: bool) -> Tensor:
    """:func:`solve_rows` of some rows per thread."""
    step = chunk_size(max(1, len(u)), max(1, BLOCK // max(u.shape[1], v.shape[1]))) if u.device.type == "cpu" else max(1, len(u))

    def solve(start: int) -> Tensor:
        rows = slice(start, start + step)
        return solve_rows(u[rows], v[rows], plan.rows(start, start + step), order, need_u, need_v)

    costs = map_chunks(solve, range(0, len(u), step), u.device)
    return torch.cat(costs) if costs else u.new_zeros(0)


def _solve_block(u: Tensor, v: Tensor, plan: Plan, order: float, need_u: bool, need_v: bool) -> Tensor:
    weighted = plan.u_weights is not None
    u_sorted, u_index = sort_rows(u, need_u or weighted, 0)
    v_sorted, v_index = sort_rows(v, need_v or weighted, 1)
    if weighted:
        i, j, mass = _meetings(plan.u_weights.gather(1, u_index), plan.v_weights.gather(1, v_index))
    elif plan.meetings is not None:
        i, j, mass = (part.expand(len(u), -1) for part in plan.meetings)
    else:
        cost, slope = _power(u_sorted.sub_(v_sorted), order, None)
        if need_u:
            u.scatter_(1, u_index, slope)
        if need_v:
            v.scatter_(1, v_index, slope)
        return cost
    cost, slope = _power(u_sorted.gather(1, i).sub_(v_sorted.gather(1, j)), order, mass)
    if need_u:
        u.zero_().scatter_add_(1, u_index.gather(1, i), slope)
    if need_v:
        v.zero_().scatter_add_(1, v_index.gather(1, j), slope)
    return cost


def _power(difference: Tensor, order: float, mass: Tensor | None) -> tuple[Tensor, Tensor]:
    """``sum mass |d|^k`` of every row, and mass |d|^(k-1) sign(d); without ``mass`` all masses are equal. Overwrites d."""
    if order == 2:
        slope = difference if mass is None else difference * mass
        return torch.linalg.vecdot(difference, slope), slope
    size = difference.abs()
    slope = difference.sign_()
    if order != 1:
        slope *= size.pow(order - 1)
    if mass is not None:
        slope *= mass
    return torch.linalg.vecdot(slope.abs(), size), slope


def _meetings(u_weights: Tensor, v_weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Matched ranks and their mass, ``[rows, N + M]`` each, from weights in sorted order."""
    levels = []
    for weights in (u_weights, v_weights):
        level = weights.double().cumsum(1)
        levels.append((level / level[:, -1:]).contiguous())  # the last level is exactly one
    ends = torch.cat(levels, 1).sort(1).values
    mass = torch.diff(ends, dim=1, prepend=torch.zeros_like(ends[:, :1]))
    mass.masked_fill_(mass < mass_tolerance(mass.shape[1]), 0)
    i, j = (torch.searchsorted(level, ends) for level in levels)
    return i, j, mass.to(u_weights.dtype)
