"""The metric against the iteration on a logarithmic axis, beside published values: one panel per data set, one curve per series."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact
from aswd.artifacts.quantities import Quantity


def draw(artifact: Artifact, cells: list[Cell], heading: str) -> Figure:
    """The median over seeds, the range between the quartiles, and crosses where a value is published."""
    data = list(dict.fromkeys(cell.data for cell in cells))
    figure = Figure(figsize=(6.0 * len(data) + 1, 5.6), layout="constrained")
    handles: dict[str, object] = {}
    for axes, name in zip(figure.subplots(1, len(data), squeeze=False)[0], data, strict=True):
        own = [cell for cell in cells if cell.data == name]
        for number, cell in enumerate(own):
            handles |= _curve(axes, artifact, cell, f"C{number % 10}")
        metric = artifact.metric.removeprefix("log10_")
        axes.set(xlabel="iteration", ylabel=metric, title=f"{name} (n = {max(len(cell.done) for cell in own)})", yscale="log")
        axes.grid(alpha=0.3)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=9)
    figure.suptitle(heading)
    return figure


def _curve(axes: object, artifact: Artifact, cell: Cell, color: str) -> dict[str, object]:
    curves = cell.curves(artifact.metric.removeprefix("log10_"))
    if curves is None:
        return {}
    steps, values = curves
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75], axis=1)
    (line,) = axes.plot(steps, median, color=color, linewidth=1.2, marker="." if len(steps) < 10 else None)
    axes.fill_between(steps, low, high, color=color, alpha=0.15, linewidth=0)
    handles = {cell.label: line}
    for metric in (artifact.metric, *artifact.also):
        quantity, value = Quantity.of(metric), artifact.published_value(cell.data, cell.label, metric)
        if value is not None:
            step = steps[-1] if quantity.step is None else quantity.step
            handles["published"] = axes.scatter(step, 10**value if quantity.log10 else value, color=color, marker="x", zorder=3)
    return handles
