"""Pictures of a flow: its curve, its particles on their way, and both for several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aswd.results.files import write_atomically
from aswd.results.statistics import mean_and_band
from aswd.results.store import Metrics

PARTICLES, TARGET = "#d1495b", "#9aa5b1"


def curve(path: Path, metrics: Metrics, title: str) -> Path:
    """log10 W2 against the iteration; of several seeds their mean and its 95 % band."""
    return curves(path, {title: metrics}, title)


def curves(path: Path, runs: dict[str, Metrics], title: str) -> Path:
    """:func:`curve` of several runs in one picture, under their names."""
    figure, axes = _figure(6, 4)
    for name, metrics in runs.items():
        logs = np.log10(np.maximum(np.asarray(metrics.values["w2"]), np.finfo(float).tiny))
        mean, low, high = mean_and_band(logs, axis=1)
        (line,) = axes.plot(metrics.steps, mean, label=f"{name} ({_seeds(metrics)})")
        axes.fill_between(metrics.steps, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set(xlabel="iteration", ylabel="log10 W2", title=title)
    axes.legend()
    axes.grid(alpha=0.3)
    return _save(figure, path)


def strip(path: Path, frames: np.ndarray, steps: Sequence[int], target: np.ndarray, title: str, columns: int = 6) -> Path:
    """Particles against the target at a few iterations, ``frames [F, N, d]``; of more than two dimensions the first two."""
    chosen = np.unique(np.linspace(0, len(frames) - 1, columns).round().astype(int))
    figure, all_axes = _figure(2.4 * len(chosen), 2.8, columns=len(chosen))
    size = 1.1 * max(np.abs(frames[chosen][..., :2]).max(), np.abs(target[:, :2]).max())
    for axes, place in zip(np.atleast_1d(all_axes), chosen, strict=True):
        axes.scatter(*target[:, :2].T, s=3, color=TARGET, linewidths=0)
        axes.scatter(*frames[place][:, :2].T, s=3, color=PARTICLES, linewidths=0)
        axes.set(xlim=(-size, size), ylim=(-size, size), aspect="equal", xticks=[], yticks=[], title=f"iteration {steps[place]}")
    figure.suptitle(title)
    return _save(figure, path)


def animation(path: Path, frames: np.ndarray, target: np.ndarray, pixels: int = 320) -> Path:
    """The particles on their way, as a GIF that repeats."""
    from PIL import Image, ImageDraw

    size = 1.1 * max(np.abs(frames[..., :2]).max(), np.abs(target[:, :2]).max())
    pictures = []
    for frame in frames:
        picture = Image.new("RGB", (pixels, pixels), "white")
        draw = ImageDraw.Draw(picture)
        for points, colour in ((target, TARGET), (frame, PARTICLES)):
            for x, y in ((points[:, :2] * [1, -1] / size + 1) * pixels / 2).tolist():
                draw.ellipse((x - 1.5, y - 1.5, x + 1.5, y + 1.5), fill=colour)
        pictures.append(picture.quantize(64))
    durations = [80] * (len(pictures) - 1) + [1500]
    options = {"save_all": True, "append_images": pictures[1:], "duration": durations, "loop": 0}
    write_atomically(path, lambda partial: pictures[0].save(partial, **options))
    return path


def _seeds(metrics: Metrics) -> str:
    return f"{len(metrics.seeds)} seeds" if len(metrics.seeds) > 1 else f"seed {metrics.seeds[0]}"


def _figure(width: float, height: float, columns: int = 1) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # without pyplot, which keeps every figure alive

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns)


def _save(figure: Any, path: Path) -> Path:
    write_atomically(path, lambda partial: figure.savefig(partial, dpi=130))
    return path
