"""The flow: targets beside curves, in the layout of the paper."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact
from aswd.artifacts.drawing.curves import curve
from aswd.artifacts.views import MAX_MOVING, View, metric_curves, moving, particles

TITLES = {"gaussians_8": "8-Gaussian", "gaussians_25": "25-Gaussian", "swiss_roll": "Swiss Roll"}


def draw(artifact: Artifact, cells: list[Cell], heading: str) -> Figure:
    """Targets beside curves of the metric, two pairs of columns."""
    shown = list(dict.fromkeys(cell.data for cell in cells))
    pairs = min(2, len(shown))
    rows = -(-len(shown) // pairs)
    figure = Figure(figsize=(6.5 * pairs, 3.1 * rows + 1.2), layout="constrained")
    grid = figure.subplots(rows, 2 * pairs, squeeze=False, width_ratios=[1, 1.9] * pairs)
    handles: dict[str, object] = {}
    for panel in range(pairs * rows):
        shape, axes = grid[panel // pairs, 2 * (panel % pairs) : 2 * (panel % pairs) + 2]
        if panel >= len(shown):
            shape.set_axis_off()
            axes.set_axis_off()
            continue
        data = shown[panel]
        own = [cell for cell in cells if cell.data == data]
        _draw_target(shape, own, TITLES.get(data, data.capitalize()))
        for number, cell in enumerate(own):
            handles |= curve(axes, cell, artifact.metric, number)
        axes.set(xlabel="iteration", ylabel="log10 W2" if artifact.metric == "log10_w2" else artifact.metric)
        axes.grid(alpha=0.3)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3 * pairs, fontsize=9)
    figure.suptitle(heading)
    return figure


def _draw_target(axes: object, own: list[Cell], title: str) -> None:
    done = [(cell, cell.done) for cell in own]
    for cell, seeds in done:
        if seeds:
            points = cell.samples(seeds[0])["target"]
            axes.scatter(*points[:, :2].T, s=2, color="black", linewidths=0)
            break
    counts = sorted({len(seeds) for _, seeds in done})
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    axes.set(title=f"{title} (n = {seeds})", aspect="equal", xticks=[], yticks=[])


def views(artifact: Artifact, cells: list[Cell]) -> list[View]:
    """Curves, and the particles of the first replica of some cells."""
    groups: dict[str, dict[str, tuple[list[int], np.ndarray]]] = {}
    targets: dict[str, np.ndarray] = {}
    by_data = sorted(cells, key=lambda cell: [each.data for each in cells].index(cell.data))
    for cell in by_data[:MAX_MOVING]:
        samples = cell.samples(cell.config.seeds[0])  # which alone has frames
        if len(samples.get("frames", ())):
            groups.setdefault(cell.data, {})[cell.label] = samples["frame_steps"].tolist(), samples["frames"]
            targets[cell.data] = samples["target"]
    moved = [moving(TITLES.get(data, data.capitalize()), frames, targets[data]) for data, frames in groups.items()]
    return [*metric_curves(artifact, cells), *particles("Particles", "iteration", moved)]
