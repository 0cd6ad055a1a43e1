"""Time per batch against W2: a dot for every distance and number of directions."""

from __future__ import annotations

from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact, parts
from aswd.artifacts.tables import table


def draw(artifact: Artifact, found: list[Cell], heading: str) -> Figure:
    """Dots of one distance are joined; bars are standard errors."""
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    axes = figure.subplots()
    whole = table(artifact, found)
    value, time = (whole[whole["metric"] == metric].set_index("label") for metric in (artifact.metric, "seconds_per_iteration"))
    for place, distance in enumerate(dict.fromkeys(parts(label)[0] for label in value.index)):
        labels = [label for label in value.index if parts(label)[0] == distance]
        mine, seconds = value.loc[labels], time.loc[labels]
        axes.errorbar(seconds["mean"], mine["mean"], mine["standard_error"], color=f"C{place}", marker="o", capsize=3, label=distance)
        for label in labels:
            dot = seconds["mean"][label], mine["mean"][label]
            axes.annotate(f"L={parts(label)[1]}", dot, fontsize=8, xytext=(4, 4), textcoords="offset points")
    counts = sorted(set(value["n"]))
    axes.set(xscale="log", xlabel="seconds per iteration", ylabel=artifact.metric, title=f"{heading}\n(n = {counts[0]} to {counts[-1]})")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure
