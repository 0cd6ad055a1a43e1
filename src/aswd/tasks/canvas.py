"""What the images of tasks are drawn on: figures without pyplot, and animations of dots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aswd.utils.files import write_atomically

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
