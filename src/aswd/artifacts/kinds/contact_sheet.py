"""Transferred pictures: rows of methods, for every pair a column for each number of directions, source and target above."""

from __future__ import annotations

from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact, parts


def draw(artifact: Artifact, found: list[Cell], heading: str) -> Figure:
    """From the first seed of every cell that is done."""
    data = list(dict.fromkeys(cell.data for cell in found))
    methods = list(dict.fromkeys(parts(cell.label)[0] for cell in found))
    counts = sorted({count for cell in found if (count := parts(cell.label)[1]) is not None})
    wide = max(2, len(counts))
    figure = Figure(figsize=(max(2.1 * wide * len(data), 8), 1.6 * (len(methods) + 1) + 0.8), layout="constrained")
    grid = figure.subplots(len(methods) + 1, wide * len(data), squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for cell in found:
        (method, count), first, done = parts(cell.label), wide * data.index(cell.data), cell.done
        axes = grid[1 + methods.index(method), first + (counts.index(count) if count is not None else 0)]
        axes.set_title(f"{cell.label} ({f'seed {done[0]}' if done else 'not there yet'})", fontsize=7)
        if done:
            kept = cell.samples(done[0])
            axes.imshow(kept["image"])
            for place, name in enumerate(("source", "target")):
                grid[0, first + place].imshow(kept[f"{name}_image"])
                grid[0, first + place].set_title(f"{cell.data}: {name}", fontsize=7)
    figure.suptitle(heading)
    return figure
