"""The evidence for claims: numbers of every seed by data set and series, and the questions that claims ask about them.

Comparisons are paired by seed, and never of fewer than :data:`MIN_SEEDS`. Logarithms and numbers of iterations are compared by signed
ranks, since their tails are heavy (a run that is stuck is orders of magnitude away), everything else by t-tests. A seed that failed is
above all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from aswd.artifacts.claims.answers import LEVEL, MIN_SEEDS, Answer
from aswd.utils.statistics import deviations, hodges_lehmann, mean_and_band, seeds_for_ranks, seeds_for_t, signed_rank, t_test


class Group(Protocol):
    """The runs of one series on one data set, in a store or in a file of results."""

    data: str
    label: str

    def values(self, quantity: str) -> dict[int, float]:
        """One number for every seed that is done and has it."""

    def failures(self) -> dict[int, str]:
        """The seeds that failed."""


class Evidence:
    """Numbers of every seed, by data set and label, and their comparisons.

    Args:
        cells: of the artifact.
        metric: its own metric, the default of all comparisons.
        published: values of the paper: data -> label -> value, or data -> label -> metric -> value.
    """

    def __init__(self, cells: Sequence[Group], metric: str, published: dict | None = None) -> None:
        self.cells, self.metric, self.published = list(cells), metric, published or {}
        self.data = list(dict.fromkeys(cell.data for cell in cells))
        self.labels = list(dict.fromkeys(cell.label for cell in cells))
        self._known: dict[tuple[str, str, str], dict[int, float]] = {}

    @property
    def asked(self) -> list[str]:
        """The quantities that were looked at so far."""
        return list(dict.fromkeys(quantity for _, _, quantity in self._known))

    def values(self, data: str, label: str, quantity: str | None = None) -> dict[int, float]:
        """A quantity of every seed of a cell (see :meth:`~aswd.artifacts.groups.Runs.values`), infinite if the seed failed.

        Raises:
            KeyError: the artifact has no such cell.
        """
        key = data, label, quantity or self.metric
        if key not in self._known:
            cell = next((cell for cell in self.cells if (cell.data, cell.label) == (data, label)), None)
            if cell is None:
                raise KeyError(f"no series {label!r} on {data}")
            self._known[key] = cell.values(key[2]) | dict.fromkeys(cell.failures(), np.inf)
        return self._known[key]

    def median(self, data: str, label: str, quantity: str | None = None) -> float:
        """Median over the seeds that are done; NaN if there are none."""
        values = list(self.values(data, label, quantity).values())
        return float(np.median(values)) if values else float("nan")

    def differences(self, data: str, first: str, second: str, quantity: str | None = None) -> np.ndarray:
        """First minus second of the seeds that both have; NaN, where both failed, is left out."""
        values, others = (self.values(data, label, quantity) for label in (first, second))
        with np.errstate(invalid="ignore"):
            each = np.array([values[seed] - others[seed] for seed in sorted(set(values) & set(others))], dtype=float)
        return each[~np.isnan(each)]

    def below(self, data: str, first: str, second: str, quantity: str | None = None, by: float = 0.0) -> Answer:
        """Whether first ends below second, by more than ``by``."""
        return self._compare(data, first, second, quantity, -np.inf, -by)

    def within(self, data: str, first: str, second: str, margin: float, quantity: str | None = None) -> Answer:
        """Whether the two end within ``margin`` of each other, by two one-sided tests."""
        return self._compare(data, first, second, quantity, -margin, margin)

    def sooner(self, data: str, first: str, second: str, level: float, quantity: str | None = None) -> Answer:
        """Whether first comes down to ``level`` in fewer iterations than second; a run that never does counts as after its last one."""
        quantity = quantity or self.metric
        first_times, second_times = (self._times(data, label, quantity, level) for label in (first, second))
        shared = sorted(set(first_times) & set(second_times))
        differences = np.array([first_times[seed] - second_times[seed] for seed in shared], dtype=float)
        return inside(f"iterations to {quantity} = {level:.3g}, {first} - {second}", differences, -np.inf, 0.0, ranks=True)

    def _times(self, data: str, label: str, quantity: str, level: float) -> dict[int, float]:
        reached = self.values(data, label, f"first({quantity}, {level:.4g})")
        last = self.values(data, label, f"last_step({quantity})")
        longest = max(filter(np.isfinite, last.values()), default=0.0)
        return {seed: min(reached.get(seed, np.inf), min(last[seed], longest) + 1) for seed in last}

    def steadier(self, first: str, second: str, quantity: str | None = None) -> Answer:
        """Whether the final values of first spread less over the seeds: deviations from the median, averaged over the data sets."""
        spreads = []
        for data in self.data:
            values, others = (self.values(data, label, quantity) for label in (first, second))
            shared = sorted(set(values) & set(others))
            with np.errstate(invalid="ignore"):
                each = [deviations(np.array([one[seed] for seed in shared])) if shared else np.array([]) for one in (values, others)]
                spreads.append(dict(zip(shared, each[0] - each[1], strict=True)))
        shared = sorted(set.intersection(*map(set, spreads)))
        differences = np.array([np.mean([spread[seed] for spread in spreads]) for seed in shared])
        return inside(f"deviation from the median, {first} - {second}", differences[~np.isnan(differences)], -np.inf, 0.0, ranks=True)

    def _compare(self, data: str, first: str, second: str, quantity: str | None, low: float, high: float) -> Answer:
        name = f"{first} - {second}"
        return inside(
            name, self.differences(data, first, second, quantity), low, high, ranks=(quantity or self.metric).startswith("log10_")
        )


def inside(name: str, values: np.ndarray, low: float, high: float, ranks: bool = False) -> Answer:
    """Whether the centre of some values is between ``low`` and ``high``: the mean by t-tests, or the centre of symmetry by signed ranks.

    Args:
        name: of what is compared.
        values: one per seed.
        low: or minus infinity.
        high: or infinity.
        ranks: whether to compare by ranks.
    """
    values = np.asarray(values, dtype=float)
    if len(values) < MIN_SEEDS or not (ranks or np.isfinite(values).all()):
        why = f"n = {len(values)}, fewer than {MIN_SEEDS}" if len(values) < MIN_SEEDS else "some seeds failed"
        return Answer(1.0, 1.0, f"{name}: {why}", seeds=lambda level: MIN_SEEDS if len(values) < MIN_SEEDS else np.inf)
    test, seeds_for = (signed_rank, seeds_for_ranks) if ranks else (t_test, seeds_for_t)
    if ranks:
        centre, lower, upper = hodges_lehmann(values, LEVEL)
    else:
        centre, lower, upper = (float(value) for value in mean_and_band(values, confidence=1 - 2 * LEVEL))
    bounds = [(side, bound) for side, bound in ((1, low), (0, high)) if np.isfinite(bound)]  # the tests whose p-value says inside
    p_yes = max(test(values - bound)[side] for side, bound in bounds)
    p_no = min(test(values - bound)[1 - side] for side, bound in bounds)
    slack = min(centre - low, high - centre)
    choose = max if slack > 0 else min

    def seeds(level: float) -> float:
        return max(MIN_SEEDS, choose(seeds_for(values - bound, level) for _, bound in bounds))

    by = f", p = {min(p_yes, p_no):.1g}" if ranks else ""  # which an interval of few values, or of ties, does not tell
    return Answer(p_yes, p_no, f"{name}: {centre:.3g} ({lower:.3g} to {upper:.3g}{by}), n = {len(values)}", slack, seeds)
