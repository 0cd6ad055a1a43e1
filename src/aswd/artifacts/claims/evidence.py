"""What claims are judged by: final values by data and series, compared seed by seed.

Comparisons are paired by seed: the 95 % t-interval of the difference decides, and nothing is decided on a single seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aswd.artifacts.cells import Cell
from aswd.utils.statistics import mean_and_band

HOLDS, FAILS, OPEN = "holds", "does not hold", "not decided"


@dataclass(frozen=True)
class Verdict:
    """What became of a claim, and the numbers that say so."""

    claim: str
    text: str
    verdict: str
    numbers: str


class Evidence:
    """Final values of the cells of an artifact, by data and label, and their comparisons."""

    def __init__(self, found: list[Cell], metric: str) -> None:
        self.cells, self.metric = found, metric
        self.data = list(dict.fromkeys(cell.data for cell in found))
        self.labels = list(dict.fromkeys(cell.label for cell in found))
        self._finals: dict[str, dict[tuple[str, str], dict[int, float]]] = {}

    def finals(self, data: str, label: str, metric: str | None = None) -> dict[int, float]:
        """The final value of every seed of a cell; of the artifact's own metric, if nothing is said."""
        metric = metric or self.metric
        if metric not in self._finals:
            self._finals[metric] = {(cell.data, cell.label): cell.finals(metric) for cell in self.cells}
        return self._finals[metric][data, label]

    def difference(self, data: str, first: str, second: str, metric: str | None = None) -> tuple[float, float, float] | None:
        """Mean of first minus second over the seeds that both have, and the ends of its interval; ``None`` below two seeds."""
        one, other = (self.finals(data, label, metric) for label in (first, second))
        values = np.array([one[seed] - other[seed] for seed in sorted(set(one) & set(other))])
        if len(values) < 2 or not np.isfinite(values).all():
            return None
        return tuple(float(value) for value in mean_and_band(values))

    def below(self, data: str, first: str, second: str, metric: str | None = None) -> bool | None:
        """Whether first ends below second; ``None`` where the seeds do not say."""
        found = self.difference(data, first, second, metric)
        if found is None or found[1] <= 0 <= found[2]:
            return None
        return found[2] < 0

    def within(self, data: str, first: str, second: str, margin: float, metric: str | None = None) -> bool | None:
        """Whether the two end within ``margin`` of each other."""
        found = self.difference(data, first, second, metric)
        if found is None:
            return None
        _, low, high = found
        return True if low > -margin and high < margin else False if low > margin or high < -margin else None

    def mean(self, data: str, label: str, metric: str | None = None) -> float:
        """Mean over the seeds that are done; NaN before any is."""
        values = list(self.finals(data, label, metric).values())
        return float(np.mean(values)) if values else float("nan")


def every(answers: list[bool | None]) -> bool | None:
    """Whether all are true; not decided as long as one is not, and none is false."""
    return False if any(a is False for a in answers) else None if any(a is None for a in answers) or not answers else True


def share(answers: dict[str, bool | None], needed: int) -> tuple[str, str]:
    """A claim on ``needed`` of the data sets."""
    yes, no = (sum(answer is wanted for answer in answers.values()) for wanted in (True, False))
    verdict = HOLDS if yes >= needed else FAILS if len(answers) - no < needed else OPEN
    words = {True: "yes", False: "no", None: "not decided"}
    listed = ", ".join(f"{data}: {words[answer]}" for data, answer in answers.items())
    return verdict, f"{yes} of {len(answers)} yes, {no} no, {needed} needed ({listed})"


def first_at(cell: Cell, metric: str, level: float) -> dict[int, float]:
    """For every seed the first iteration at which the metric is at or below ``level``; infinite where it is not reached."""
    curves = cell.curves(metric)
    if curves is None:
        return {}
    steps, values = curves
    reached = values <= level
    return dict(zip(cell.done, np.where(reached.any(0), steps[reached.argmax(0)], np.inf), strict=True))


def sooner(ours: dict[int, float], theirs: dict[int, float]) -> bool | None:
    """Whether ours is no later in every seed; not decided where seeds differ."""
    pairs = [(ours[seed], theirs[seed]) for seed in set(ours) & set(theirs)]
    if len(pairs) < 2:
        return None
    return True if all(a <= b and np.isfinite(a) for a, b in pairs) else False if all(a > b for a, b in pairs) else None


Judgement = Callable[[Evidence], tuple[str, str]]
CLAIMS: dict[str, tuple[str, Judgement]] = {}


def claim(name: str, text: str) -> Callable[[Judgement], Judgement]:
    """Make a function from evidence to a verdict and its numbers known as the claim ``name``, which says ``text``."""

    def add(judgement: Judgement) -> Judgement:
        CLAIMS[name] = text, judgement
        return judgement

    return add


def judge(claims: tuple[str, ...], found: list[Cell], metric: str) -> list[Verdict]:
    """The verdicts on ``claims`` by the cells of an artifact."""
    evidence = Evidence(found, metric)
    return [Verdict(name, CLAIMS[name][0], *CLAIMS[name][1](evidence)) for name in claims]
