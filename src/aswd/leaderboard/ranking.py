"""From the runs that count to ranks with intervals, shares of stuck runs, and verdicts on published advantages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aswd.artifacts.cells import Cell
from aswd.artifacts.claims import FAILS, HOLDS, OPEN, Verdict
from aswd.leaderboard.protocol import Claim, Discipline
from aswd.utils.statistics import mean_ranks, paired_bootstrap, stuck

CONFIDENCE = 0.95  # of intervals
FAILED = 300.0  # log10 of the metric
AXES = ("steps", "sorts", "seconds")
Curve = tuple[np.ndarray, np.ndarray]  # steps, and values [steps, seeds]; NaN: missing, infinite: failed
Costs = Mapping[tuple[str, str], Mapping[str, Any]]  # of a step, by discipline and method


@dataclass(frozen=True)
class Results:
    """The runs of a discipline.

    Args:
        discipline: whose runs they are.
        settings: their names.
        methods: their labels.
        curves: the metric against the step, by setting and method.
        seeds: their number.
    """

    discipline: Discipline
    settings: list[str]
    methods: list[str]
    curves: dict[tuple[str, str], Curve]
    seeds: int

    def finals(self) -> np.ndarray:
        """Final values ``[settings, methods, seeds]``, NaN where there are none."""
        values = np.full((len(self.settings), len(self.methods), self.seeds), np.nan)
        for (setting, method), (_, curve) in self.curves.items():
            values[self.settings.index(setting), self.methods.index(method)] = curve[-1]
        return values

    def stuck(self, method: str) -> float:
        """The share of runs of a method that failed, or ended an order of magnitude above the best one on their setting."""
        finals = [values[-1] for (_, name), (_, values) in self.curves.items() if name == method]
        ends = [np.isinf(values) | stuck(np.log10(np.maximum(values, np.finfo(float).tiny))) for values in finals]
        return float(np.mean(ends)) if ends else np.nan

    def medians(self, method: str) -> dict[str, np.ndarray]:
        """The median over the seeds against the steps, by setting."""
        return {setting: np.median(values, 1) for (setting, name), (_, values) in self.curves.items() if name == method}

    def logarithms(self, method: str, step: float) -> np.ndarray | None:
        """log10 of the metric after ``step`` steps, ``[settings, seeds]``; ``None`` where settings are missing.

        Between two evaluations it is interpolated; a run that failed counts as :data:`FAILED`.
        """
        if any((setting, method) not in self.curves for setting in self.settings):
            return None
        rows = []
        for setting in self.settings:
            steps, values = self.curves[setting, method]
            logs = np.minimum(np.log10(np.maximum(values, np.finfo(float).tiny)), FAILED)
            rows.append([np.interp(step, steps, seed) for seed in logs.T])
        return np.array(rows)

    @property
    def steps(self) -> int:
        """Length of the runs."""
        return max((int(steps[-1]) for steps, _ in self.curves.values()), default=0)


def collect(discipline: Discipline, cells: Mapping[tuple[str, str], Cell], settings: Sequence[str]) -> Results:
    """The results of the runs that are done or have failed; a method without a single one on a setting is left out there."""
    curves: dict[tuple[str, str], Curve] = {}
    seeds = max(len(cell.config.seeds) for cell in cells.values())
    for (method, setting), cell in cells.items():
        found, done, failed = cell.curves(discipline.metric), cell.done, cell.failures()
        if found is None and not failed:
            continue
        steps, values = found if found is not None else (np.array([1]), np.empty((1, 0)))
        all_seeds = np.full((len(steps), seeds), np.nan)
        for column, seed in enumerate(cell.config.seeds):
            all_seeds[:, column] = values[:, done.index(seed)] if seed in done else np.inf if seed in failed else np.nan
        if not np.isnan(all_seeds).any():
            curves[setting, method] = steps, all_seeds
    named = {method for _, method in curves}
    return Results(discipline, list(settings), [m for m in dict.fromkeys(m for m, _ in cells) if m in named], curves, seeds)


@dataclass(frozen=True)
class Ranks:
    """Mean ranks with intervals: ``value``, ``error``, ``low`` and ``high`` by discipline, or ``overall``, and method."""

    table: dict[str, dict[str, tuple[float, float, float, float]]]

    def order(self, name: str = "overall") -> list[str]:
        """Methods from the best on."""
        return sorted(self.table[name], key=lambda method: self.table[name][method][0])


def rank(results: Sequence[Results], resamples: int = 1000) -> Ranks:
    """Ranks by discipline, with paired bootstrap intervals over the seeds.

    A rank is the mean over the settings of a discipline; ``overall`` is the mean over the ranked disciplines, of methods that take part in
    all of them.
    """
    methods = list(dict.fromkeys(method for each in results for method in each.methods))
    places = [[each.methods.index(m) if m in each.methods else None for m in methods] for each in results]
    ranked = [index for index, each in enumerate(results) if each.discipline.is_ranked]

    def statistic(values: list[np.ndarray]) -> np.ndarray:
        """``[disciplines + 1, methods]``; the last row is overall."""
        table = np.full((len(results) + 1, len(methods)), np.nan)
        for row, (each, place) in enumerate(zip(grouped(values), places, strict=True)):
            ranks = mean_ranks(each)
            table[row] = [np.nan if p is None else ranks[p] for p in place]
        if ranked:
            table[-1] = table[ranked].mean(0)
        return table

    # Each setting is resampled for itself: its seeds are its own data.
    cases = [case for each in results for case in each.finals()]
    ends = np.cumsum([len(each.settings) for each in results])

    def grouped(values: list[np.ndarray]) -> list[np.ndarray]:
        return [np.stack(values[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    value = statistic(cases)
    drawn = paired_bootstrap(cases, statistic, resamples)
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    error = drawn.std(0, ddof=1)
    names = [*(each.discipline.name for each in results), "overall"]
    return Ranks(
        {
            name: {
                m: tuple(float(part[i, j]) for part in (value, error, low, high))
                for j, m in enumerate(methods)
                if value[i, j] == value[i, j]
            }
            for i, name in enumerate(names)
        }
    )


def difference(each: Results, costs: Costs, better: str, worse: str, axis: str, resamples: int = 1000) -> tuple[float, float, float] | None:
    """log10 of the metric of ``better`` less that of ``worse``, at equal cost, with its interval.

    The mean over the settings of the median over the seeds of the paired differences, where the cheaper of both has ended. ``None`` where
    one of them is missing, or its cost is not known.
    """
    rates = [1.0 if axis == "steps" else costs.get((each.discipline.name, m), {}).get(axis) for m in (better, worse)]
    if None in rates or 0 in rates:
        return None
    budget = each.steps * min(rates)
    sides = [each.logarithms(m, budget / rate) for m, rate in zip((better, worse), rates, strict=True)]
    if any(side is None for side in sides):
        return None
    paired = np.subtract(*sides)

    def statistic(values: list[np.ndarray]) -> np.ndarray:
        return np.mean([np.median(case) for case in values])

    drawn = paired_bootstrap(list(paired), statistic, resamples)
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(statistic(list(paired))), float(low), float(high)


def judge(claim: Claim, results: Sequence[Results], costs: Costs) -> Verdict:
    """Whether a published advantage survives at equal steps, as a mean over the ranked disciplines; with what is left of it at equal cost.

    It holds where the interval is below zero, does not where it is above, and is not decided else.
    """
    numbers, verdict = [], None
    ranked = [each for each in results if each.discipline.is_ranked]
    for axis in AXES:
        found = {each.discipline.name: difference(each, costs, claim.better, claim.worse, axis) for each in ranked}
        known = {name: interval for name, interval in found.items() if interval is not None}
        if not known:
            continue
        # Disciplines are independent: the half width of the mean is the root of the sum of squares, over their number.
        mean = np.mean([interval[0] for interval in known.values()])
        below, above = (np.sqrt(sum((i[0] - i[end]) ** 2 for i in known.values())) / len(known) for end in (1, 2))
        if axis == "steps":
            verdict = HOLDS if mean + above < 0 else FAILS if mean - below > 0 else OPEN
        parts = ", ".join(f"{name} {interval[0]:+.2f}" for name, interval in known.items())
        numbers.append(f"at equal {axis} {mean:+.2f} [{mean - below:+.2f}, {mean + above:+.2f}] ({parts})")
    if verdict is None:
        return Verdict(claim.name, claim.text, OPEN, f"{claim.better} or {claim.worse} has no runs")
    return Verdict(claim.name, claim.text, verdict, "log10 of the metric, difference: " + "; ".join(numbers))
