"""The runs of one series on one data set, one per seed, and the numbers that figures, tables and claims take from them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from aswd.artifacts.quantities import Quantity
from aswd.runs import Run, RunState

_CALL = re.compile(r"(first|last_step|growth)\((\w+)(?:, ([^)]+))?\)")  # of the curve of a metric


class Runs:
    """Base of what has ``data``, ``label`` and ``runs``, by seed."""

    data: str
    label: str
    runs: dict[int, Run]

    @property
    def seeds(self) -> list[int]:
        """All seeds, done or not."""
        return list(self.runs)

    @property
    def done(self) -> list[int]:
        """The seeds that are done, with an intact record."""
        return [seed for seed, run in self.runs.items() if run.record is not None]

    @property
    def folder(self) -> str:
        """Where the runs are."""
        return str(next(iter(self.runs.values())).folder.parent)

    def values(self, quantity: str) -> dict[int, float]:
        """One number for every seed that is done and has it.

        Args:
            quantity: of a metric by its name, as in ``log10_w2`` (see :class:`~aswd.artifacts.quantities.Quantity`), the final value, or
                ``w2_squared@500``, that after 500 steps; or of its curve the first step at which it is at most a
                level, ``first(log10_w2, -2)`` (infinite if it never is), ``last_step(log10_w2)``, or ``growth(learned_norm)``: by how
                much it grew over the last half of the steps (tenths of the run before half time and before the end are compared), as a
                share of what it was at half time, or at the start if that was more.
        """
        called = _CALL.fullmatch(quantity)
        if called is None:
            return self.finals(quantity)
        kind, metric, level = called.groups()
        curves = {seed: self._curve(self.runs[seed], metric) for seed in self.done}
        found = {seed: _of_curve(kind, *curve, level) for seed, curve in curves.items() if curve is not None}
        return {seed: value for seed, value in found.items() if value is not None}

    def finals(self, metric: str) -> dict[int, float]:
        """The value of a metric, the last one or that at its step, of every seed that is done and has it."""
        quantity = Quantity.of(metric)
        if quantity.step is not None:
            curves = {seed: self._curve(self.runs[seed], metric) for seed in self.done}
            return {seed: float(c[1][c[0] == quantity.step][0]) for seed, c in curves.items() if c and quantity.step in c[0]}
        results = {seed: run.result.get("final", {}) for seed, run in self.runs.items()}
        recorded = {seed: final[metric] for seed, final in results.items() if metric in final}
        return recorded or {seed: float(quantity(final[quantity.metric])) for seed, final in results.items() if quantity.metric in final}

    def curves(self, metric: str) -> tuple[np.ndarray, np.ndarray] | None:
        """The history of a metric.

        Args:
            metric: its name; ``log10_w2`` is the logarithm of ``w2``, ``w2_squared`` its square.

        Returns:
            Steps, and the values at them as ``[steps, seeds]``, of the seeds that are done; ``None`` if there are none. Steps at which
            the metric was not evaluated are left out.
        """
        curves = [curve for seed in self.done if (curve := self._curve(self.runs[seed], metric)) is not None]
        return (curves[0][0], np.stack([values for _, values in curves], 1)) if curves else None

    @staticmethod
    def _curve(run: Run, metric: str) -> tuple[np.ndarray, np.ndarray] | None:
        frame, quantity = run.metrics(), Quantity.of(metric)
        if quantity.metric not in frame:
            return None
        frame = frame[["step", quantity.metric]].dropna()
        return frame["step"].to_numpy(), quantity(frame[quantity.metric].to_numpy())

    def samples(self, seed: int) -> dict[str, np.ndarray]:
        """The final samples of a seed that is done."""
        return self.runs[seed].samples()

    def failures(self) -> dict[int, str]:
        """The reasons of the seeds that failed."""
        return {seed: run.status["reason"] for seed, run in self.runs.items() if run.state is RunState.FAILED}

    def damages(self) -> dict[int, str]:
        """What is wrong with the records that are damaged."""
        return {seed: damage for seed, run in self.runs.items() if (damage := run.damage()) is not None}


@dataclass(frozen=True)
class RunGroup(Runs):
    """Any runs, by seed."""

    data: str
    label: str
    runs: dict[int, Run]


def _of_curve(kind: str, steps: np.ndarray, values: np.ndarray, level: str | None) -> float | None:
    if kind == "first":
        reached = values <= float(level)
        return float(steps[reached.argmax()]) if reached.any() else np.inf
    if kind == "last_step":
        return float(steps[-1])
    if len(values) < 4:  # says nothing of growth
        return None
    window, half = max(1, len(values) // 10), (len(values) + 1) // 2
    before, after = values[half - min(window, half) : half].mean(), values[-window:].mean()
    return float((after - before) / max(before, values[0], np.finfo(float).tiny))
