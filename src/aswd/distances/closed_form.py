r"""Gradients of the inner loop's objective without autograd, where the parts know theirs.

The objective of a replica is :math:`(S \, c)^{1/k} - P` with the mean cost c of its slices (or, as Algorithm 1 has it,
:math:`\sum_l (S c_l / L)^{1/k} - P`). The evaluation of the slices gives the gradient of c with respect to features and directions anyway;
what is left is a chain rule of a line or two for each part. Autograd finds the same and takes about sixty small calls more in every step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from aswd.distances.layers import Parameters
from aswd.distances.one_dimensional import clamp_tiny, safe_root
from aswd.distances.problem import Problem
from aswd.distances.slicing import cost_and_gradients

if TYPE_CHECKING:
    from aswd.distances.sliced import SlicedDistance


def has_closed_form(distance: SlicedDistance) -> bool:
    """Whether every part of the objective does."""
    moved, penalty = distance.directions if distance.maximised == "directions" else distance.projection, distance.penalty
    held_back = penalty is None or (penalty.closed_form and (not penalty.penalty or distance.projection.outputs_features))
    return moved.closed_form and held_back


def objective_gradients(
    distance: SlicedDistance, problem: Problem, parameters: Parameters, fixed: tuple[Tensor, Tensor] | None, base: Tensor | None
) -> dict[str, Tensor]:
    """Gradients of the objective with respect to what is maximised; ``fixed``: the features, where those do not change."""
    projection, moves_directions = distance.projection, fixed is not None
    traced = [] if moves_directions else [projection.traced(side, parameters) for side in (problem.x, problem.y)]
    features = fixed if moves_directions else tuple(features for features, _ in traced)
    own = projection.own_directions(parameters)
    theta = distance.directions.theta(base, parameters) if own is None else own
    inside = distance.aggregation == "algorithm1"
    cost, grads = cost_and_gradients(
        projection,
        *features,
        theta,
        problem.x_weights,
        problem.y_weights,
        distance.order,
        root_each=inside,
        need=(not moves_directions, not moves_directions, moves_directions or own is not None),
    )
    grads = [None if grad is None else grad.mul_(_slope(distance, problem, cost, theta.shape[1])) for grad in grads]
    if distance.penalty is not None and distance.penalty.penalty:
        held_back = distance.penalty.gradients(distance.slices(problem, parameters, features, theta))
        grads = [grad if held is None else grad.sub_(held) for grad, held in zip(grads, held_back, strict=True)]
    if moves_directions:
        return distance.directions.parameter_gradients(base, theta, parameters, grads[2])
    sides = zip((problem.x, problem.y), traced, grads[:2], strict=True)
    x_part, y_part = (projection.parameter_gradients(x, *trace, grad, parameters) for x, trace, grad in sides)
    found = {name: x_part[name] + y_part[name] for name in x_part}
    return found if own is None else {**found, **projection.own_gradients(grads[2])}


def _slope(distance: SlicedDistance, problem: Problem, cost: Tensor, count: int) -> Tensor | float:
    """Derivative of the distance, as it counts in the objective, with respect to the mean cost of the slices."""
    k, samples = distance.order, distance.objective_samples(problem)
    if distance.aggregation == "algorithm1":
        return count * (samples / count) ** (1 / k)
    return (safe_root(cost * samples, k) / (k * clamp_tiny(cost)))[:, None, None]
