"""The paper's claims as functions of what was measured: holds, does not hold, or not decided.

Comparisons are paired by seed: the 95 % t-interval of the difference decides, and nothing is decided on a single seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aswd.artifacts.cells import Cell
from aswd.results.statistics import mean_and_band

HOLDS, FAILS, OPEN = "holds", "does not hold", "not decided"
SIMILAR = 0.5  # half an order of magnitude in W2: what "similar", "comparable" and "on par" mean here


@dataclass(frozen=True)
class Verdict:
    """What became of a claim, and the numbers that say so."""

    claim: str
    text: str
    verdict: str
    numbers: str


class Evidence:
    """Final log10 W2 of the cells of an artifact, by data and label, and its comparisons."""

    def __init__(self, found: list[Cell], metric: str) -> None:
        self.cells = found
        self.finals = {(cell.data, cell.label): cell.finals(metric) for cell in found}
        self.data = list(dict.fromkeys(cell.data for cell in found))
        self.labels = list(dict.fromkeys(cell.label for cell in found))

    def difference(self, data: str, first: str, second: str) -> tuple[float, float, float] | None:
        """Mean of first minus second over the seeds that both have, and the ends of its interval; ``None`` below two seeds."""
        one, other = self.finals[data, first], self.finals[data, second]
        common = sorted(set(one) & set(other))
        values = np.array([one[seed] - other[seed] for seed in common])
        if len(values) < 2 or not np.isfinite(values).all():
            return None
        return tuple(float(value) for value in mean_and_band(values))

    def below(self, data: str, first: str, second: str) -> bool | None:
        """Whether first ends below second; ``None`` where the seeds do not say."""
        found = self.difference(data, first, second)
        if found is None or found[1] <= 0 <= found[2]:
            return None
        return found[2] < 0

    def similar(self, data: str, first: str, second: str) -> bool | None:
        """Whether the two end within :data:`SIMILAR` of each other."""
        found = self.difference(data, first, second)
        if found is None:
            return None
        _, low, high = found
        return True if low > -SIMILAR and high < SIMILAR else False if low > SIMILAR or high < -SIMILAR else None

    def mean(self, data: str, label: str) -> float:
        """Mean over the seeds that are done; NaN before any is."""
        values = list(self.finals[data, label].values())
        return float(np.mean(values)) if values else float("nan")


def _all(answers: list[bool | None]) -> bool | None:
    return False if any(a is False for a in answers) else None if any(a is None for a in answers) or not answers else True


def _share(answers: dict[str, bool | None], needed: int) -> tuple[str, str]:
    """A claim on ``needed`` of the data sets."""
    yes, no = (sum(answer is wanted for answer in answers.values()) for wanted in (True, False))
    verdict = HOLDS if yes >= needed else FAILS if len(answers) - no < needed else OPEN
    words = {True: "yes", False: "no", None: "not decided"}
    listed = ", ".join(f"{data}: {words[answer]}" for data, answer in answers.items())
    return verdict, f"{yes} of {len(answers)} yes, {no} no, {needed} needed ({listed})"


def _rivals(e: Evidence, ours: str = "ASWD") -> list[str]:
    return [label for label in e.labels if not label.startswith(ours)]


def f0(e: Evidence) -> tuple[str, str]:
    """What is learned stays finite."""
    ours = [cell for cell in e.cells if cell.label.startswith("ASWD") and "vanilla" not in cell.label]
    values = [value for cell in ours for value in cell.finals("learned_norm").values()]
    failed = sum(len(cell.failures()) for cell in ours)
    if len(values) + failed < 2:
        return OPEN, f"{len(values)} runs"
    numbers = f"norm at most {max(values, default=float('nan')):.3g} in {len(values)} runs, {failed} failed"
    return (FAILS if failed or not np.isfinite(values).all() else HOLDS), numbers


def f1(e: Evidence) -> tuple[str, str]:
    """ASWD lowest on 7 of 8: on all but the 25 Gaussians."""
    answers = {data: _all([e.below(data, "ASWD", rival) for rival in _rivals(e)]) for data in e.data}
    return _share(answers, len(e.data) - ("gaussians_25" in e.data))


def f2(e: Evidence) -> tuple[str, str]:
    """ASWD first at the level where SWD ends, in every seed."""
    answers: dict[str, bool | None] = {}
    for data in e.data:
        level = 10 ** e.mean(data, "Linear")
        reached = {cell.label: _first_at(cell, level) for cell in e.cells if cell.data == data}
        answers[data] = _all([_sooner(reached["ASWD"], reached[rival]) for rival in _rivals(e)])
    return _share(answers, len(e.data) - ("gaussians_25" in e.data))


def _first_at(cell: Cell, level: float) -> dict[int, float]:
    """For every seed the first iteration at or below ``level``; infinite where it is not reached."""
    curves = cell.curves("w2")
    if curves is None:
        return {}
    steps, values = curves
    reached = values <= level
    return dict(zip(cell.done, np.where(reached.any(0), steps[reached.argmax(0)], np.inf), strict=True))


def _sooner(ours: dict[int, float], theirs: dict[int, float]) -> bool | None:
    pairs = [(ours[seed], theirs[seed]) for seed in set(ours) & set(theirs)]
    if len(pairs) < 2:
        return None
    return True if all(a <= b and np.isfinite(a) for a, b in pairs) else False if all(a > b for a, b in pairs) else None


def a1(e: Evidence) -> tuple[str, str]:
    """Both optimised maps below both random ones."""
    pairs = [(a, b) for a in ("ASWD", "ASWD-non-injective") for b in ("ASWD-vanilla", "ASWD-vanilla-non-injective")]
    return _share({data: _all([e.below(data, a, b) for a, b in pairs]) for data in e.data}, len(e.data))


def a2(e: Evidence) -> tuple[str, str]:
    """Vanilla within half an order of the best and worst GSWD."""
    answers = {}
    for data in e.data:
        similar = [e.similar(data, "ASWD-vanilla", rival) for rival in ("Polynomial 3", "Polynomial 5", "Circular")]
        answers[data] = True if any(s is True for s in similar) else None if any(s is None for s in similar) else False
    return _share(answers, len(e.data))


def a3(e: Evidence) -> tuple[str, str]:
    """Vanilla below vanilla-non-injective everywhere; ASWD spreads less over seeds than non-injective."""
    answers = {data: e.below(data, "ASWD-vanilla", "ASWD-vanilla-non-injective") for data in e.data}
    verdict, numbers = _share(answers, len(e.data))
    spread = {label: np.mean([np.std(list(e.finals[d, label].values())) for d in e.data]) for label in ("ASWD", "ASWD-non-injective")}
    stable = spread["ASWD"] < spread["ASWD-non-injective"]
    numbers += f"; mean spread {spread['ASWD']:.2f} (ASWD) against {spread['ASWD-non-injective']:.2f}"
    return (verdict if stable or verdict != HOLDS else FAILS), numbers


def a4(e: Evidence) -> tuple[str, str]:
    """The lambdas similar to each other, and all below every other distance (but on the 25 Gaussians)."""
    ours = [label for label in e.labels if label.startswith("ASWD")]
    answers = {}
    for data in e.data:
        alike = [e.similar(data, ours[0], other) for other in ours[1:]]
        lower = [e.below(data, a, b) for a in ours for b in _rivals(e)]
        answers[data] = _all([*alike, *lower])
    return _share(answers, len(e.data) - ("gaussians_25" in e.data))


def a5(e: Evidence) -> tuple[str, str]:
    """Lambda of 10 and 100 like SWD."""
    pairs = ("ASWD lambda=10", "ASWD lambda=100")
    return _share({data: _all([e.similar(data, label, "Linear") for label in pairs]) for data in e.data}, len(e.data))


def a6(e: Evidence) -> tuple[str, str]:
    """MAX-GSW-NN 1 with and without the penalty alike."""
    return _share({data: e.similar(data, "MAX-GSW-NN 1", "MAX-GSW-NN 1 with penalty") for data in e.data}, len(e.data))


def a7(e: Evidence) -> tuple[str, str]:
    """Planar and radial below every GSWD on more than half of the data, and not below [x, phi(x)] there."""
    rivals = ("Polynomial 3", "Polynomial 5", "Circular")
    maps = ("ASWD-planar", "ASWD-radial")
    answers = {data: _all([e.below(data, m, rival) for m in maps for rival in rivals]) for data in e.data}
    return _share(answers, len(e.data) // 2 + 1)


def a8(e: Evidence) -> tuple[str, str]:
    """All d_theta alike."""
    ours = [label for label in e.labels if label.startswith("ASWD")]
    return _share({data: _all([e.similar(data, ours[0], other) for other in ours[1:]]) for data in e.data}, len(e.data))


def r1(e: Evidence) -> tuple[str, str]:
    """Every reading of ASWD below SWD (but on the 25 Gaussians)."""
    ours = [label for label in e.labels if label.startswith("ASWD")]
    answers = {data: _all([e.below(data, label, "Linear") for label in ours]) for data in e.data}
    verdict, numbers = _share(answers, len(e.data) - ("gaussians_25" in e.data))
    below = {label: sum(e.below(data, label, "Linear") is True for data in e.data) for label in ours}
    return verdict, f"{numbers}; below on: " + ", ".join(f"{label} {count}" for label, count in below.items())


def p1(shares: dict[str, dict[int, float]]) -> Verdict:
    """Along most directions the clouds overlap for SWD, and for ASWD they do not: the claim P1."""
    text = "In 100 dimensions most random directions give SWD trivially small 1-D distances, and ASWD significant ones."
    bands = {label: mean_and_band(np.array(list(values.values()))) for label, values in shares.items()}
    numbers = ", ".join(f"{label} {mean:.0%} of directions ({low:.0%} to {high:.0%})" for label, (mean, low, high) in bands.items())
    if min(map(len, shares.values())) < 2:
        return Verdict("P1", text, OPEN, numbers)
    (_, swd_low, swd_high), (_, aswd_low, aswd_high) = bands["SWD"], bands["ASWD"]
    verdict = HOLDS if swd_low > 0.5 and aswd_high < 0.5 else FAILS if swd_high < 0.5 or aswd_low > 0.5 else OPEN
    return Verdict("P1", text, verdict, numbers)


CLAIMS: dict[str, tuple[str, Callable[[Evidence], tuple[str, str]]]] = {
    "F0": ("What the ASWD learns stays finite.", f0),
    "F1": ("ASWD ends with the lowest W2 on all targets but the 25 Gaussians.", f1),
    "F2": ("ASWD needs the fewest iterations to reach the level at which SWD ends.", f2),
    "A1": ("Optimising the hypersurface helps: ASWD and non-injective end below vanilla and vanilla-non-injective.", a1),
    "A2": ("ASWD-vanilla is comparable with the GSWDs.", a2),
    "A3": ("ASWD-vanilla beats vanilla-non-injective on every target, and ASWD is more stable than non-injective.", a3),
    "A4": ("lambda from 0.01 to 0.5 makes little difference, and all beat the other distances.", a4),
    "A5": ("lambda of 10 or 100 falls back to SWD.", a5),
    "A6": ("The penalty changes little for MAX-GSW-NN 1.", a6),
    "A7": ("Planar and radial flows beat the GSWDs on most targets.", a7),
    "A8": ("The dimension of the augmented space makes little difference.", a8),
    "R1": ("Not of the paper: ASWD ends below SWD in every reading of its hyper-parameters.", r1),
}


def judge(claims: tuple[str, ...], found: list[Cell], metric: str) -> list[Verdict]:
    """The verdicts on ``claims`` by the cells of an artifact."""
    evidence = Evidence(found, metric)
    return [Verdict(name, CLAIMS[name][0], *CLAIMS[name][1](evidence)) for name in claims]
