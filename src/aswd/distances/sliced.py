"""The sliced distance, made of a projection, directions and an inner maximisation."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from aswd.distances.checks import check_directions, check_order
from aswd.distances.closed_form import has_closed_form, objective_gradients
from aswd.distances.directions import Directions, Single
from aswd.distances.layers import Parameters
from aswd.distances.maximiser import AdamState, Learned, Maximiser, by_autograd
from aswd.distances.modes import eager, without_autocast
from aswd.distances.one_dimensional import safe_root
from aswd.distances.penalties import Penalty, Slices
from aswd.distances.problem import Problem
from aswd.distances.projections import Projection
from aswd.distances.slicing import mean_slice_cost, slice_costs
from aswd.distances.streams import Streams
from aswd.utils.checks import check_choice


class SlicedDistance(nn.Module):
    r"""The sliced Wasserstein distance with any projection and directions,

    .. math:: D(x, y) = \Bigl( \tfrac1L \sum_l W_k^k \bigl( \{p(x_n, \theta_l)\}_n, \{p(y_n, \theta_l)\}_n \bigr) \Bigr)^{1/k},

    after ``maximiser`` has updated the parameters of the projection or of the directions to increase its objective, D minus a penalty.

    Leading dimensions of the samples are replicas: independent problems, each with its own random numbers and learned parameters. In
    evaluation mode (``eval()``) parameters that are kept between calls are not updated; a search that starts anew at every call
    (``warm_start=False``) runs in both modes.

    Args:
        projection: p.
        directions: the distribution of theta; ``None`` for a projection with its own directions.
        maximised: ``"projection"``, ``"directions"`` or ``None``.
        maximiser: the inner loop; needed with ``maximised``.
        penalty: subtracted from D in the objective of the inner loop.
        order: k >= 1.
        reduction: ``"mean"`` or ``"sum"`` over the samples; sum needs N = M and no weights.
        root: take the 1/k root.
        aggregation: ``"mean"`` over the slices as above, or ``"algorithm1"``: the sum over l of (W_k^k / L)^(1/k), the paper's pseudo-code.
        seed: of the random streams: s gives replica i the seed s + i, a sequence gives one per replica, ``None`` draws one from torch.
        validate: check that the samples are finite on a GPU too, which costs a synchronisation (on a CPU it is always done).
    """

    supports_replicas = True  # leading dimensions are evaluated as one batch

    def __init__(
        self,
        projection: Projection,
        directions: Directions | None,
        maximised: str | None = None,
        maximiser: Maximiser | None = None,
        penalty: Penalty | None = None,
        *,
        order: float = 2.0,
        reduction: str = "mean",
        root: bool = True,
        aggregation: str = "mean",
        seed: int | Sequence[int] | None = None,
        validate: bool = False,
    ) -> None:
        super().__init__()
        check_order(order)
        check_choice("reduction", reduction, ["mean", "sum"])
        check_choice("root", root, [True, False])
        check_choice("aggregation", aggregation, ["mean", "algorithm1"])
        check_choice("maximised", maximised, ["projection", "directions", None])
        check_choice("validate", validate, [True, False])
        self.projection, self.directions = projection, directions
        self.maximised, self.maximiser, self.penalty = maximised, maximiser, penalty
        self.order, self.reduction, self.root, self.aggregation = float(order), reduction, root, aggregation
        self.validate = validate
        self.learned = Learned()
        self.streams = Streams(seed)

    @eager
    def forward(
        self,
        x: Tensor,
        y: Tensor,
        x_weights: Tensor | None = None,
        y_weights: Tensor | None = None,
        directions: Tensor | None = None,
    ) -> Tensor:
        """The distance between ``x [..., N, d]`` and ``y [..., M, d]``, of shape ``[...]``.

        Args:
            x, y: samples; leading dimensions are replicas and broadcast.
            x_weights, y_weights: ``[..., N]`` and ``[..., M]``, normalised to sum one; default: uniform.
            directions: ``[L, D]`` or ``[..., L, D]``, used instead of random ones, in the inner loop too; the DSWD pushes them forward;
                the Max- distances take the maximum over them instead of searching.
        """
        return self._solve(x, y, x_weights, y_weights, directions, "value")

    @eager
    def objective(
        self,
        x: Tensor,
        y: Tensor,
        x_weights: Tensor | None = None,
        y_weights: Tensor | None = None,
        directions: Tensor | None = None,
    ) -> Tensor:
        """The objective of the inner loop at the current parameters, ``[...]``: the distance, scaled as there, minus the penalty."""
        return self._solve(x, y, x_weights, y_weights, directions, "objective")

    @eager
    def project(
        self,
        x: Tensor,
        y: Tensor,
        x_weights: Tensor | None = None,
        y_weights: Tensor | None = None,
        directions: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The projections of both sides, ``[..., L, N]`` and ``[..., L, M]``, that a call in evaluation mode would compare.

        Learned parameters are used and not updated; directions are drawn, searched (Max-) or given, as in :meth:`forward`.
        """
        return self._solve(x, y, x_weights, y_weights, directions, "projections")

    def reset(self, seed: int | Sequence[int] | None = None) -> None:
        """Drop all learned parameters and restart the random streams, from ``seed`` (default: the former seed)."""
        self.learned.forget()
        self.streams = Streams(self.streams.seed if seed is None else seed)

    def get_extra_state(self) -> dict:
        return {"made_of": self._made_of(), "streams": self.streams.state()}

    def set_extra_state(self, state: dict) -> None:
        if state["made_of"] != self._made_of():
            raise ValueError(f"state_dict must be of a distance made of {self._made_of()}; got one of {state['made_of']}")
        self.streams.restore(state["streams"])

    def _made_of(self) -> str:
        """Description of the parts, which decide the parameters and their shapes."""
        return f"{self.projection!r} with directions {type(self.directions).__name__}, maximised: {self.maximised}"

    def _solve(
        self,
        x: Tensor,
        y: Tensor,
        x_weights: Tensor | None,
        y_weights: Tensor | None,
        directions: Tensor | None,
        wanted: str,
    ) -> Tensor | tuple[Tensor, Tensor]:
        # The inner loop needs gradients, also when called in inference mode, and what is kept must be usable outside of it.
        inference = torch.is_inference_mode_enabled()
        differentiable = torch.is_grad_enabled() and not inference
        with torch.inference_mode(False), torch.set_grad_enabled(differentiable):
            problem = Problem.of(x, y, x_weights, y_weights, self.reduction, self.validate, copy=inference)
            with without_autocast(problem.x.device):
                given = self._given(directions, problem)
                drawn = getattr(self.directions, "num_projections", 1)
                self.projection.check(problem.x, problem.y, drawn if given is None else given.shape[1])
                parameters = self._start(problem)
                if wanted == "objective":
                    base = self._base(problem) if given is None else given
                    return problem.result(self._objective(problem, parameters, self._features(problem, parameters), base))
                searched = given is None or not isinstance(self.directions, Single)
                moves = self.training and wanted == "value"
                if self.maximiser is not None and searched and (moves or not self.maximiser.warm_start):
                    self._maximise(problem, parameters, given)
                features = self._features(problem, parameters)
                if not searched:
                    theta = self._largest(problem, features, given)
                else:
                    theta = self._theta(self._base(problem) if given is None else given, parameters)
                if wanted == "projections":
                    sides = (self.projection.values(side, theta) for side in features)
                    return tuple(side.reshape(*problem.lead, *side.shape[1:]).to(problem.dtype) for side in sides)
                samples = problem.n if self.reduction == "sum" else 1
                return problem.result(self._value(problem, features, theta, samples, self.root))

    def _given(self, directions: Tensor | None, problem: Problem) -> Tensor | None:
        if directions is None:
            return None
        if self.directions is None:
            raise ValueError("directions must be left out: this distance has none, as its projections are the outputs of a network")
        dim = self.projection.direction_dim(problem.dim)
        check_directions(directions, problem.lead, dim, problem.x.device, problem.look_inside)
        directions = directions.to(problem.x.dtype)
        return directions.expand(*problem.lead, *directions.shape[-2:]).reshape(problem.replicas, -1, dim)

    def _start(self, problem: Problem) -> dict[str, Tensor]:
        """Parameters of projection and directions: those kept from the last call, or initial ones."""
        key = problem.replicas, problem.dim
        self.streams.prepare(problem.replicas, problem.x.device, problem.x.dtype)
        kept = self.maximiser is None or self.maximiser.warm_start
        if kept and self.learned.problem is not None:
            return self.learned.parameters_for(key, problem.x)
        parameters = self.projection.initialise(problem.dim, self.streams)
        if self.directions is not None:
            parameters |= self.directions.initialise(self.projection.direction_dim(problem.dim), self.streams)
        if kept and parameters:
            self.learned.keep(key, parameters, self._maximised_names(parameters) if self.maximiser else [])
        return parameters

    def _maximised_names(self, parameters: Parameters) -> list[str]:
        theirs = set(self.directions.parameter_names) if self.directions is not None else set()
        return [name for name in parameters if (name in theirs) == (self.maximised == "directions")]

    def _maximise(self, problem: Problem, parameters: dict[str, Tensor], given: Tensor | None) -> None:
        """Run the inner loop on detached samples, and update ``parameters`` in place."""
        detached = problem.detach()
        # Copies: the graph of an earlier call may need the present values in its backward pass.
        moved = {name: parameters[name].clone() for name in self._maximised_names(parameters)}
        warm = self.maximiser.warm_start
        state = self.learned.adam_state(list(moved)) if warm else AdamState.zeros_like(moved)
        fixed = self._features(detached, parameters) if self.maximised == "directions" else None
        closed = has_closed_form(self)

        def gradients(moving: dict[str, Tensor]) -> dict[str, Tensor]:
            base = self._base(detached) if given is None else given

            def objective(leaves: dict[str, Tensor]) -> Tensor:
                current = {**parameters, **leaves}
                return self._objective(detached, current, self._features(detached, current) if fixed is None else fixed, base)

            if not closed:
                return by_autograd(objective, moving)
            current = {**parameters, **moving}
            return objective_gradients(self, detached, current, fixed, base)

        constrain = self.directions.constrain if self.maximised == "directions" else lambda _: None
        self.maximiser.ascend(gradients, moved, state, constrain)
        parameters.update(moved)
        if warm:
            self.learned.update(moved, state)

    def _objective(self, problem: Problem, parameters: Parameters, features: tuple[Tensor, Tensor], base: Tensor | None) -> Tensor:
        theta = self._theta(base, parameters)
        value = self._value(problem, features, theta, self.objective_samples(problem), root=True)
        return value if self.penalty is None else value - self.penalty(self.slices(problem, parameters, features, theta))

    def objective_samples(self, problem: Problem) -> float:
        """S: the scale of the distance in the objective of the inner loop."""
        return 1 if self.penalty is None else self.penalty.samples(problem.n, problem.m)

    def slices(self, problem: Problem, parameters: Parameters, features: tuple[Tensor, Tensor], theta: Tensor) -> Slices:
        """The arguments of a penalty."""
        weights = problem.x_weights, problem.y_weights
        return Slices(self.projection, parameters, problem.y, *features, theta, *weights, self.order)

    def _features(self, problem: Problem, parameters: Parameters) -> tuple[Tensor, Tensor]:
        return self.projection.features(problem.x, parameters), self.projection.features(problem.y, parameters)

    def _base(self, problem: Problem) -> Tensor | None:
        return None if self.directions is None else self.directions.base(self.projection.direction_dim(problem.dim), self.streams)

    def _theta(self, base: Tensor | None, parameters: Parameters) -> Tensor:
        own = self.projection.own_directions(parameters)
        return self.directions.theta(base, parameters) if own is None else own

    def _largest(self, problem: Problem, features: tuple[Tensor, Tensor], given: Tensor) -> Tensor:
        """The direction with the largest cost among ``given``, per replica, ``[R, 1, D]``."""
        costs = slice_costs(self.projection, *features, given, problem.x_weights, problem.y_weights, self.order)
        return given.take_along_dim(costs.argmax(1)[:, None, None], 1)

    def _value(self, problem: Problem, features: tuple[Tensor, Tensor], theta: Tensor, samples: float, root: bool) -> Tensor:
        """The distance of every replica, scaled by ``samples``."""
        k, count, inside = self.order, theta.shape[1], self.aggregation == "algorithm1"
        cost = mean_slice_cost(self.projection, *features, theta, problem.x_weights, problem.y_weights, k, root_each=inside)
        if inside:
            total = cost * (count * (samples / count) ** (1 / k))
            return total if root else total**k
        return safe_root(cost * samples, k) if root else cost * samples

    def extra_repr(self) -> str:
        parts = [repr(part) for part in (self.projection, self.directions, self.maximiser, self.penalty) if part is not None]
        return ", ".join([*parts, f"order={self.order:g}, reduction={self.reduction!r}, root={self.root}"])
