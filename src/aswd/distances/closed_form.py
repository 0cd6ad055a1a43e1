r"""Gradients of the inner loop's objective in closed form, where all parts have one.

The objective of a replica is the distance, scaled by S, minus a penalty; for a mean over slices, :math:`(S \, c)^{1/k} - P` with the
mean cost c. The evaluation of the slices gives the gradient of c with respect to features and directions;
the chain rule through each part is a line or two. Autograd gives the same with about sixty more small kernel calls per step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from aswd.distances.aggregations import Separable
from aswd.distances.layers import Parameters
from aswd.distances.problem import Problem
from aswd.distances.slice_costs import Sorted
from aswd.distances.slice_gradients import cost_and_gradients

if TYPE_CHECKING:
    from aswd.distances.sliced import SlicedDistance


def has_closed_form(distance: SlicedDistance) -> bool:
    """Whether every part of the objective has a closed-form gradient."""
    moved, penalty = distance.directions if distance.maximised == "directions" else distance.projection, distance.penalty
    penalty_closed = penalty is None or (penalty.closed_form and (not penalty.penalty or distance.projection.outputs_features))
    return moved.closed_form and penalty_closed and type(distance.slice_cost) is Sorted and isinstance(distance.aggregation, Separable)


def objective_gradients(
    distance: SlicedDistance, problem: Problem, parameters: Parameters, fixed: tuple[Tensor, Tensor] | None, base: Tensor | None
) -> dict[str, Tensor]:
    """Gradients of the objective with respect to the maximised parameters, by name.

    Args:
        distance: whose objective it is; :func:`has_closed_form` must hold.
        problem: the samples.
        parameters: all current parameters.
        fixed: the features of both sides if the directions are maximised, else ``None``.
        base: the random part of the directions.
    """
    projection, moves_directions = distance.projection, fixed is not None
    traced = [] if moves_directions else [projection.traced(side, parameters) for side in (problem.x, problem.y)]
    features = fixed if moves_directions else tuple(features for features, _ in traced)
    own = projection.own_directions(parameters)
    theta = distance.directions.theta(base, parameters) if own is None else own
    cost, grads = cost_and_gradients(
        projection,
        *features,
        theta,
        problem.x_weights,
        problem.y_weights,
        distance.order,
        distance.aggregation,
        need=(not moves_directions, not moves_directions, moves_directions or own is not None),
    )
    slope = distance.aggregation.slope(cost, theta.shape[1], distance.objective_samples(problem), distance.order)
    grads = [None if grad is None else grad.mul_(slope) for grad in grads]
    if distance.penalty is not None and distance.penalty.penalty:
        penalty_grads = distance.penalty.gradients(distance.slices(problem, parameters, features, theta))
        grads = [grad if part is None else grad.sub_(part) for grad, part in zip(grads, penalty_grads, strict=True)]
    if moves_directions:
        return distance.directions.parameter_gradients(base, theta, parameters, grads[2])
    sides = zip((problem.x, problem.y), traced, grads[:2], strict=True)
    x_part, y_part = (projection.parameter_gradients(x, *trace, grad, parameters) for x, trace, grad in sides)
    total = {name: x_part[name] + y_part[name] for name in x_part}
    return total if own is None else {**total, **projection.own_gradients(grads[2])}
