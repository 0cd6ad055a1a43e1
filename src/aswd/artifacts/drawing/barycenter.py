"""Barycenters of three clouds: one triangle of mixtures per series and, last, the exact one."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact

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
