"""Repainting an image by its palette, how much of its drawing is left, and images of that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from aswd.data.palettes import Palette
from aswd.data.photograph_files import Photograph
from aswd.utils.files import write_atomically

_LUMINANCE = np.array([0.299, 0.587, 0.114])  # ITU-R BT.601


def new_colours(colours: np.ndarray, palette: Palette, centres: np.ndarray, keep_detail: bool) -> np.ndarray:
    """What becomes of ``colours [n, 3]`` when the centres of their palette become ``centres [K, 3]``, within [0, 1].

    Every colour becomes its cluster's new centre; with ``keep_detail`` plus its offset from the old one.
    """
    offsets = colours - palette.centres[palette.labels] if keep_detail else 0
    return np.clip(centres[palette.labels] + offsets, 0, 1)


def gradient_similarity(image: Photograph, colours: np.ndarray) -> float:
    """How far the drawing of an image outlives new ``colours [n, 3]`` in place of its own.

    It is the correlation, over all pixels, between the lengths of the luminance's gradient (forward differences) before and after: 1 for
    the same drawing in any contrast, about 0 for noise, 0 where nothing is left of it.
    """
    before, after = (_gradient_lengths(values @ _LUMINANCE, image) for values in (image.colours, colours))
    spread = before.std(dtype=np.float64) * after.std(dtype=np.float64)
    if spread == 0:
        return 0.0
    covariance = np.mean((before - before.mean(dtype=np.float64)) * (after - after.mean(dtype=np.float64)), dtype=np.float64)
    return float(covariance / spread)


def sharpness_and_contrast(image: Photograph, colours: np.ndarray) -> tuple[float, float]:
    """Mean length of the luminance's gradient, and standard deviation of the luminance, of an image with new ``colours [n, 3]``."""
    luminance = colours @ _LUMINANCE
    plane = luminance.astype(np.float32)[image.places]
    return float(_gradient_lengths(luminance, image).mean(dtype=np.float64)), float(plane.std(dtype=np.float64))


def _gradient_lengths(luminance: np.ndarray, image: Photograph) -> np.ndarray:
    plane = luminance.astype(np.float32)[image.places].reshape(image.size)
    across, down = np.diff(plane, axis=1, append=plane[:, -1:]), np.diff(plane, axis=0, append=plane[-1:])
    return np.hypot(across, down, out=across)


def small(image: Photograph, width: int = 256) -> Image.Image:
    """The image, at most ``width`` pixels wide."""
    image = image.image()
    height = max(1, round(image.height * width / image.width))
    return image if image.width <= width else image.resize((width, height), Image.Resampling.BOX, reducing_gap=None)


def side_by_side(images: dict[str, Photograph], height: int = 360) -> Image.Image:
    """Images of one height in a row over a white ground, their names below."""
    margin, line = 8, 18
    images = {name: image.image() for name, image in images.items()}
    sizes = {name: (max(1, round(image.width * height / image.height)), height) for name, image in images.items()}
    sheet = Image.new("RGB", (sum(size[0] + margin for size in sizes.values()) + margin, height + 2 * margin + line), "white")
    pen, font, left = ImageDraw.Draw(sheet), ImageFont.load_default(13), margin
    for name, image in images.items():
        shown = image.resize(sizes[name], Image.Resampling.LANCZOS)
        sheet.paste(shown, (left, margin), shown if shown.mode == "RGBA" else None)
        pen.text((left, height + margin + 2), name, fill="black", font=font)
        left += sizes[name][0] + margin
    return sheet


def save(path: Path, image: Image.Image) -> Path:
    """Write an image, whole or not at all."""
    write_atomically(path, lambda partial: image.save(partial))
    return path
