"""Images with transferred colours: rows of methods, a column per pair of images and number of directions, source and target above."""

from __future__ import annotations

from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact, split_label
from aswd.artifacts.views import View, images, metric_curves


def draw(artifact: Artifact, cells: list[Cell], heading: str) -> Figure:
    """Images of the first seed of every cell that is done."""
    data = list(dict.fromkeys(cell.data for cell in cells))
    methods = list(dict.fromkeys(split_label(cell.label)[0] for cell in cells))
    counts = sorted({count for cell in cells if (count := split_label(cell.label)[1]) is not None})
    width = max(2, len(counts))
    figure = Figure(figsize=(max(2.1 * width * len(data), 8), 1.6 * (len(methods) + 1) + 0.8), layout="constrained")
    grid = figure.subplots(len(methods) + 1, width * len(data), squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for cell in cells:
        (method, count), first, done = split_label(cell.label), width * data.index(cell.data), cell.done
        axes = grid[1 + methods.index(method), first + (counts.index(count) if count is not None else 0)]
        axes.set_title(f"{cell.label} ({f'seed {done[0]}' if done else 'no run yet'})", fontsize=7)
        if done:
            samples = cell.samples(done[0])
            axes.imshow(samples["image"])
            for column, name in enumerate(("source", "target")):
                grid[0, first + column].imshow(samples[f"{name}_image"])
                grid[0, first + column].set_title(f"{cell.data}: {name}", fontsize=7)
    figure.suptitle(heading)
    return figure


def views(artifact: Artifact, cells: list[Cell]) -> list[View]:
    """Curves, and for every pair of images the source, the target and what every cell makes of them."""
    shown = {}
    for cell in sorted((cell for cell in cells if cell.done), key=lambda cell: [each.data for each in cells].index(cell.data)):
        samples = cell.samples(cell.done[0])
        for name in ("source", "target"):
            shown.setdefault(f"{cell.data}: {name}", samples[f"{name}_image"])
        shown[f"{cell.data}: {cell.label}"] = samples["image"]
    return [*images("Images", shown), *metric_curves(artifact, cells)]
