"""Time per batch against W2: one dot per distance and number of directions."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact, split_label
from aswd.artifacts.tables import table
from aswd.artifacts.views import View, curves, final_curves, panel


def draw(artifact: Artifact, cells: list[Cell], heading: str) -> Figure:
    """Dots of one distance are joined; bars are standard errors."""
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    axes = figure.subplots()
    frame = table(artifact, cells)
    value, time = (frame[frame["metric"] == metric].set_index("label") for metric in (artifact.metric, "seconds_per_iteration"))
    for index, distance in enumerate(dict.fromkeys(split_label(label)[0] for label in value.index)):
        labels = [label for label in value.index if split_label(label)[0] == distance]
        mine, seconds = value.loc[labels], time.loc[labels]
        axes.errorbar(seconds["mean"], mine["mean"], mine["standard_error"], color=f"C{index}", marker="o", capsize=3, label=distance)
        for label in labels:
            dot = seconds["mean"][label], mine["mean"][label]
            axes.annotate(f"L={split_label(label)[1]}", dot, fontsize=8, xytext=(4, 4), textcoords="offset points")
    counts = sorted(set(value["n"]))
    axes.set(xscale="log", xlabel="seconds per iteration", ylabel=artifact.metric, title=f"{heading}\n(n = {counts[0]} to {counts[-1]})")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def views(artifact: Artifact, cells: list[Cell]) -> list[View]:
    """The same dots, with those of every seed."""
    series = final_curves(cells, artifact.metric, lambda cell: float(np.mean(list(cell.values("seconds_per_iteration").values()))))
    return curves("Cost", [panel("", "seconds per iteration", artifact.metric, series, x_scale="log")])
