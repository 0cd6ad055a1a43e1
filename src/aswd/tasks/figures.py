"""What images of tasks are made of: figures without pyplot, animations of dots, grids of images, curves of metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aswd.utils.files import write_atomically
from aswd.utils.metric_history import MetricHistory
from aswd.utils.statistics import mean_and_band

Dots = tuple[np.ndarray, str]  # points [N, 2], and their colour


def figure(width: float, height: float, columns: int = 1, rows: int = 1) -> tuple[Any, Any]:
    """A figure of so many inches, and its axes."""
    from matplotlib.figure import Figure  # without pyplot, which keeps every figure alive

    made = Figure(figsize=(width, height), layout="constrained")
    return made, made.subplots(rows, columns)


def save(figure: Any, path: Path) -> Path:
    """Write a figure; returns its path."""
    write_atomically(path, lambda partial: figure.savefig(partial, dpi=130))
    return path


def animation(path: Path, frames: Sequence[Sequence[Dots]], size: float, durations: Sequence[int], pixels: int = 320) -> Path:
    """Dots on the square [-size, size]^2, as a GIF that repeats; ``durations`` of the frames in milliseconds."""
    from PIL import Image, ImageDraw

    images = []
    for frame in frames:
        image = Image.new("RGB", (pixels, pixels), "white")
        draw = ImageDraw.Draw(image)
        for points, colour in frame:
            for x, y in ((points * [1, -1] / size + 1) * pixels / 2).tolist():
                draw.ellipse((x - 1.5, y - 1.5, x + 1.5, y + 1.5), fill=colour)
        images.append(image.quantize(64))
    options = {"save_all": True, "append_images": images[1:], "duration": list(durations), "loop": 0}
    write_atomically(path, lambda partial: images[0].save(partial, **options))
    return path


def tiled(images: np.ndarray, columns: int | None = None, gap: int = 2) -> np.ndarray:
    """One image ``[height, width, channels]`` of many, ``images [n, channels, height, width]``, row by row with gaps in between.

    >>> tiled(np.zeros((5, 3, 8, 8), np.uint8), columns=3).shape
    (18, 28, 3)
    """
    n, channels, height, width = images.shape
    columns = columns or math.ceil(math.sqrt(n))
    rows = math.ceil(n / columns)
    sheet = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap, channels), 255, images.dtype)
    for index, image in enumerate(images):
        top, left = index // columns * (height + gap), index % columns * (width + gap)
        sheet[top : top + height, left : left + width] = image.transpose(1, 2, 0)
    return sheet


def grid(path: Path, images: np.ndarray, columns: int | None = None) -> Path:
    """A PNG of ``images``, uint8 ``[n, channels, height, width]`` with one or three channels; small ones are magnified."""
    from PIL import Image

    if images.dtype != np.uint8:
        raise ValueError(f"images must be uint8, so that nothing is clipped or wraps around here; got {images.dtype}")
    magnification = max(1, 64 // images.shape[-1])
    images = images.repeat(magnification, axis=2).repeat(magnification, axis=3)
    sheet = Image.fromarray(tiled(images, columns).squeeze())
    write_atomically(path, sheet.save)
    return path


def curve(path: Path, metrics: MetricHistory, name: str, title: str) -> Path:
    """A metric against the iteration, where it was computed; of several seeds their mean and its 95 % band."""
    values = np.asarray(metrics.values[name])
    taken = np.isfinite(values).all(1)
    steps, (mean, low, high) = np.asarray(metrics.steps)[taken], mean_and_band(values[taken], axis=1)
    drawn, axes = figure(6, 4)
    (line,) = axes.plot(steps, mean, marker="." if len(steps) < 30 else None)
    axes.fill_between(steps, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set(xlabel="iteration", ylabel=name, title=title)
    axes.grid(alpha=0.3)
    return save(drawn, path)
