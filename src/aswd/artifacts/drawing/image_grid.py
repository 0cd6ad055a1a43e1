"""Generated images: a block per data set and series, of the first seed that is done."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact
from aswd.artifacts.views import View, images

SHOWN = 64  # images per block


def draw(artifact: Artifact, cells: list[Cell], heading: str) -> Figure:
    """Rows of data sets, columns of series."""
    data, labels = (list(dict.fromkeys(values)) for values in zip(*((cell.data, cell.label) for cell in cells), strict=True))
    figure = Figure(figsize=(2.6 * len(labels) + 0.5, 2.8 * len(data) + 0.8), layout="constrained")
    grid = figure.subplots(len(data), len(labels), squeeze=False)
    for cell in cells:
        axes = grid[data.index(cell.data), labels.index(cell.label)]
        axes.set_axis_off()
        done = cell.done
        seed = f"seed {done[0]}" if done else "no run yet"
        axes.set_title(f"{cell.label} ({cell.data}, {seed})", fontsize=8)
        if done:
            axes.imshow(tile(_select_images(cell.samples(done[0]))), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    figure.suptitle(heading)
    return figure


def _select_images(samples: dict[str, np.ndarray]) -> np.ndarray:
    """Generated or decoded images ``[n, C, H, W]``; evenly spaced if there are too many, since those of a ring are in its order."""
    images = samples["images"] if "images" in samples else samples["decoded"]
    count = min(SHOWN, len(images))
    images = images[np.arange(count) * len(images) // count]
    return images[:, None] if images.ndim == 3 else images


def tile(images: np.ndarray) -> np.ndarray:
    """Images ``[n, C, H, W]`` in a square as one image, ``[height, width]`` or ``[height, width, 3]``."""
    side = int(np.ceil(np.sqrt(len(images))))
    _, channels, height, width = images.shape
    padded = np.zeros((side * side, channels, height, width), images.dtype)
    padded[: len(images)] = images
    whole = padded.reshape(side, side, channels, height, width).transpose(0, 3, 1, 4, 2).reshape(side * height, side * width, channels)
    return whole[..., 0] if channels == 1 else whole


def views(artifact: Artifact, cells: list[Cell]) -> list[View]:
    """The blocks at full size."""
    shown = {}
    for cell in cells:
        if cell.done:
            shown[f"{cell.label} ({cell.data}, seed {cell.done[0]})"] = tile(_select_images(cell.samples(cell.done[0])))
    return images("Images", shown)
