"""Distances by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from torch import nn

from aswd.distances.augmented import Augmented, AugmentedProjection
from aswd.distances.directions import Directions, Uniform
from aswd.distances.maximiser import Maximiser
from aswd.distances.penalties import NormPenalty, Penalty
from aswd.distances.projections import Projection
from aswd.distances.sliced import SlicedDistance
from aswd.utils.checks import check_choice, nearest, shown

# The readings of the paper, where they differ. `reference`, the released code, is what the defaults of the classes say. The scale of the
# value itself (the released code sums over samples) is left at the mean there: no optimiser of the paper feels it.
READINGS: dict[str, list[tuple[type, dict[str, Any]]]] = {
    "reference": [],
    "paper": [
        (Augmented, {"activation": "relu"}),
        (NormPenalty, {"penalty_form": "moment", "objective": "mean"}),
    ],
    "algorithm1": [
        (Augmented, {"activation": "relu"}),
        (NormPenalty, {"penalty_form": "algorithm1", "objective": "sum"}),
        (AugmentedProjection, {"aggregation": "algorithm1", "reduction": "sum"}),
    ],
}

_registry: dict[str, Callable[..., nn.Module]] = {}


@dataclass(frozen=True)
class Composition:
    """A point in the space projection x directions x what is maximised; called with options, it gives the distance.

    The options of a composition are the fields of its parts and the keywords of :class:`SlicedDistance`; ``defaults`` are those that
    belong to the name.
    """

    projection: type[Projection]
    directions: type[Directions] | None = Uniform
    maximised: str | None = None
    penalised_by: type[Penalty] | None = None
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
        """Classes of the parts, under the names that :class:`SlicedDistance` has for them."""
        maximiser = Maximiser if self.maximised else None
        parts = {"projection": self.projection, "directions": self.directions, "maximiser": maximiser, "penalty": self.penalised_by}
        return {name: part for name, part in parts.items() if part is not None}

    def options(self) -> dict[str, Any]:
        """All options with their defaults."""
        return self._fields() | self.defaults

    def _fields(self) -> dict[str, Any]:
        found = {f.name: f.default for part in self.parts.values() if hasattr(part, "__dataclass_fields__") for f in fields(part)}
        keywords = inspect.signature(SlicedDistance).parameters.values()
        return found | {p.name: p.default for p in keywords if p.kind is p.KEYWORD_ONLY}

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
            names = [f.name for f in fields(part)] if hasattr(part, "__dataclass_fields__") else []
            built[name] = part(**{key: options.pop(key) for key in names if key in options})
        return SlicedDistance(**{"directions": None, **built}, maximised=self.maximised, **options)


def register(
    name: str,
    *,
    directions: type[Directions] | None = Uniform,
    maximised: str | None = None,
    penalised_by: type[Penalty] | None = None,
    **defaults: Any,
) -> Callable:
    """Make a distance known under ``name``. A decorator for

    - a :class:`Projection` class, which is composed with ``directions`` (uniform ones, if nothing is said), ``maximised`` and
      ``penalised_by``; further keywords are defaults of the composition's options;
    - anything else that gives an ``nn.Module`` when it is called with options: a module class, or a function.

    Raises:
        ValueError: the name is taken, or is not a string of letters, digits and underscores.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"a distance's name must be made of letters, digits and underscores; got {name!r}")

    def add(target: Any) -> Any:
        if name in _registry:
            raise ValueError(f"the name {name!r} is taken by another distance: choose another name")
        if isinstance(target, type) and issubclass(target, Projection):
            _registry[name] = Composition(target, directions, maximised, penalised_by, defaults)
        elif callable(target):
            _registry[name] = target
        else:
            raise ValueError(f"a distance must be a Projection class, a module class or a function; got {shown(target)} for {name!r}")
        return target

    return add


@cache
def _load_plugins() -> None:
    """Import what other packages offer under the entry point group ``aswd.distances``; importing it registers it."""
    for entry in entry_points(group="aswd.distances"):
        entry.load()


def available() -> list[str]:
    """Names of all distances, in order of registration."""
    _load_plugins()
    return list(_registry)


def options(name: str) -> dict[str, Any]:
    """The options of a distance with their defaults (those of reading ``reference``)."""
    factory = _find(name)
    return factory.options() if isinstance(factory, Composition) else dict(_signature(factory))


def build(name: str, /, *, reading: str = "reference", **given: Any) -> nn.Module:
    """The distance ``name`` with the options given.

    Args:
        name: one of :func:`available`.
        reading: ``"reference"`` (the authors' released code), ``"paper"`` (the text) or ``"algorithm1"`` (its pseudo-code): what
            the distance is where they differ.
        given: options; :func:`options` lists them. They win over the reading.

    Raises:
        ValueError: no such name, reading or option, or a value that is not allowed.
    """
    factory = _find(name)
    given = _over_reading(name, reading, given)
    distance = factory(**given)
    distance.name, distance.reading = name, reading
    distance.built_with = {**(factory.options() if isinstance(factory, Composition) else {}), **given}
    return distance


def build_options(distance: nn.Module) -> dict[str, Any] | None:
    """Name and options from which :func:`build` makes an equal ``distance``; ``None`` where that is not known.

    >>> build_options(build("wasserstein", order=1))
    {'name': 'wasserstein', 'order': 1}
    """
    built_with = getattr(distance, "built_with", None)
    return {"name": distance.name, **built_with} if isinstance(built_with, dict) and _is_plain(built_with) else None


def resolved_options(name: str, /, *, reading: str = "reference", **given: Any) -> dict[str, Any]:
    """All options of a distance as :func:`build` would have them with the same arguments."""
    return {**options(name), **_over_reading(name, reading, given)}


def _over_reading(name: str, reading: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options given, over those of the reading."""
    factory, known = _find(name), options(name)
    check_choice("reading", reading, READINGS)
    bare = isinstance(factory, type) and factory.__init__ is nn.Module.__init__  # which says that it takes anything, and does not
    takes_any = not (isinstance(factory, Composition) or bare) and any(
        p.kind is p.VAR_KEYWORD for p in inspect.signature(factory).parameters.values()
    )
    for key in given:
        if key not in known and not takes_any:
            raise ValueError(f"{name} has no option {key!r}: {nearest(key, known)}")
    return {**factory.reading(reading), **given} if isinstance(factory, Composition) else given


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(inner) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


def _find(name: str) -> Callable[..., nn.Module]:
    if name not in available():
        raise ValueError(f"there is no distance {name!r}: {nearest(name, _registry)}")
    return _registry[name]


def _signature(factory: Callable[..., nn.Module]) -> Iterator[tuple[str, Any]]:
    for parameter in inspect.signature(factory).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            yield parameter.name, None if parameter.default is parameter.empty else parameter.default
