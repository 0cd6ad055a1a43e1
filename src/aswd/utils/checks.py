"""Checks of options: each raises one sentence that names the option, the value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches

import numpy as np


def check_at_least(name: str, value: float, bound: float, *, whole: bool = False, strictly: bool = False) -> None:
    """``value`` must be a finite number (a whole one) not below, or above, ``bound``."""
    kind = "a whole number" if whole else "a number"
    if not is_number(value, whole) or not _is_finite(value) or value < bound or (strictly and value == bound):
        raise ValueError(f"{name} must be {kind} {'above' if strictly else 'of at least'} {bound}; got {shown(value)}")


def is_number(value: object, whole: bool = False) -> bool:
    """Whether torch takes it for a number (a whole one); fractions and the like it does not."""
    kinds = (int, np.integer) if whole else (int, np.integer, float, np.floating)
    return isinstance(value, kinds) and not isinstance(value, bool)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # of a whole number beyond all others
        return False


def shown(value: object) -> str:
    """A value as a sentence can have it: on one line, and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else f"{text[:100]}..."


def check_choice(name: str, value: object, choices: Iterable[object]) -> None:
    """``value`` must be one of ``choices``."""
    choices = list(choices)
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {shown(value)}")


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name: the known ones that begin with it, or else the nearest, or all of them where none is near."""
    known, text = sorted(known), str(name).lower()
    close = [one for one in known if text and one.startswith(text)][:8] or get_close_matches(text, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"known are: {', '.join(known) or 'none'}"
