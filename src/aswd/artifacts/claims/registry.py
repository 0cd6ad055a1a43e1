"""Claims by name, and their verdicts on the evidence of an artifact."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aswd.artifacts.claims.answers import FAILS, HOLDS, OPEN, Answer, conclude
from aswd.artifacts.claims.evidence import Evidence
from aswd.config.targets import import_target
from aswd.utils.checks import nearest
from aswd.utils.errors import UserError

_WORDS = {True: HOLDS, False: FAILS, None: OPEN}

Judgement = Callable[[Evidence], Any]  # -> Answer, or (verdict, numbers); the verdict may be True, False or None


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, and the numbers behind it."""

    claim: str
    text: str
    verdict: str
    numbers: str


@dataclass(frozen=True)
class Claim:
    """A claim: its name, what it says, and the function that judges it."""

    name: str
    text: str
    judgement: Judgement


CLAIMS: dict[str, Claim] = {}


def claim(name: str, text: str) -> Callable[[Judgement], Judgement]:
    """A decorator that registers a function from evidence to a verdict and its numbers as the claim ``name``, which says ``text``.

    Raises:
        ValueError: the name is taken by a claim of another module.
    """

    def add(judgement: Judgement) -> Judgement:
        taken = CLAIMS.get(name)
        if taken is not None and taken.judgement.__module__ != judgement.__module__:
            raise ValueError(f"the name {name!r} is taken by the claim of {taken.judgement.__module__}: choose another name")
        CLAIMS[name] = Claim(name, text, judgement)
        return judgement

    return add


def load_claim(name: str, file: str) -> Claim:
    """The claim ``name``: a registered one, or the dotted name of a function of the evidence, whose docstring says what is claimed.

    Args:
        name: of the claim.
        file: where the name is from, for messages.

    Raises:
        UserError: there is no such claim, or it cannot be imported.
    """
    if name in CLAIMS:
        return CLAIMS[name]
    if "." not in name:
        raise UserError(
            f"{file}: claims must be known, or name functions of yours, as in my_module.my_claim; got {name!r}: {nearest(name, CLAIMS)}"
        )
    function = import_target(f"{file}: claims", name)
    if not callable(function):
        raise UserError(f"{file}: claims must name functions of the evidence; got {name!r}")
    registered = [each for each in CLAIMS.values() if each.judgement is function]
    short = name.rpartition(".")[2]
    text = (function.__doc__ or short).strip().splitlines()[0]
    return registered[0] if registered else Claim(short, text, function)


def judge(names: Iterable[str], evidence: Evidence, file: str = "claims") -> list[Verdict]:
    """The verdicts on some claims.

    Args:
        names: of the claims.
        evidence: for them.
        file: where the names are from, for messages.
    """
    return [_judge(load_claim(name, file), evidence) for name in names]


def _judge(claim: Claim, evidence: Evidence) -> Verdict:
    """A claim that cannot be judged, for want of a series that it compares, is not decided: the figure is drawn all the same."""
    try:
        result = claim.judgement(evidence)
        verdict, numbers = conclude(result) if isinstance(result, Answer) else result
    except Exception as error:
        return Verdict(claim.name, claim.text, OPEN, f"cannot be judged: {type(error).__name__}: {error}")
    verdict = _WORDS[verdict] if verdict is None or isinstance(verdict, bool | np.bool_) else verdict
    if verdict not in _WORDS.values():
        return Verdict(
            claim.name, claim.text, OPEN, f"cannot be judged: a verdict must be one of {', '.join(_WORDS.values())}; got {verdict!r}"
        )
    return Verdict(claim.name, claim.text, verdict, str(numbers))
