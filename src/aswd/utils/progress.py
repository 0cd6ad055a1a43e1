"""Bars for what takes a while: one look, with rate and remaining time, in a terminal only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

LOOK: dict[str, Any] = {"leave": False, "delay": 1, "mininterval": 0.5, "dynamic_ncols": True, "disable": None}  # None: not in a terminal


def progress_bar(over: Iterable | None = None, *, what: str = "", unit: str, **options: Any) -> tqdm:
    """A bar on stderr that appears after a second, and leaves nothing.

    Args:
        over: what is iterated over; without it, the caller updates a bar of ``total=N``.
        what: it does, before the bar.
        unit: what is counted.
        **options: others of tqdm.
    """
    return tqdm(over, desc=what, unit=unit, **{**LOOK, **options})
