"""The evidence for claims: final values by data set and series, compared seed by seed.

Comparisons are paired by seed: the t-interval of the difference at the level :data:`CONFIDENCE` decides, and never fewer than
:data:`MIN_SEEDS` seeds: final values have heavy tails (a run that is stuck is orders of magnitude away), which few seeds do not show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aswd.artifacts.cells import Cell
from aswd.config.targets import import_target
from aswd.utils.checks import nearest
from aswd.utils.errors import UserError
from aswd.utils.statistics import mean_and_band

CONFIDENCE = 0.95  # of the intervals by which claims are judged
MIN_SEEDS = 5
HOLDS, FAILS, OPEN, NONE = "holds", "does not hold", "not decided", "no verdict"
_WORDS = {True: HOLDS, False: FAILS, None: OPEN}


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, and the numbers behind it."""

    claim: str
    text: str
    verdict: str
    numbers: str


class Evidence:
    """Final values of the cells of an artifact, by data set and label, and their comparisons.

    Args:
        cells: of the artifact.
        metric: its own metric, the default of all comparisons.
    """

    def __init__(self, cells: Sequence[Cell], metric: str) -> None:
        self.cells, self.metric = list(cells), metric
        self.data = list(dict.fromkeys(cell.data for cell in cells))
        self.labels = list(dict.fromkeys(cell.label for cell in cells))
        self._finals: dict[str, dict[tuple[str, str], dict[int, float]]] = {}

    def finals(self, data: str, label: str, metric: str | None = None) -> dict[int, float]:
        """The final value of every seed of a cell.

        Raises:
            KeyError: the artifact has no such cell.
        """
        metric = metric or self.metric
        if metric not in self._finals:
            self._finals[metric] = {(cell.data, cell.label): cell.finals(metric) for cell in self.cells}
        if (data, label) not in self._finals[metric]:
            raise KeyError(f"no series {label!r} on {data}")
        return self._finals[metric][data, label]

    def difference(self, data: str, first: str, second: str, metric: str | None = None) -> tuple[float, float, float] | None:
        """Mean of first minus second over the seeds that both have, and the ends of its interval; ``None`` with too few."""
        values, others = (self.finals(data, label, metric) for label in (first, second))
        differences = np.array([values[seed] - others[seed] for seed in sorted(set(values) & set(others))])
        if len(differences) < MIN_SEEDS or not np.isfinite(differences).all():
            return None
        return tuple(float(value) for value in mean_and_band(differences, confidence=CONFIDENCE))

    def below(self, data: str, first: str, second: str, metric: str | None = None) -> bool | None:
        """Whether first ends below second; ``None`` if the interval contains zero."""
        interval = self.difference(data, first, second, metric)
        if interval is None or interval[1] <= 0 <= interval[2]:
            return None
        return interval[2] < 0

    def within(self, data: str, first: str, second: str, margin: float, metric: str | None = None) -> bool | None:
        """Whether the two end within ``margin`` of each other; ``None`` if the interval contains an end of that range."""
        interval = self.difference(data, first, second, metric)
        if interval is None:
            return None
        _, low, high = interval
        return True if low > -margin and high < margin else False if low > margin or high < -margin else None

    def mean(self, data: str, label: str, metric: str | None = None) -> float:
        """Mean over the seeds that are done; NaN if there are none."""
        values = list(self.finals(data, label, metric).values())
        return float(np.mean(values)) if values else float("nan")


def every(answers: list[bool | None]) -> bool | None:
    """Whether all answers are true: false if one is false, else ``None`` if one is not decided or there are none."""
    return False if any(a is False for a in answers) else None if any(a is None for a in answers) or not answers else True


def share(answers: dict[str, bool | None], needed: int) -> tuple[str, str]:
    """Verdict and numbers of a claim that must hold on ``needed`` of the data sets."""
    yes, no = (sum(answer is wanted for answer in answers.values()) for wanted in (True, False))
    verdict = HOLDS if yes >= needed else FAILS if len(answers) - no < needed else OPEN
    words = {True: "yes", False: "no", None: "not decided"}
    listed = ", ".join(f"{data}: {words[answer]}" for data, answer in answers.items())
    return verdict, f"{yes} of {len(answers)} yes, {no} no, {needed} needed ({listed})"


def first_at(cell: Cell, metric: str, level: float) -> dict[int, float]:
    """For every seed the first iteration at which the metric is at or below ``level``; infinite if it never is."""
    curves = cell.curves(metric)
    if curves is None:
        return {}
    steps, values = curves
    reached = values <= level
    return dict(zip(cell.done, np.where(reached.any(0), steps[reached.argmax(0)], np.inf), strict=True))


def sooner(ours: dict[int, float], theirs: dict[int, float]) -> bool | None:
    """Whether ours is no later in every seed; ``None`` if seeds disagree or are too few."""
    pairs = [(ours[seed], theirs[seed]) for seed in set(ours) & set(theirs)]
    if len(pairs) < MIN_SEEDS:
        return None
    return True if all(a <= b and np.isfinite(a) for a, b in pairs) else False if all(a > b for a, b in pairs) else None


Judgement = Callable[[Evidence], tuple[Any, str]]  # (verdict, numbers); the verdict may be True, False or None


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


def judge(names: Iterable[str], cells: Sequence[Cell], metric: str, file: str = "claims") -> list[Verdict]:
    """The verdicts on some claims.

    Args:
        names: of the claims.
        cells: of the artifact.
        metric: the artifact's own.
        file: where the names are from, for messages.
    """
    evidence = Evidence(cells, metric)
    return [_judge(load_claim(name, file), evidence) for name in names]


def _judge(claim: Claim, evidence: Evidence) -> Verdict:
    """A claim that cannot be judged, for want of a series that it compares, is not decided: the figure is drawn all the same."""
    try:
        verdict, numbers = claim.judgement(evidence)
    except Exception as error:
        return Verdict(claim.name, claim.text, OPEN, f"cannot be judged: {type(error).__name__}: {error}")
    verdict = _WORDS[verdict] if verdict is None or isinstance(verdict, bool | np.bool_) else verdict
    if verdict not in _WORDS.values():
        return Verdict(
            claim.name, claim.text, OPEN, f"cannot be judged: a verdict must be one of {', '.join(_WORDS.values())}; got {verdict!r}"
        )
    return Verdict(claim.name, claim.text, verdict, str(numbers))
