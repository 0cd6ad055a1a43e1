"""The metric by which runs are compared, as their records have it."""

from __future__ import annotations

from typing import Any


def headline_of(result: dict[str, Any]) -> str | None:
    """Its name."""
    logs = [name.removeprefix("log10_") for name in result.get("final", {}) if name.startswith("log10_")]
    return result.get("headline") or (logs[0] if logs else None)


def shown_headline(result: dict[str, Any]) -> tuple[str, float]:
    """Name and final value of the headline as it is reported: its logarithm, if the task has one.

    >>> shown_headline({"headline": "w2", "final": {"w2": 0.1, "log10_w2": -1.0}})
    ('log10_w2', -1.0)
    """
    name, final = headline_of(result), result["final"]
    shown = f"log10_{name}" if f"log10_{name}" in final else str(name)
    return shown, float(final[shown])
