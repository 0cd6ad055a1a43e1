"""Names that stand for code which is imported only when it is needed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any


def import_objects(place: str) -> list[Any]:
    """What ``"module:name:name"`` names."""
    module, *names = place.split(":")
    content = import_module(module)
    return [getattr(content, name) for name in names]


def call_with(target: Callable, options: dict[str, Any], **context: Any) -> Any:
    """Call ``target`` with its options and with what it takes of the context.

    ``name`` among the options is only what a configuration calls the object: it is passed on if there is a parameter for it.
    """
    parameters = inspect.signature(target).parameters.values()
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    known = {p.name for p in parameters}
    given = {name: value for name, value in options.items() if name != "name" or "name" in known or takes_any}
    return target(**{name: value for name, value in context.items() if name in known or takes_any}, **given)
