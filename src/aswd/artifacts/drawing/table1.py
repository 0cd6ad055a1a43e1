"""The paper's Table 1: FID and seconds per iteration by data, number of directions and distance."""

from __future__ import annotations

import numpy as np
import pandas
from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact, split_label
from aswd.artifacts.tables import escape_latex
from aswd.artifacts.tables import table as results_table
from aswd.artifacts.views import View, curves, final_curves, panel, published_curve


def draw(artifact: Artifact, cells: list[Cell], heading: str) -> Figure:
    """FID and seconds against L, ours with standard errors, published values as crosses."""
    frame = results_table(artifact, cells)
    data, metrics = list(dict.fromkeys(frame["data"])), list(dict.fromkeys(frame["metric"]))
    figure = Figure(figsize=(5.4 * len(metrics) + 0.6, 3.8 * len(data) + 0.8), layout="constrained")
    grid = figure.subplots(len(data), len(metrics), squeeze=False)
    for row, name in enumerate(data):
        for axes, metric in zip(grid[row], metrics, strict=True):
            own = frame[(frame["data"] == name) & (frame["metric"] == metric)]
            pairs = [split_label(label) for label in own["label"]]
            for index, distance in enumerate(dict.fromkeys(distance for distance, _ in pairs)):
                mine = own[[method == distance for method, _ in pairs]]
                counts = [split_label(label)[1] for label in mine["label"]]
                axes.errorbar(counts, mine["mean"], mine["standard_error"], color=f"C{index}", marker="o", capsize=3, label=distance)
                axes.plot(counts, pandas.to_numeric(mine["published"]), color=f"C{index}", marker="x", linestyle=":", linewidth=0.8)
            axes.set(
                xscale="log", xlabel="L", ylabel=metric, title=f"{name} (n = {own['n'].min()} to {own['n'].max()}; crosses: published)"
            )
            axes.grid(alpha=0.3)
            axes.legend()
    figure.suptitle(heading)
    return figure


def views(artifact: Artifact, cells: list[Cell]) -> list[View]:
    """The same panels, with the values of every seed."""
    panels = []
    for data in dict.fromkeys(cell.data for cell in cells):
        own = [cell for cell in cells if cell.data == data]
        for metric in (artifact.metric, *artifact.also):
            series = final_curves(own, metric, _count)
            known: dict[str, dict[float, float]] = {}
            for cell in own:
                if (value := artifact.published_value(data, cell.label, metric)) is not None:
                    known.setdefault(split_label(cell.label)[0], {})[_count(cell)] = value
            series += [published_curve(distance, values) for distance, values in known.items()]
            panels.append(panel(data, "L", metric, series, x_scale="log"))
    return curves("Ours and published", panels)


def _count(cell: Cell) -> float:
    return float(split_label(cell.label)[1])


def latex(frame: pandas.DataFrame, caption: str) -> str:
    """The layout of the paper: rows of data and L, columns of distances, each with FID and seconds."""
    distances = list(dict.fromkeys(split_label(label)[0] for label in frame["label"]))
    counts = sorted({split_label(label)[1] for label in frame["label"]})
    head = " & ".join(rf"\multicolumn{{2}}{{c}}{{{escape_latex(name)}}}" for name in distances)
    lines = [r"\begin{table}", rf"\caption{{{escape_latex(caption)}}}", rf"\begin{{tabular}}{{ll{'rr' * len(distances)}}}", r"\toprule"]
    lines += [rf" & $L$ & {head} \\", " & " + " & FID & s" * len(distances) + r" \\", r"\midrule"]
    for data in dict.fromkeys(frame["data"]):
        for count in counts:
            entries = [
                _entry(frame, data, f"{name} L={count}", metric) for name in distances for metric in ("fid", "seconds_per_iteration")
            ]
            lines.append(" & ".join([escape_latex(data), str(count), *entries]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def _entry(frame: pandas.DataFrame, data: str, label: str, metric: str) -> str:
    row = frame[(frame["data"] == data) & (frame["label"] == label) & (frame["metric"] == metric)]
    if row.empty or not np.isfinite(row["mean"].iloc[0]):
        return "--"
    mean, error = row["mean"].iloc[0], row["standard_error"].iloc[0]
    if metric != "fid":
        return f"{mean:.2f}"
    return f"{mean:.1f}" + (rf" $\pm$ {error:.1f}" if np.isfinite(error) else "")
