"""Metrics of one or more seeds against the step."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence


class MetricHistory:
    """Rows of metrics of one or more seeds: ``step``, ``seed``, and a column for each metric."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self.seeds = list(seeds)
        self.steps: list[int] = []
        self.values: dict[str, list[list[float]]] = {}  # name -> step -> seed

    def add(self, step: int, values: dict[str, Sequence[float]]) -> None:
        """Rows of one step: for every metric one number per seed."""
        self.steps.append(step)
        for name, numbers in values.items():
            self.values.setdefault(name, []).append([float(number) for number in numbers])

    def extend(self, names: Iterable[str]) -> bool:
        """Make columns for those of ``names`` that have none, NaN at the steps so far; returns whether there were any."""
        new = [name for name in names if name not in self.values]
        for name in new:
            self.values[name] = [[math.nan] * len(self.seeds) for _ in self.steps]
        return bool(new)

    def last(self, seed: int) -> dict[str, float]:
        """The numbers of a seed at the last step."""
        place = self.seeds.index(seed)
        return {name: rows[-1][place] for name, rows in self.values.items()}

    def of(self, seed: int) -> MetricHistory:
        """The rows of one seed."""
        place = self.seeds.index(seed)
        one = MetricHistory([seed])
        one.steps = self.steps
        one.values = {name: [[row[place]] for row in rows] for name, rows in self.values.items()}
        return one

    def to_csv(self, since: int = 0, header: bool = True) -> str:
        """As CSV, numbers to the last bit; only the rows from the ``since``-th step on."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if header:
            writer.writerow(["step", "seed", *self.values])
        for turn in range(since, len(self.steps)):
            for place, seed in enumerate(self.seeds):
                writer.writerow([self.steps[turn], seed, *(repr(rows[turn][place]) for rows in self.values.values())])
        return text.getvalue()
