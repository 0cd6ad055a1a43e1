"""The inner loop of the augmented distances in one call of the compiled kernel, where every part of the distance is one that it knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from aswd.distances import kernel
from aswd.distances.aggregations import Mean
from aswd.distances.augmented import Augmented, NonInjective
from aswd.distances.directions import Uniform
from aswd.distances.maximiser import AdamState, Maximiser
from aswd.distances.one_dimensional import quantile_plan
from aswd.distances.penalties import NormPenalty
from aswd.distances.problem import Problem
from aswd.distances.slice_costs import Sorted
from aswd.distances.slice_gradients import suits_kernel
from aswd.distances.workers import one_torch_thread

if TYPE_CHECKING:
    from aswd.distances.sliced import SlicedDistance

_MOST_NUMBERS = 1 << 22  # of directions that are drawn before a call


def suits_ascent(distance: SlicedDistance, problem: Problem) -> bool:
    """Whether :func:`ascend` does what the distance's maximiser would do. Subclasses of the parts may override anything."""
    projection, penalty = distance.projection, distance.penalty
    parts = (
        distance.maximised == "projection"
        and type(projection) in (Augmented, NonInjective)
        and type(distance.directions) is Uniform
        and projection.activation in kernel.ACTIVATIONS
        and (penalty is None or (type(penalty) is NormPenalty and penalty.penalty_form in kernel.PENALTY_FORMS))
        and type(distance.aggregation) is Mean
        and type(distance.slice_cost) is Sorted
        and type(distance.maximiser) is Maximiser
    )
    if not parts:
        return False
    plan = quantile_plan(problem.n, problem.m, problem.x_weights, problem.y_weights, device=problem.x.device, dtype=problem.x.dtype)
    return suits_kernel(projection, problem.x, problem.x.new_empty(0, 0, projection.direction_dim(problem.dim)), plan)


def ascend(
    distance: SlicedDistance, problem: Problem, samples: Tensor, parameters: dict[str, Tensor], state: AdamState, draw: Callable[[], Tensor]
) -> None:
    """Take the steps of the distance's maximiser, updating ``parameters`` and Adam's ``state`` in place.

    Args:
        distance: for which :func:`suits_ascent`.
        problem: the samples.
        samples: those of both sides, one after the other.
        parameters: weight and bias of the layer.
        state: of Adam.
        draw: the directions of the next step, ``[R, L, D]``.
    """
    projection, maximiser, penalty = distance.projection, distance.maximiser, distance.penalty
    copied = problem.dim if projection.injective else 0
    layer = parameters["phi_bias"].shape[1], copied, kernel.ACTIVATIONS.index(projection.activation)
    strength, form = None, 0
    if penalty is not None and penalty.penalty:
        strength = samples.new_ones(problem.replicas) * penalty.strength(problem.y)
        form = kernel.PENALTY_FORMS.index(penalty.penalty_form)
    for values in (parameters, state.first, state.second):
        values.update({name: value.contiguous() for name, value in values.items()})
    changing = [of[name] for of in (parameters, state.first, state.second) for name in ("phi_weight", "phi_bias")]
    done = 0
    with one_torch_thread():
        while done < maximiser.steps:
            drawn = [draw()]
            while done + len(drawn) < maximiser.steps and (len(drawn) + 1) * drawn[0].numel() <= _MOST_NUMBERS:
                drawn.append(draw())
            adam = maximiser.lr, *maximiser.betas, state.count
            objective = distance.objective_samples(problem)
            kernel.ascend(samples, torch.stack(drawn), layer, (strength, form), distance.order, objective, changing, adam)
            state.count += len(drawn)
            done += len(drawn)
