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
    distance: SlicedDistance,
    problem: Problem,
    samples: Tensor,
    parameters: Parameters,
    fixed: tuple[Tensor, Tensor] | None,
    base: Tensor | None,
) -> dict[str, Tensor]:
    """Gradients of the objective with respect to the maximised parameters, by name.

    Args:
        distance: whose objective it is; :func:`has_closed_form` must hold.
        problem: the samples.
        samples: those of both sides, one after the other: layers take them at once.
        parameters: all current parameters.
        fixed: the features of both sides if the directions are maximised, else ``None``.
        base: the random part of the directions.
    """
    projection, moves_directions = distance.projection, fixed is not None
    traced, trace = (None, None) if moves_directions else projection.traced(samples, parameters)
    features = fixed if moves_directions else traced.split((problem.n, problem.m), 1)
    own = projection.own_directions(parameters)
    theta = distance.directions.theta(base, parameters) if own is None else own
    cost, _, sides_grad, theta_grad = cost_and_gradients(
        *features,
        theta,
        problem.x_weights,
        problem.y_weights,
        projection,
        distance.order,
        distance.aggregation,
        need=(not moves_directions, not moves_directions, moves_directions or own is not None),
    )
    slope = distance.aggregation.slope(cost, theta.shape[1], distance.objective_samples(problem), distance.order)
    grads = [None if grad is None else grad.mul_(slope) for grad in (sides_grad, theta_grad)]
    if distance.penalty is not None and distance.penalty.penalty:
        distance.penalty.subtract_gradients(distance.slices(problem, parameters, features, theta), traced, *grads)
    if moves_directions:
        return distance.directions.parameter_gradients(base, theta, parameters, grads[1])
    of_parameters = projection.parameter_gradients(samples, traced, trace, grads[0], parameters)
    return of_parameters if own is None else {**of_parameters, **projection.own_gradients(grads[1])}
