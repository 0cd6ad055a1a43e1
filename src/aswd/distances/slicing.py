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

For a mean over slices, or weights that are known before, all of it happens in the forward pass, and backward only scales. Where the
weight of a slice depends on all costs, slopes are kept, and pulled back with their weights in the backward pass.
"""

from __future__ import annotations

import torch
from torch import Tensor

from aswd.distances.aggregations import Mean, Separable
from aswd.distances.chunks import RunningSum, scaled
from aswd.distances.one_dimensional import differentiable_gradients, quantile_plan, row_costs
from aswd.distances.problem import Slices
from aswd.distances.projections import Projection
from aswd.distances.slice_gradients import cost_and_gradients, pull_back_slopes, repeat_plan, solve_all
from aswd.distances.workers import one_torch_thread


def mean_slice_cost(s: Slices, aggregation: Separable) -> Tensor:
    """The mean over the slices of every replica of a function of their costs W_k^k, ``[R]``, in one pass.

    Differentiable with respect to features and directions: the gradient is computed together with the value, and backward only scales.
    """
    constants = s.x_weights, s.y_weights, s.projection, s.order
    return _WeightedSliceCost.apply(s.x_features, s.y_features, s.theta, None, constants, aggregation, s.repeated)


def weighted_slice_cost(s: Slices, weights: Tensor) -> Tensor:
    """The sum of the costs W_k^k of the slices of every replica under ``weights [R, L]``, ``[R]``, differentiable like a mean, and with
    respect to the weights.
    """
    constants = s.x_weights, s.y_weights, s.projection, s.order
    return _WeightedSliceCost.apply(s.x_features, s.y_features, s.theta, weights, constants, Mean(), s.repeated)


def slice_costs(s: Slices) -> Tensor:
    """W_k^k of every slice, ``[R, L]``, differentiable with respect to features and directions.

    The slopes of all slices, ``[R, L, N]`` for each side that needs a gradient, are kept for the backward pass.
    """
    return _SliceCosts.apply(s.x_features, s.y_features, s.theta, s.x_weights, s.y_weights, s.projection, s.order)


class _WeightedSliceCost(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, directions, weights, constants, aggregation, repeated):
        need = ctx.needs_input_grad[:3]
        value, costs, sides, theta_grad = cost_and_gradients(x, y, directions, *constants, aggregation, weights, need, repeated)
        n = x.shape[1] if need[0] else 0
        grads = sides[:, :n] if need[0] else None, sides[:, n:] if need[1] else None, theta_grad
        ctx.save_for_backward(x, y, directions, weights, *grads, costs if ctx.needs_input_grad[3] else None)
        ctx.constants, ctx.aggregation = constants, aggregation
        return value

    @staticmethod
    def backward(ctx, grad):
        *inputs, x_grad, y_grad, theta_grad, costs = ctx.saved_tensors
        if torch.is_grad_enabled():
            inputs = [tensor.view_as(tensor) for tensor in inputs if tensor is not None]  # of which none depends on another

            def plain(x: Tensor, y: Tensor, directions: Tensor, weights: Tensor | None = None) -> Tensor:
                each = ctx.aggregation.each(_plain_costs(x, y, directions, *ctx.constants), ctx.constants[-1])[0]
                return each.mean(1) if weights is None else (weights * each).sum(1)

            grads = differentiable_gradients(plain, inputs, ctx.needs_input_grad, grad)
            grads += [None] * (4 - len(grads))
        else:
            with one_torch_thread():
                grads = [None if g is None else _scale_saved(g, grad) for g in (x_grad, y_grad, theta_grad)]
                grads.append(None if costs is None else grad[:, None] * costs)
        return *grads, None, None, None


_keeps_graph = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True)


def _scale_saved(saved: Tensor, grad: Tensor) -> Tensor:
    """A gradient ``[R, N, D]`` that was kept for this backward pass times ``grad [R]``; in its own memory if that is freed now."""
    if torch._C._functorch.is_legacy_batchedtensor(grad):
        return grad[:, None, None] * saved
    return scaled(saved, grad[:, None, None], in_place=not _keeps_graph())


class _SliceCosts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, directions, x_weights, y_weights, projection, order):
        need_x, need_y, need_directions = ctx.needs_input_grad[:3]
        plan = quantile_plan(x.shape[1], y.shape[1], x_weights, y_weights, device=x.device, dtype=x.dtype)
        needs = need_x or need_directions, need_y or need_directions
        costs, slopes = solve_all(projection, x, y, directions, plan, order, needs)
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
        grads, weights, of_theta = [None, None], ctx.scale * grad, RunningSum()
        with one_torch_thread():
            for i, (side, kept, need, sign) in enumerate(zip((x, y), slopes, (need_x, need_y), (1, -1), strict=True)):
                if kept is not None:
                    need = need, need_directions
                    grads[i], theta_part = pull_back_slopes(ctx.constants[2], side, directions, kept, sign * weights, need)
                    of_theta.add(theta_part)
        return *grads, of_theta.total, None, None, None, None


def _plain_costs(
    x: Tensor, y: Tensor, directions: Tensor, x_weights: Tensor | None, y_weights: Tensor | None, projection: Projection, order: float
) -> Tensor:
    """:func:`slice_costs` in differentiable operations of torch, all slices at once."""
    plan = repeat_plan(quantile_plan(x.shape[1], y.shape[1], x_weights, y_weights, device=x.device, dtype=x.dtype), directions.shape[1])
    u, v = projection.values(x, directions), projection.values(y, directions)
    return row_costs(u.flatten(0, 1), v.flatten(0, 1), plan, order).view(directions.shape[:2])
