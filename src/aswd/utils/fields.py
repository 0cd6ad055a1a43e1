"""Fields of configuration dataclasses: which values they allow, and how they enter the key of a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from aswd.utils.checks import BOUNDS, check_choice, check_number, describe_number, is_within, shown

SWITCH = ("auto", "true", "false")


def option(default: Any = MISSING, *, default_factory: Any = MISSING, **rules: Any) -> Any:
    """A field with rules that :class:`Options` checks.

    Args:
        default: a list is copied for every instance.
        default_factory: instead of a default.
        rules: bounds of a number, or of every number of a list (``at_least``, ``above``, ``at_most``, ``below``); ``length`` of a list;
            ``choices``; ``path=True``: ``~`` is the home folder. ``neutral=True``: it does not change the numbers of a run, and is not
            part of its key. ``before=VALUE``: it was added later; earlier runs had this value, at which it is left out of the key.
    """
    if isinstance(default, list):
        default, default_factory = MISSING, default.copy
    return field(default=default, default_factory=default_factory, metadata=rules)


def neutral(default: Any = MISSING, **rules: Any) -> Any:
    """An :func:`option` that does not change the numbers of a run, and is not part of its key."""
    return option(default, neutral=True, **rules)


def is_in_key(item: Field, value: Any) -> bool:
    """Whether a field with this value is part of the key of a run."""
    if item.metadata.get("neutral", False):
        return False
    return "before" not in item.metadata or item.metadata["before"] != value


def options_of(config: Any) -> dict[str, Any]:
    """The options that make an equal ``config`` (a dataclass) again, by name."""
    return {f.name: getattr(config, f.name) for f in fields(config) if f.init}


class Options:
    """Base of the dataclasses of options: an instance has only values that the rules of its fields allow.

    Raises:
        ValueError: names the field, the value and what is allowed.
    """

    def __post_init__(self) -> None:
        kinds = _kinds(type(self))
        for f in fields(self):
            if f.metadata.get("choices") is SWITCH:
                setattr(self, f.name, str(getattr(self, f.name)).lower())  # also a boolean of YAML or Python
            if f.metadata.get("path") and isinstance(getattr(self, f.name), str):
                setattr(self, f.name, os.path.expanduser(getattr(self, f.name)))
            _check(f.name, getattr(self, f.name), kinds[f.name], f.metadata)


@cache
def _kinds(schema: type) -> dict[str, Any]:
    return get_type_hints(schema)


def _check(name: str, value: Any, kind: Any, rules: Mapping[str, Any]) -> None:
    parts = get_args(kind) if get_origin(kind) is not list else (kind,)
    if value is None and (kind is Any or NoneType in parts):
        return
    bounds = {bound: rules[bound] for bound in BOUNDS if bound in rules}
    whole = int in (kind, *parts)
    if "choices" in rules:
        check_choice(name, value, rules["choices"])
    elif (bounds or "length" in rules) and any(get_origin(part) is list for part in parts):
        whole, count = list[int] in parts, rules.get("length")
        fits = isinstance(value, list | tuple) and count in (None, len(value))
        if not fits or not all(is_within(v, whole, **bounds) for v in value):
            numbers = describe_number(whole, **bounds).removeprefix("a ").replace("number", "numbers")
            raise ValueError(f"{name} must be a list of {'' if count is None else f'{count} '}{numbers}; got {shown(value)}")
    elif bounds:
        check_number(name, value, whole=whole, **bounds)
