"""Fields of the configuration dataclasses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, field, fields
from typing import Any


def neutral(default: Any = MISSING, *, default_factory: Callable[[], Any] | Any = MISSING) -> Any:
    """A dataclass field that does not change the numbers of a run, and is left out of its key.

    Args:
        default: value of the field where none is given.
        default_factory: makes that value, for mutable ones.

    >>> from dataclasses import dataclass, fields
    >>> @dataclass
    ... class Options:
    ...     images: bool = neutral(True)
    >>> Options().images, fields(Options)[0].metadata["neutral"]
    (True, True)
    """
    metadata = {"neutral": True}
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def options_of(config: Any) -> dict[str, Any]:
    """The options that make an equal ``config`` (a dataclass) again, by name."""
    return {f.name: getattr(config, f.name) for f in fields(config) if f.init}
