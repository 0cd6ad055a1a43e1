"""Transferred pictures: columns of pairs, rows of methods, source and target above."""

from __future__ import annotations

from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact


def draw(artifact: Artifact, found: list[Cell], heading: str) -> Figure:
    """From the first seed of every cell that is done."""
    data, labels = (list(dict.fromkeys(values)) for values in zip(*((cell.data, cell.label) for cell in found), strict=True))
    rows = 2 + len(labels)
    figure = Figure(figsize=(3.2 * len(data) + 0.4, 2.3 * rows + 0.8), layout="constrained")
    grid = figure.subplots(rows, len(data), squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for cell in found:
        done = cell.done
        axes, column = grid[2 + labels.index(cell.label), data.index(cell.data)], grid[:, data.index(cell.data)]
        axes.set_title(f"{cell.label} ({f'seed {done[0]}' if done else 'not there yet'})", fontsize=8)
        if done:
            kept = cell.samples(done[0])
            axes.imshow(kept["picture"])
            for place, name in enumerate(("source", "target")):
                column[place].imshow(kept[f"{name}_picture"])
                column[place].set_title(f"{cell.data}: {name}", fontsize=8)
    figure.suptitle(heading)
    return figure
