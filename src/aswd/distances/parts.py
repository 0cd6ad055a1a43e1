"""Aggregations, slice costs and samplings by name: the parts of a distance that an option can exchange."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

from aswd.utils.checks import check_choice, nearest

PARTS: dict[str, dict[str, type[Part]]] = {"aggregation": {}, "slice_cost": {}, "sampling": {}}


class Part:
    """Base of what :func:`~aswd.distances.registry.register` knows by name as a value of :attr:`option`; a dataclass if it has options."""

    option: ClassVar[str]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def part_class(option: str, given: Any) -> type[Part] | None:
    """The class of a part given by its name or as a mapping with its ``name``, if there is one."""
    name = given.get("name") if isinstance(given, Mapping) else given
    return PARTS[option].get(name) if isinstance(name, str) else None


def build_part(option: str, given: Any) -> Any:
    """The part that an option stands for.

    Args:
        option: ``"aggregation"``, ``"slice_cost"`` or ``"sampling"``.
        given: a name, a mapping with a ``name`` and options of that part, or a part.

    Raises:
        ValueError: no such part, or no such option of it.
    """
    if isinstance(given, Part) and given.option == option:
        return given
    name, options = given, {}
    if isinstance(given, Mapping):
        options = dict(given)
        name = options.pop("name", None)
    check_choice(f"{option}.name" if isinstance(given, Mapping) else option, name, PARTS[option])
    chosen = PARTS[option][name]
    known = [f.name for f in fields(chosen)] if is_dataclass(chosen) else []
    for key in options:
        if key not in known:
            raise ValueError(f"{option}.{key} is not an option of {name}: {nearest(key, known) if known else 'it has none'}")
    return chosen(**options)
