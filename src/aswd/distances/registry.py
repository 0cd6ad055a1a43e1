"""Distances by name."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torch import nn

from aswd.distances.aggregations import Aggregation
from aswd.distances.composition import READINGS, Composition, type_hints
from aswd.distances.directions import Directions, Uniform
from aswd.distances.exact import Wasserstein
from aswd.distances.outside import FunctionDistance, OutsideDistance
from aswd.distances.parts import PARTS, Part
from aswd.distances.penalties import Penalty
from aswd.distances.projections import Projection
from aswd.distances.slice_costs import SliceCost
from aswd.distances.sliced import SlicedDistance
from aswd.utils.checks import check_choice, nearest, shown
from aswd.utils.plugins import load_entry_points, plugin_info

_CALL_ARGUMENTS = ("x", "y", "x_weights", "y_weights", "directions")  # of a distance's call, as opposed to options


class Registration(NamedTuple):
    """What a name stands for."""

    target: Any  # the class or function that was registered
    factory: Callable[..., nn.Module]  # called with options
    parameters: dict[str, inspect.Parameter]  # its options; none for a composition, which knows them itself
    module: str  # that registered it
    file: str | None  # of that module
    about: str  # one line for listings


_registry: dict[str, Registration] = {}


def register(
    name: str,
    *,
    about: str = "",
    directions: type[Directions] | None = Uniform,
    maximised: str | None = None,
    penalised_by: type[Penalty] | None = None,
    aggregation: type[Aggregation] | None = None,
    slice_cost: type[SliceCost] | None = None,
    **defaults: Any,
) -> Callable:
    """Make a distance, or a part of distances, known under ``name``. A decorator for

    - a :class:`Projection` class, which is composed with ``directions`` (default: uniform ones), ``maximised``, ``penalised_by``,
      ``aggregation`` and ``slice_cost``; further keywords are defaults of the composition's options;
    - an :class:`Aggregation`, :class:`SliceCost` or :class:`PointSet` class, which becomes a value of the option ``aggregation``,
      ``slice_cost`` or ``sampling`` of every sliced distance;
    - a module class, whose constructor's arguments are the options, or a function of options that returns a module;
      see :class:`~aswd.distances.outside.OutsideDistance` for how the module is called;
    - a function ``f(x, y, **options)`` that returns the distance itself.

    ``about`` is one line for listings. A module that is imported again (reloaded) replaces what it registered before.

    Raises:
        ValueError: the name is not an identifier or is registered by another module, or the target cannot be called with options.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"a distance's name must be made of letters, digits and underscores; got {name!r}")
    caller = sys._getframe(1)
    module, file = caller.f_globals.get("__name__", "__main__"), caller.f_globals.get("__file__")

    def add(target: Any) -> Any:
        if isinstance(target, type) and issubclass(target, Part):
            taken = PARTS[target.option].get(name)
            if taken is not None and taken.__module__ != target.__module__:
                raise ValueError(f"the name {name!r} is taken by the {target.option} of {taken.__module__}: choose another name")
            PARTS[target.option][name] = target
            return target
        taken = _registry.get(name)
        if taken is not None and taken.module != module and (taken.file is None or taken.file != file):
            raise ValueError(f"the name {name!r} is taken by the distance that {taken.module} registers: choose another name in {module}")
        if isinstance(target, type) and issubclass(target, Projection):
            composition = Composition(target, directions, maximised, penalised_by, aggregation, slice_cost, defaults)
            _registry[name] = Registration(target, composition, {}, module, file, about)
        else:
            parts = {"maximised": maximised, "penalised_by": penalised_by, "aggregation": aggregation, "slice_cost": slice_cost}
            unused = [*defaults, *(key for key, value in parts.items() if value is not None)]
            if unused:
                raise ValueError(f"register({name!r}, {unused[0]}=...) needs a Projection class; got {shown(target)}")
            _registry[name] = Registration(target, *_outside(name, target), module, file, about)
        return target

    return add


def _outside(name: str, target: Any) -> tuple[Callable[..., nn.Module], dict[str, inspect.Parameter]]:
    """The factory that a target from outside is, and its options."""
    if not callable(target) or isinstance(target, nn.Module):
        raise ValueError(f"a distance must be a Projection class, a module class or a function; got {shown(target)} for {name!r}")
    try:
        parameters = dict(inspect.signature(target).parameters)
    except (TypeError, ValueError):
        raise ValueError(f"the options of the distance {name!r} must be named arguments; {shown(target)} has no signature") from None
    if isinstance(target, type) and target.__init__ is nn.Module.__init__:
        parameters = {}  # nn.Module's own constructor claims to take anything, and does not
    factory = target
    if list(parameters)[:2] == ["x", "y"] and all(parameters[key].default is inspect.Parameter.empty for key in "xy"):
        parameters = {key: parameter for key, parameter in parameters.items() if key not in _CALL_ARGUMENTS}

        def factory(**options: Any) -> FunctionDistance:
            return FunctionDistance(target, options)

    for key, parameter in parameters.items():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ValueError(f"the options of the distance {name!r} must be named arguments; got {key!r}, which is positional only")
    return factory, parameters


def available() -> list[str]:
    """Names of all distances, in order of registration; those of installed plug-ins included."""
    load_entry_points()
    return list(_registry)


def registrations() -> dict[str, Registration]:
    """What all names stand for; a name that is registered again has another object."""
    load_entry_points()
    return dict(_registry)


def options(name: str) -> dict[str, Any]:
    """The options of a distance with their defaults (those of reading ``reference``); ``None`` for an option that has no default."""
    entry = _find(name)
    if isinstance(entry.factory, Composition):
        return entry.factory.options()
    return {key: None if p.default is p.empty else p.default for key, p in _named(entry.parameters).items()}


def option_types(name: str) -> dict[str, Any]:
    """The options of a distance with their type annotations, resolved; ``Any`` where there is none.

    >>> option_types("swd")["num_projections"]
    <class 'int'>
    """
    entry = _find(name)
    if isinstance(entry.factory, Composition):
        return entry.factory.option_types()
    hints = type_hints(entry.target.__init__ if isinstance(entry.target, type) else entry.target)
    return {key: hints.get(key, Any) for key in _named(entry.parameters)}


def about(name: str) -> str:
    """One line on a distance: what it was registered with, or which module registered it."""
    entry = _find(name)
    return entry.about or f"registered by {entry.module}"


def axes(name: str) -> tuple[str, str, str, str, str]:
    """Projection, directions, what is maximised, aggregation and slice cost of a distance, in words; empty where it is not made of them."""
    entry = _find(name)
    return entry.factory.axes() if isinstance(entry.factory, Composition) else ("",) * 5


def origin(name: str) -> str:
    """Name of the module that registered a distance."""
    return _find(name).module


def added_options(name: str) -> dict[str, Any]:
    """The options of a distance that were added later, with the values that runs of before had: at these they change no key."""
    entry = _find(name)
    return entry.factory.added_options() if isinstance(entry.factory, Composition) else {}


def distance_info(name: str, given: Mapping[str, Any] | None = None) -> dict[str, str | None] | None:
    """What the code of a distance from outside is, as :func:`aswd.utils.plugins.plugin_info` has it; ``None`` for one of aswd's own.

    It covers the module that registered the distance and those that define its parts, also where options in ``given`` choose them.
    """
    entry = _find(name)
    parts = entry.factory.chosen_parts(given or {}) if isinstance(entry.factory, Composition) else [entry.target]
    return plugin_info(entry.module, *parts)


def build(name: str, /, *, reading: str = "reference", **given: Any) -> nn.Module:
    """The distance ``name`` with the options given.

    Args:
        name: one of :func:`available`.
        reading: ``"reference"`` (the authors' released code), ``"paper"`` (the text) or ``"algorithm1"`` (its pseudo-code): which of
            them to follow where they differ.
        given: options; :func:`options` lists them. They win over the reading.

    Returns:
        A module to be called with ``x [..., N, d]`` and ``y [..., M, d]``, with attributes ``name``, ``reading`` and ``supports_replicas``:
        whether leading dimensions are evaluated as one batch of independent problems, each with its own seed.

    Raises:
        ValueError: no such name, reading or option, or a value that is not allowed.
    """
    entry = _find(name)
    given = _over_reading(name, reading, given)
    missing = [key for key, p in _named(entry.parameters).items() if p.default is p.empty and key not in given]
    if missing:
        raise ValueError(f"{name} needs a value for the option {missing[0]!r}, which has no default")
    distance = entry.factory(**given) if isinstance(entry.factory, Composition) else _build_outside(name, entry, given)
    distance.name, distance.reading = name, reading
    distance.built_with = {**(entry.factory.options() if isinstance(entry.factory, Composition) else {}), **given}
    return distance


def build_options(distance: nn.Module) -> dict[str, Any] | None:
    """Name and options from which :func:`build` makes an equal ``distance``; ``None`` where that is not known.

    >>> build_options(build("wasserstein", order=1))
    {'name': 'wasserstein', 'order': 1}
    """
    built_with = getattr(distance, "built_with", None)
    return {"name": distance.name, **built_with} if isinstance(built_with, dict) and _is_plain(built_with) else None


def _build_outside(name: str, entry: Registration, given: dict[str, Any]) -> nn.Module:
    seed = given.get("seed")
    if isinstance(seed, list | tuple) and len(seed) == 1 and not getattr(entry.target, "supports_replicas", False):
        given = {**given, "seed": seed[0]}  # a module that knows nothing of replicas takes a number
    module = entry.factory(**given)
    if not isinstance(module, nn.Module):
        raise ValueError(f"the distance {name!r} must be a torch.nn.Module; its factory returned {shown(module)}")
    if isinstance(module, SlicedDistance | Wasserstein):
        return module
    if isinstance(seed, list | tuple) and len(seed) > 1 and not getattr(module, "supports_replicas", False):
        raise ValueError(f"seed must be one whole number for {name}, which evaluates one replica at a time; got {shown(seed)}")
    return OutsideDistance(name, module)


def resolved_options(name: str, /, *, reading: str = "reference", **given: Any) -> dict[str, Any]:
    """All options of a distance as :func:`build` would have them with the same arguments."""
    return {**options(name), **_over_reading(name, reading, given)}


def _over_reading(name: str, reading: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options given, over those of the reading."""
    entry, known = _find(name), options(name)
    check_choice("reading", reading, READINGS)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in entry.parameters.values())
    for key in given:
        if key not in known and not takes_any:
            raise ValueError(f"{name} has no option {key!r}: {nearest(key, known)}")
    return {**entry.factory.reading(reading), **given} if isinstance(entry.factory, Composition) else given


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(inner) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


def _find(name: str) -> Registration:
    if name not in available():
        raise ValueError(f"there is no distance {name!r}: {nearest(name, _registry)}")
    return _registry[name]


def _named(parameters: dict[str, inspect.Parameter]) -> dict[str, inspect.Parameter]:
    return {key: p for key, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
