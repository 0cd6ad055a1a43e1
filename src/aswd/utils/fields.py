"""Fields of configuration dataclasses that say how they enter the key of a run."""

from __future__ import annotations

from dataclasses import MISSING, Field, field, fields
from typing import Any


def neutral(default: Any = MISSING, *, default_factory: Any = MISSING) -> Any:
    """A field that does not change the numbers of a run, and is no part of its key."""
    return field(default=default, default_factory=default_factory, metadata={"neutral": True})


def added(default: Any, *, before: Any) -> Any:
    """A field that was added later; runs of before had the value ``before``, and at that value the field is left out of the key."""
    return field(default=default, metadata={"before": before})


def is_in_key(item: Field, value: Any) -> bool:
    """Whether a field with this value is part of the key of a run."""
    if item.metadata.get("neutral", False):
        return False
    return "before" not in item.metadata or item.metadata["before"] != value


def options_of(config: Any) -> dict[str, Any]:
    """The options that make an equal ``config`` (a dataclass) again, by name."""
    return {f.name: getattr(config, f.name) for f in fields(config) if f.init}
