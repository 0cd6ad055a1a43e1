"""Images of a flow: its curve, its particles on their way, and both for several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aswd.tasks import figures
from aswd.utils.files import write_atomically
from aswd.utils.metric_history import MetricHistory
from aswd.utils.statistics import mean_and_band

PARTICLES, TARGET = "#d1495b", "#9aa5b1"


def curve(path: Path, metrics: MetricHistory, title: str) -> Path:
    """log10 W2 against the iteration; of several seeds their mean and its 95 % band."""
    return curves(path, {title: metrics}, title)


def curves(path: Path, runs: dict[str, MetricHistory], title: str) -> Path:
    """:func:`curve` of several runs in one image, under their names."""
    figure, axes = figures.figure(6, 4)
    for name, metrics in runs.items():
        logs = np.log10(np.maximum(np.asarray(metrics.values["w2"]), np.finfo(float).tiny))
        mean, low, high = mean_and_band(logs, axis=1)
        (line,) = axes.plot(metrics.steps, mean, label=f"{name} ({_seeds(metrics)})")
        axes.fill_between(metrics.steps, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set(xlabel="iteration", ylabel="log10 W2", title=title)
    axes.legend()
    axes.grid(alpha=0.3)
    return figures.save(figure, path)


def strip(path: Path, frames: np.ndarray, steps: Sequence[int], target: np.ndarray, title: str, columns: int = 6) -> Path:
    """Particles against the target at a few iterations, ``frames [F, N, d]``; of more than two dimensions the first two."""
    chosen = np.unique(np.linspace(0, len(frames) - 1, columns).round().astype(int))
    figure, all_axes = figures.figure(2.4 * len(chosen), 2.8, columns=len(chosen))
    size = 1.1 * max(np.abs(frames[chosen][..., :2]).max(), np.abs(target[:, :2]).max())
    for axes, index in zip(np.atleast_1d(all_axes), chosen, strict=True):
        axes.scatter(*target[:, :2].T, s=3, color=TARGET, linewidths=0)
        axes.scatter(*frames[index][:, :2].T, s=3, color=PARTICLES, linewidths=0)
        axes.set(xlim=(-size, size), ylim=(-size, size), aspect="equal", xticks=[], yticks=[], title=f"iteration {steps[index]}")
    figure.suptitle(title)
    return figures.save(figure, path)


def animation(path: Path, frames: np.ndarray, target: np.ndarray, pixels: int = 320) -> Path:
    """The particles on their way, as a GIF that repeats."""
    size = 1.1 * max(np.abs(frames[..., :2]).max(), np.abs(target[:, :2]).max())
    dots = [[(target[:, :2], TARGET), (frame[:, :2], PARTICLES)] for frame in frames]
    return figures.animation(path, dots, size, [80] * (len(frames) - 1) + [1500], pixels)


def side_by_side(path: Path, runs: dict[str, np.ndarray], target: np.ndarray, steps: Sequence[int]) -> Path:
    """Particles of several runs on their way, in one GIF.

    Args:
        path: of the GIF.
        runs: frames ``[F, N, d]`` by name; of more than two dimensions the first two are drawn.
        target: ``[M, d]``.
        steps: the iteration of every frame.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    size = 1.1 * max(np.quantile(np.abs(points[..., :2]), 0.97) for points in (target, *runs.values()))
    figure, all_axes = figures.figure(3.2 * len(runs), 3.5, columns=len(runs))
    canvas, drawn, title = FigureCanvasAgg(figure), [], figure.suptitle("iteration 0")
    for axes, (name, frames) in zip(np.atleast_1d(all_axes), runs.items(), strict=True):
        axes.scatter(*target[:, :2].T, s=6, color=TARGET, linewidths=0)
        drawn.append((axes.scatter(*frames[0][:, :2].T, s=9, color=PARTICLES, linewidths=0), frames[..., :2]))
        axes.set(xlim=(-size, size), ylim=(-size, size), aspect="equal", xticks=[], yticks=[], title=name)
    images = []
    for index, step in enumerate(steps):
        title.set_text(f"iteration {step}")
        for dots, frames in drawn:
            dots.set_offsets(frames[index])
        canvas.draw()
        images.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3]).quantize(48))
    durations = [80] * (len(images) - 1) + [1500]
    options = {"save_all": True, "append_images": images[1:], "duration": durations, "loop": 0}
    write_atomically(path, lambda partial: images[0].save(partial, format="GIF", **options))
    return path


def _seeds(metrics: MetricHistory) -> str:
    return f"{len(metrics.seeds)} seeds" if len(metrics.seeds) > 1 else f"seed {metrics.seeds[0]}"
