"""Checks of options: each raises one sentence that names the option, the value and what is allowed."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from difflib import get_close_matches

import numpy as np

BOUNDS = {  # in words, and as a comparison
    "at_least": ("of at least", operator.ge),
    "above": ("above", operator.gt),
    "at_most": ("of at most", operator.le),
    "below": ("below", operator.lt),
}


def check_at_least(name: str, value: float, bound: float, *, whole: bool = False, strictly: bool = False) -> None:
    """``value`` must be a finite number (a whole one) not below, or above, ``bound``."""
    check_number(name, value, whole=whole, **{"above" if strictly else "at_least": bound})


def check_number(name: str, value: float, *, whole: bool = False, **bounds: float) -> None:
    """``value`` must be a finite number (a whole one) within ``bounds``: ``at_least``, ``above``, ``at_most`` or ``below`` a number."""
    if not is_within(value, whole, **bounds):
        raise ValueError(f"{name} must be {describe_number(whole, **bounds)}; got {shown(value)}")


def is_within(value: object, whole: bool = False, **bounds: float) -> bool:
    """Whether ``value`` is a finite number (a whole one) within ``bounds``."""
    return is_number(value, whole) and _is_finite(value) and all(BOUNDS[bound][1](value, limit) for bound, limit in bounds.items())


def describe_number(whole: bool = False, **bounds: float) -> str:
    """The numbers within ``bounds`` in words.

    >>> describe_number(at_least=0, below=1)
    'a number of at least 0 and below 1'
    """
    limits = " and ".join(f"{BOUNDS[bound][0]} {limit}" for bound, limit in bounds.items()).replace("and of", "and")
    return f"{'a whole number' if whole else 'a number'} {limits}".rstrip()


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
