"""Names that stand for code which is imported only when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_objects(place: str) -> list[Any]:
    """What ``"module:name:name"`` names."""
    module, *names = place.split(":")
    found = import_module(module)
    return [getattr(found, name) for name in names]
