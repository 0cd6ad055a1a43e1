"""The sliced distance, made of a projection, directions and an inner maximisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from aswd.distances.aggregations import Max, Mean
from aswd.distances.ascent import ascend, suits_ascent
from aswd.distances.calls import Calls
from aswd.distances.checks import check_directions, check_order
from aswd.distances.closed_form import has_closed_form, objective_gradients
from aswd.distances.directions import Directions, Single, Uniform
from aswd.distances.layers import Parameters
from aswd.distances.maximiser import AdamState, Learned, Maximiser, by_autograd
from aswd.distances.modes import without_autocast
from aswd.distances.parts import build_part
from aswd.distances.penalties import Penalty
from aswd.distances.problem import Problem, Slices
from aswd.distances.projections import Linear, Projection
from aswd.distances.repeated import Repeated
from aswd.distances.slice_costs import Sorted
from aswd.distances.slice_gradients import join_sides
from aswd.distances.streams import Streams
from aswd.distances.workers import threads_for
from aswd.utils.checks import check_choice


class SlicedDistance(Calls):
    r"""The sliced Wasserstein distance with any projection and directions,

    .. math:: D(x, y) = \Bigl( \tfrac1L \sum_l W_k^k \bigl( \{p(x_n, \theta_l)\}_n, \{p(y_n, \theta_l)\}_n \bigr) \Bigr)^{1/k},

    after ``maximiser`` has updated the parameters of the projection or of the directions to increase its objective, D minus a penalty.

    Leading dimensions of the samples are replicas: independent problems, each with its own random numbers and learned parameters. In
    training mode every call draws new directions from the streams. In evaluation mode (``eval()``) a call changes nothing: it draws from
    the start of the streams, so that the same samples give the same value, and parameters that are kept between calls are not updated;
    a search that starts anew at every call (``warm_start=False``) runs in both modes.

    Args:
        projection: p.
        directions: the distribution of theta; ``None`` for a projection with its own directions.
        maximised: ``"projection"``, ``"directions"`` or ``None``.
        maximiser: the inner loop; needed with ``maximised``.
        penalty: subtracted from D in the objective of the inner loop.
        order: k >= 1.
        reduction: ``"mean"`` or ``"sum"`` over the samples; sum needs N = M and no weights.
        root: take the 1/k root.
        aggregation: of the costs of the slices: a name, a mapping with a name and its options, or an :class:`Aggregation`.
        slice_cost: the cost of a slice, likewise; W_k^k as above: ``"sorted"``.
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
        aggregation: str | dict[str, Any] = "mean",
        slice_cost: str | dict[str, Any] = "sorted",
        seed: int | Sequence[int] | None = None,
        validate: bool = False,
    ) -> None:
        super().__init__()
        check_order(order)
        check_choice("reduction", reduction, ["mean", "sum"])
        check_choice("root", root, [True, False])
        check_choice("maximised", maximised, ["projection", "directions", None])
        check_choice("validate", validate, [True, False])
        self.projection, self.directions = projection, directions
        self.maximised, self.maximiser, self.penalty = maximised, maximiser, penalty
        self.order, self.reduction, self.root = float(order), reduction, root
        self.aggregation, self.slice_cost = build_part("aggregation", aggregation), build_part("slice_cost", slice_cost)
        if self.aggregation.needs_uniform and type(directions) is not Uniform:
            kind = "no directions" if directions is None else type(directions).__name__
            raise ValueError(f"aggregation {self.aggregation!r} needs directions that are uniform on the sphere; got {kind}")
        if self.aggregation.needs_uniform and not self.slice_cost.one_direction:
            raise ValueError(f"aggregation {self.aggregation!r} needs slices of one direction each; got {self.slice_cost!r}")
        self.validate = validate
        self.learned = Learned()
        self._repeated = Repeated()
        self.streams = Streams(seed)

    def check_dim(self, dim: int) -> None:
        """Check that directions and aggregation are defined for samples of dimension ``dim``, as a call does.

        Raises:
            ValueError: they are not.
        """
        if isinstance(self.directions, Uniform):
            dim = self.projection.direction_dim(dim)
            self.directions.check_dim(dim)
            self.aggregation.check(self.directions.num_projections, dim)

    @property
    def sorts_per_call(self) -> int:
        """Rows of N values that a call in training mode sorts for every replica: 2 per slice and evaluation, inner steps included.

        A longer row counts as so many as it has N values.
        """
        slices = self.projection.num_projections if self.directions is None else self.directions.count
        value = self.slice_cost.num_sorts(slices, self.aggregation)
        if self.directions is None:
            return value * (1 + getattr(self.maximiser, "steps", 0))
        inner = self.directions.objective_sorts() if self.directions.has_own_objective else value
        return value + self.directions.drawing_sorts() + inner * getattr(self.maximiser, "steps", 0)

    @property
    def estimates_mean(self) -> bool:
        """Whether the k-th power of the value estimates the mean of W_k^k over all directions of the samples' own space."""
        plain = type(self.projection) is Linear and type(self.slice_cost) is Sorted and self.maximised is None
        mean = type(self.aggregation) is Mean or self.aggregation.needs_uniform
        return plain and mean and self.directions.is_uniform and self.reduction == "mean"

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
        with torch.inference_mode(False), torch.set_grad_enabled(differentiable), threads_for(x):
            problem = Problem.of(x, y, x_weights, y_weights, self.reduction, self.validate, copy=inference)
            with without_autocast(problem.x.device):
                given = self._given(directions, problem)
                drawn = getattr(self.directions, "num_projections", 1)
                self.projection.check(problem.x, problem.y, drawn if given is None else given.shape[1])
                restart = not self.training or wanted in ("projections", "plan", "directions")
                streams = self.streams.restarted() if restart else self.streams
                parameters = self._start(problem, streams)
                if wanted == "objective":
                    base = self._base(problem, parameters, streams) if given is None else given
                    return problem.result(self._objective(problem, parameters, self._features(problem, parameters), base))
                searched = given is None or not self.directions.replaced_by_given
                moves = self.training and wanted == "value"
                if given is None and not getattr(self.directions, "redraw", True):
                    given = self._base(problem, parameters, streams)
                if self.maximiser is not None and searched and (moves or not self.maximiser.warm_start):
                    self._maximise(problem, parameters, given, streams)
                features = self._features(problem, parameters)
                base = self._base(problem, parameters, streams, features) if given is None else given
                s = self.slices(problem, parameters, features, self._theta(base, parameters) if searched else given)
                s = s._replace(repeated=self._repeated if given is not None or self._is_fixed else None)
                if not searched and isinstance(self.directions, Single):
                    s = self.slice_cost.selected(s, Max(), self.directions.num_directions)
                if wanted == "plan":
                    return problem.result(self.slice_cost.plan(s, self.aggregation))
                if wanted == "directions":
                    return problem.result(s.theta)
                if wanted == "projections":
                    return tuple(problem.result(self.projection.values(side, s.theta)) for side in features)
                return problem.result(self._value(s, problem.n if self.reduction == "sum" else 1, self.root))

    @property
    def _is_fixed(self) -> bool:
        """Whether nothing but the samples changes between calls."""
        return self.maximised is None and (self.directions is None or self.directions.is_fixed)

    def _given(self, directions: Tensor | None, problem: Problem) -> Tensor | None:
        if directions is None:
            return None
        if self.directions is None:
            raise ValueError("directions must be left out: this distance has none, as its projections are the outputs of a network")
        dim = self.projection.direction_dim(problem.dim)
        check_directions(directions, problem.lead, dim, problem.x.device, problem.look_inside)
        directions = directions.to(problem.x.dtype)
        return directions.expand(*problem.lead, *directions.shape[-2:]).reshape(problem.replicas, -1, dim)

    def _start(self, problem: Problem, streams: Streams) -> dict[str, Tensor]:
        """Parameters of projection and directions: those kept from the last call, or initial ones, kept if ``streams`` are."""
        key = problem.replicas, problem.dim
        streams.prepare(problem.replicas, problem.x.device, problem.x.dtype)
        kept = self.maximiser is None or self.maximiser.warm_start
        if kept and self.learned.problem is not None:
            return self.learned.parameters_for(key, problem.x)
        parameters = self.projection.initialise(problem.dim, streams)
        if self.directions is not None:
            parameters |= self.directions.initialise(self.projection.direction_dim(problem.dim), streams)
        if kept and parameters and streams is self.streams:
            self.learned.keep(key, parameters, self._maximised_names(parameters) if self.maximiser else [])
        return parameters

    def _maximised_names(self, parameters: Parameters) -> list[str]:
        theirs = set(self.directions.parameter_names) if self.directions is not None else set()
        return [name for name in parameters if (name in theirs) == (self.maximised == "directions")]

    def _maximise(self, problem: Problem, parameters: dict[str, Tensor], given: Tensor | None, streams: Streams) -> None:
        """Run the inner loop on detached samples, and update ``parameters`` in place."""
        detached = problem.detach()
        # Copies: the graph of an earlier call may need the present values in its backward pass.
        moved = {name: parameters[name].clone() for name in self._maximised_names(parameters)}
        state = self.learned.adam_state(list(moved)) if self.maximiser.warm_start else AdamState.zeros_like(moved)
        fixed = self._features(detached, parameters) if self.maximised == "directions" else None
        closed = has_closed_form(self)
        samples = join_sides(detached.x, detached.y) if closed else None
        if suits_ascent(self, detached):
            draw = (lambda: self._base(detached, parameters, streams)) if given is None else (lambda: given)
            ascend(self, detached, samples, moved, state, draw)
            self._keep(parameters, moved, state)
            return

        def gradients(moving: dict[str, Tensor]) -> dict[str, Tensor]:
            current = {**parameters, **moving}
            base = self._base(detached, current, streams, fixed) if given is None else given
            if fixed is not None and self.directions.has_own_objective:
                return self.directions.objective_gradients(self.slices(detached, current, fixed, self._theta(base, current)))

            def objective(leaves: dict[str, Tensor]) -> Tensor:
                current = {**parameters, **leaves}
                return self._objective(detached, current, self._features(detached, current) if fixed is None else fixed, base)

            if not closed:
                return by_autograd(objective, moving)
            return objective_gradients(self, detached, samples, current, fixed, base)

        constrain = self.directions.constrain if self.maximised == "directions" else lambda _: None
        self.maximiser.ascend(gradients, moved, state, constrain)
        self._keep(parameters, moved, state)

    def _keep(self, parameters: dict[str, Tensor], moved: dict[str, Tensor], state: AdamState) -> None:
        """Put what the inner loop has moved in its place."""
        parameters.update(moved)
        if self.maximiser.warm_start:
            self.learned.update(moved, state)

    def _objective(self, problem: Problem, parameters: Parameters, features: tuple[Tensor, Tensor], base: Tensor | None) -> Tensor:
        s = self.slices(problem, parameters, features, self._theta(base, parameters))
        value = self._value(s, self.objective_samples(problem), root=True)
        return value if self.penalty is None else value - self.penalty(s)

    def objective_samples(self, problem: Problem) -> float:
        """S: the scale of the distance in the objective of the inner loop."""
        return 1 if self.penalty is None else self.penalty.samples(problem.n, problem.m)

    def slices(self, problem: Problem, parameters: Parameters, features: tuple[Tensor, Tensor], theta: Tensor) -> Slices:
        """What the costs, their aggregation and a penalty depend on."""
        weights = problem.x_weights, problem.y_weights
        return Slices(self.projection, parameters, problem.x, problem.y, *features, theta, *weights, self.order)

    def _features(self, problem: Problem, parameters: Parameters) -> tuple[Tensor, Tensor]:
        return self.projection.features(problem.x, parameters), self.projection.features(problem.y, parameters)

    def _base(
        self, problem: Problem, parameters: Parameters, streams: Streams, features: tuple[Tensor, Tensor] | None = None
    ) -> Tensor | None:
        if self.directions is None:
            return None
        if not self.directions.from_samples:
            return self.directions.base(self.projection.direction_dim(problem.dim), streams)
        with torch.no_grad():
            problem = problem.detach()
            features = self._features(problem, parameters) if features is None else tuple(side.detach() for side in features)
            return self.directions.base_from(self.slices(problem, parameters, features, None), streams)

    def _theta(self, base: Tensor | None, parameters: Parameters) -> Tensor:
        own = self.projection.own_directions(parameters)
        return self.directions.theta(base, parameters) if own is None else own

    def _value(self, s: Slices, samples: float, root: bool) -> Tensor:
        """The distance of every replica, scaled by ``samples``."""
        self.aggregation.check(*s.theta.shape[1:])
        value = self.slice_cost.aggregate(s, self.aggregation)
        return self.aggregation.distance(value, self.slice_cost.count(s.theta.shape[1]), samples, self.order, root)

    def extra_repr(self) -> str:
        parts = (self.projection, self.directions, self.maximiser, self.penalty, self.aggregation, self.slice_cost)
        parts = [repr(part) for part in parts if part is not None]
        return ", ".join([*parts, f"order={self.order:g}, reduction={self.reduction!r}, root={self.root}"])
