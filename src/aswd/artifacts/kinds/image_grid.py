"""Generated pictures: a block for every data set and series, from the first seed that is done."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact

SHOWN = 64  # pictures of a block


def draw(artifact: Artifact, found: list[Cell], heading: str) -> Figure:
    """Rows of data, columns of series."""
    data, labels = (list(dict.fromkeys(values)) for values in zip(*((cell.data, cell.label) for cell in found), strict=True))
    figure = Figure(figsize=(2.6 * len(labels) + 0.5, 2.8 * len(data) + 0.8), layout="constrained")
    grid = figure.subplots(len(data), len(labels), squeeze=False)
    for cell in found:
        axes = grid[data.index(cell.data), labels.index(cell.label)]
        axes.set_axis_off()
        done = cell.done
        seed = f"seed {done[0]}" if done else "not there yet"
        axes.set_title(f"{cell.label} ({cell.data}, {seed})", fontsize=8)
        if done:
            axes.imshow(tile(_pictures(cell.samples(done[0]))), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    figure.suptitle(heading)
    return figure


def _pictures(kept: dict[str, np.ndarray]) -> np.ndarray:
    """Generated or decoded pictures, ``[n, C, H, W]``; of too many, every so many-th: those of a ring go round it in order."""
    found = kept["images"] if "images" in kept else kept["decoded"]
    count = min(SHOWN, len(found))
    found = found[np.arange(count) * len(found) // count]
    return found[:, None] if found.ndim == 3 else found


def tile(images: np.ndarray) -> np.ndarray:
    """Pictures ``[n, C, H, W]`` in a square as one, ``[height, width]`` or ``[height, width, 3]``."""
    side = int(np.ceil(np.sqrt(len(images))))
    _, channels, height, width = images.shape
    room = np.zeros((side * side, channels, height, width), images.dtype)
    room[: len(images)] = images
    whole = room.reshape(side, side, channels, height, width).transpose(0, 3, 1, 4, 2).reshape(side * height, side * width, channels)
    return whole[..., 0] if channels == 1 else whole
