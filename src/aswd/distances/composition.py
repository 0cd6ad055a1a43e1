"""A distance as a point in the space projection x directions x what is maximised x aggregation x slice cost."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, get_type_hints

from aswd.distances.aggregations import Aggregation, Softmax
from aswd.distances.augmented import Augmented, AugmentedProjection
from aswd.distances.directions import Directions, Uniform
from aswd.distances.maximiser import Maximiser
from aswd.distances.parts import PARTS, part_class
from aswd.distances.penalties import NormPenalty, Penalty
from aswd.distances.projections import Projection
from aswd.distances.slice_costs import SliceCost
from aswd.distances.sliced import SlicedDistance
from aswd.utils.checks import nearest

# The readings of the paper, where they differ. The defaults of the classes are `reference`, the released code, except for the scale of
# the value itself (the released code sums over samples), which stays a mean: no optimiser of the paper depends on it.
READINGS: dict[str, list[tuple[type, dict[str, Any]]]] = {
    "reference": [],
    "paper": [
        (Augmented, {"activation": "relu"}),
        (NormPenalty, {"penalty_form": "moment", "objective": "mean"}),
        (Softmax, {"energy_scale": "mean"}),  # the EBSW paper; its released code sums over the samples
    ],
    "algorithm1": [
        (Augmented, {"activation": "relu"}),
        (NormPenalty, {"penalty_form": "algorithm1", "objective": "sum"}),
        (AugmentedProjection, {"aggregation": "algorithm1", "reduction": "sum"}),
    ],
}


@dataclass(frozen=True)
class Composition:
    """Classes of the parts of a distance; called with options, it builds the distance.

    The options of a composition are the fields of its parts and the keywords of :class:`SlicedDistance`.

    Args:
        projection: class of p.
        directions: class of the directions; ``None`` for a projection that has its own.
        maximised: ``"projection"``, ``"directions"`` or ``None``.
        penalised_by: class of the penalty in the objective of the inner loop.
        aggregation, slice_cost: classes whose fields become options; ``None``: chosen by the options of these names.
        defaults: of options, where they differ from those of the parts.

    Raises:
        ValueError: parts that do not fit together, or a default of an unknown option.
    """

    projection: type[Projection]
    directions: type[Directions] | None = Uniform
    maximised: str | None = None
    penalised_by: type[Penalty] | None = None
    aggregation: type[Aggregation] | None = None
    slice_cost: type[SliceCost] | None = None
    defaults: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key in self.defaults:
            if key not in self._fields():
                raise ValueError(f"the composition has no option {key!r} to give a default to: {nearest(key, self._fields())}")
        if self.maximised == "directions" and not getattr(self.directions, "parameter_names", ()):
            name = getattr(self.directions, "__name__", None)
            raise ValueError(f"maximised='directions' needs directions with parameters, such as Single or PushForward; got {name}")
        if self.maximised == "projection" and self.projection.initialise is Projection.initialise:
            raise ValueError(
                f"maximised='projection' needs a projection with parameters; {self.projection.__name__} does not initialise any"
            )
        if self.directions is None and self.projection.own_directions is Projection.own_directions:
            raise ValueError(f"directions=None needs a projection with directions of its own; {self.projection.__name__} has none")

    @property
    def parts(self) -> dict[str, type]:
        """Classes of the parts, by the names of the arguments of :class:`SlicedDistance`."""
        maximiser = Maximiser if self.maximised else None
        parts = {"projection": self.projection, "directions": self.directions, "maximiser": maximiser, "penalty": self.penalised_by}
        parts |= {"aggregation": self.aggregation, "slice_cost": self.slice_cost}
        return {name: part for name, part in parts.items() if part is not None}

    def options(self) -> dict[str, Any]:
        """All options with their defaults."""
        return self._fields() | self.defaults

    def option_types(self) -> dict[str, Any]:
        """All options with their type annotations, ``Any`` where there is none."""
        keywords = type_hints(SlicedDistance.__init__)
        types = {name: type_hints(part).get(name, Any) for part in self.parts.values() for name in _field_defaults(part)}
        return types | {name: keywords.get(name, Any) for name in _keyword_defaults() if name not in self.parts}

    def added_options(self) -> dict[str, Any]:
        """Options that were added later, with the values that runs of before had."""
        of_parts = (f for part in self.parts.values() if is_dataclass(part) for f in fields(part) if "before" in f.metadata)
        return {"slice_cost": "sorted", **{f.name: f.metadata["before"] for f in of_parts}}

    def axes(self) -> tuple[str, str, str, str, str]:
        """Projection, directions, what is maximised, aggregation and slice cost, in words."""
        options = self.options()
        directions = "own" if self.directions is None else _words(self.directions)
        sampling = options.get("sampling", "random")
        if sampling != "random":
            directions = f"{sampling['name'] if isinstance(sampling, Mapping) else sampling}, {options['randomisation']}"
        aggregation = _words(self.aggregation) if self.aggregation else options["aggregation"]
        slice_cost = _words(self.slice_cost) if self.slice_cost else options["slice_cost"]
        return _words(self.projection), directions, self.maximised or "", str(aggregation), str(slice_cost)

    def chosen_parts(self, options: Mapping[str, Any]) -> list[type]:
        """Classes of all parts, those that the options name included."""
        named = (part_class(option, (self.options() | dict(options)).get(option)) for option in PARTS)
        return [*self.parts.values(), *(part for part in named if part is not None)]

    def _fields(self) -> dict[str, Any]:
        defaults = {name: default for part in self.parts.values() for name, default in _field_defaults(part).items()}
        return defaults | {name: default for name, default in _keyword_defaults().items() if name not in self.parts}

    def reading(self, name: str) -> dict[str, Any]:
        """The options that a reading of the paper sets for this distance."""
        settings: dict[str, Any] = {}
        for part, values in READINGS[name]:
            if any(issubclass(own, part) for own in self.parts.values()):
                settings |= values
        return {key: value for key, value in settings.items() if key in self.options()}

    def __call__(self, **options: Any) -> SlicedDistance:
        options = {**self.defaults, **options}
        built = {}
        for name, part in self.parts.items():
            built[name] = part(**{key: options.pop(key) for key in _field_defaults(part) if key in options})
        return SlicedDistance(**{"directions": None, **built}, maximised=self.maximised, **options)


def _words(part: type) -> str:
    """The name of a part's class in words: ``"push forward"`` for ``PushForward``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", part.__name__).lower()


def _field_defaults(part: type) -> dict[str, Any]:
    """The options of a part and their defaults: its fields, if it is a dataclass."""
    return {f.name: f.default for f in fields(part)} if is_dataclass(part) else {}


def _keyword_defaults() -> dict[str, Any]:
    parameters = inspect.signature(SlicedDistance).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def type_hints(target: Any) -> dict[str, Any]:
    """Resolved annotations of a class or function; empty where they name something that is not defined at run time."""
    try:
        return get_type_hints(target)
    except (NameError, TypeError, AttributeError):
        return {}
