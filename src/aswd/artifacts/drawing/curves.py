"""Metrics against the iteration: one panel per data set and metric, one curve per series."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.claims import MIN_SEEDS
from aswd.artifacts.declaration import Artifact
from aswd.artifacts.groups import Runs
from aswd.utils.statistics import mean_and_band


def draw(artifact: Artifact, cells: list[Cell], heading: str) -> Figure:
    """Rows of data sets, columns of metrics; curves as in :func:`curve`."""
    return panels(cells, [artifact.metric, *artifact.also], heading)


def panels(cells: Sequence[Runs], metrics: list[str], heading: str) -> Figure:
    """The same for any runs and metrics."""
    data = list(dict.fromkeys(cell.data for cell in cells))
    figure = Figure(figsize=(5.2 * len(metrics) + 1, 3.6 * len(data) + 1.2), layout="constrained")
    grid = figure.subplots(len(data), len(metrics), squeeze=False)
    handles: dict[str, object] = {}
    for row, name in enumerate(data):
        own = [cell for cell in cells if cell.data == name]
        counts = sorted({len(cell.done) for cell in own})
        seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        for axes, metric in zip(grid[row], metrics, strict=True):
            for number, cell in enumerate(own):
                handles |= curve(axes, cell, metric, number)
            axes.set(xlabel="iteration", ylabel=metric.replace("log10_", "log10 "), title=f"{name} (n = {seeds})")
            axes.grid(alpha=0.3)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, fontsize=9)
    figure.suptitle(heading)
    return figure


def curve(axes: object, cell: Runs, metric: str, number: int) -> dict[str, object]:
    """The mean over seeds with its 95 % band, or of few seeds the curve of each, in the ``number``-th style.

    Returns:
        The handle by label; nothing if no run is done.
    """
    curves = cell.curves(metric)
    if curves is None:
        return {}
    steps, values = curves
    style = {"color": f"C{number % 10}", "linestyle": "-" if number < 10 else "--", **({"marker": "o"} if len(steps) == 1 else {})}
    if values.shape[1] < MIN_SEEDS:
        return {cell.label: axes.plot(steps, values, linewidth=0.8, **style)[0]}
    mean, low, high = mean_and_band(values, axis=1)
    (line,) = axes.plot(steps, mean, linewidth=1.2, **style)
    axes.fill_between(steps, low, high, color=style["color"], alpha=0.15, linewidth=0)
    return {cell.label: line}
