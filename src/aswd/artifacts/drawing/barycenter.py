"""Barycenters of three clouds: one triangle of mixtures per series and, last, the exact one."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact
from aswd.artifacts.views import View, metric_curves, moving, particles
from aswd.tasks.barycenter_figures import colours

CORNERS = np.array([[0.0, 1.0], [-(3**0.5) / 2, -0.5], [3**0.5 / 2, -0.5]])  # of the triangle of mixtures


def draw(artifact: Artifact, cells: list[Cell], heading: str) -> Figure:
    """Rows of data sets, columns of series; of the first seed that is done."""
    data, labels = (list(dict.fromkeys(values)) for values in zip(*((cell.data, cell.label) for cell in cells), strict=True))
    figure = Figure(figsize=(3.4 * (len(labels) + 1), 3.5 * len(data) + 0.8), layout="constrained")
    grid = figure.subplots(len(data), len(labels) + 1, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for cell in cells:
        row, done = grid[data.index(cell.data)], cell.done
        axes = row[labels.index(cell.label)]
        axes.set_title(f"{cell.label} ({cell.data}, {f'seed {done[0]}' if done else 'no run yet'})", fontsize=9)
        if done:
            samples = cell.samples(done[0])
            draw_triangle(axes, samples["particles"], samples["weights"])
            row[-1].clear()
            row[-1].set_axis_off()
            draw_triangle(row[-1], samples["exact"], samples["weights"])
            row[-1].set_title(f"exact ({cell.data})", fontsize=9)
    figure.suptitle(heading)
    return figure


def draw_triangle(axes: object, clouds: np.ndarray, weights: np.ndarray) -> None:
    """Clouds ``[W, N, d]`` at the positions of their weights ``[W, 3]``, in mixtures of red, green and blue."""
    side = round(1 / weights[weights > 0].min())
    size = 0.75 / side
    for cloud, weight in zip(clouds, weights, strict=True):
        centred = project_to_plane(cloud) / max(np.abs(cloud).max(), 1e-12) * size / 1.2
        axes.scatter(*(weight @ CORNERS + centred).T, s=np.clip(300 / len(cloud), 0.6, 6), color=np.clip(0.85 * weight, 0, 1), linewidths=0)
    axes.set_aspect("equal")


def project_to_plane(cloud: np.ndarray) -> np.ndarray:
    """Points in the plane; points in space in oblique projection."""
    if cloud.shape[1] == 2:
        return cloud
    return np.stack([cloud[:, 0] + 0.35 * cloud[:, 2], cloud[:, 1] + 0.35 * cloud[:, 2]], 1)


def views(artifact: Artifact, cells: list[Cell]) -> list[View]:
    """Curves, and the barycenters on the way through the mixtures, with the exact ones."""
    groups: dict[str, dict[str, tuple[list[str], np.ndarray]]] = {}
    exact: dict[str, tuple[list[str], np.ndarray]] = {}
    shades: dict[str, dict[str, str]] = {}
    for cell in cells:
        if cell.done:
            samples = cell.samples(cell.done[0])
            mixtures = [", ".join(f"{weight:.3g}" for weight in weights) for weights in samples["weights"]]
            groups.setdefault(cell.data, {})[cell.label] = mixtures, samples["particles"]
            exact[cell.data] = mixtures, samples["exact"]
            shades[cell.data] = dict(zip(mixtures, map(to_hex, colours(samples["weights"])), strict=True))
    moved = [moving(data, {**frames, "exact": exact[data]}, colours=shades[data]) for data, frames in groups.items()]
    return [*metric_curves(artifact, cells), *particles("Barycenters", "weights", moved)]
