"""Barycenters of three clouds: a triangle of mixtures for every series and, last, the exact one."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact

CORNERS = np.array([[0.0, 1.0], [-(3**0.5) / 2, -0.5], [3**0.5 / 2, -0.5]])  # of the triangle on which the mixtures lie


def draw(artifact: Artifact, found: list[Cell], heading: str) -> Figure:
    """Rows of data, columns of series; from the first seed that is done."""
    data, labels = (list(dict.fromkeys(values)) for values in zip(*((cell.data, cell.label) for cell in found), strict=True))
    figure = Figure(figsize=(3.4 * (len(labels) + 1), 3.5 * len(data) + 0.8), layout="constrained")
    grid = figure.subplots(len(data), len(labels) + 1, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for cell in found:
        row, done = grid[data.index(cell.data)], cell.done
        axes = row[labels.index(cell.label)]
        axes.set_title(f"{cell.label} ({cell.data}, {f'seed {done[0]}' if done else 'not there yet'})", fontsize=9)
        if done:
            kept = cell.samples(done[0])
            triangle(axes, kept["particles"], kept["weights"])
            row[-1].clear()
            row[-1].set_axis_off()
            triangle(row[-1], kept["exact"], kept["weights"])
            row[-1].set_title(f"exact ({cell.data})", fontsize=9)
    figure.suptitle(heading)
    return figure


def triangle(axes: object, clouds: np.ndarray, weights: np.ndarray) -> None:
    """Clouds ``[W, N, d]`` at the places of their weights ``[W, 3]``, in mixtures of red, green and blue."""
    side = round(1 / weights[weights > 0].min())
    room = 0.75 / side
    for cloud, weight in zip(clouds, weights, strict=True):
        centred = flat(cloud) / max(np.abs(cloud).max(), 1e-12) * room / 1.2
        axes.scatter(*(weight @ CORNERS + centred).T, s=np.clip(300 / len(cloud), 0.6, 6), color=np.clip(0.85 * weight, 0, 1), linewidths=0)
    axes.set_aspect("equal")


def flat(cloud: np.ndarray) -> np.ndarray:
    """Points in the plane; those in space as they are seen from above one corner."""
    if cloud.shape[1] == 2:
        return cloud
    return np.stack([cloud[:, 0] + 0.35 * cloud[:, 2], cloud[:, 1] + 0.35 * cloud[:, 2]], 1)
