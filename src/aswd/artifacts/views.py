"""What the page of ``aswd report`` lets people play with, as plain data: curves, moving particles, clouds of points, images.

A view is a dictionary that becomes JSON; its ``kind`` names the function of ``report/page.js`` that shows it. Arrays are thinned to what a
screen shows, and packed.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from aswd.artifacts.cells import Cell
from aswd.artifacts.claims import MIN_SEEDS
from aswd.artifacts.declaration import Artifact, split_label
from aswd.artifacts.quantities import Quantity
from aswd.tasks.barycenter_figures import plane
from aswd.utils.statistics import mean_and_band

View = dict[str, Any]
MAX_STEPS, MIN_STEPS, MAX_VALUES, MAX_SEEDS = 150, 50, 4000, 10  # of a curve; steps of all curves of a view; seeds that are shown
MAX_FRAMES, MAX_PARTICLES, MAX_TARGET, MAX_MOVING = 20, 100, 200, 12  # of particles: steps, points of each and of the target, cells
MAX_POINTS = 1000  # of a cloud
ROOM = 1.3  # of the box of moving particles, beyond where they end
_UNIT = 32000  # half the side of the box that holds particles, as they are packed


def pack(values: Any, dtype: str = "<f4") -> dict[str, Any]:
    """An array as JSON: type, shape, and its bytes in base64."""
    array = np.ascontiguousarray(values, dtype)
    return {"type": dtype.strip("<"), "shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode()}


def thin(count: int, most: int) -> np.ndarray:
    """Indices of at most ``most`` of ``count`` things, evenly spaced, the first and the last among them.

    >>> thin(5, 3).tolist(), thin(2, 3).tolist()
    ([0, 2, 4], [0, 1])
    """
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def curve(
    label: str, x: np.ndarray, values: np.ndarray, seeds: Sequence[int], average: str = "mean", steps: int = MAX_STEPS
) -> dict[str, Any]:
    """One series.

    Args:
        label: of the series.
        x: ``[K]``.
        values: of every seed, ``[K, S]``.
        seeds: their numbers.
        average: ``"mean"``, with its 95 % band where there are enough seeds, or ``"median"``; of all seeds.
        steps: at most.
    """
    chosen = thin(len(x), steps)
    x, values = np.asarray(x)[chosen], np.asarray(values)[chosen]
    summary = [np.median(values, axis=1)] if average == "median" else mean_and_band(values, axis=1)[: 3 if len(seeds) >= MIN_SEEDS else 1]
    shown = list(seeds)[:MAX_SEEDS]
    return {"label": label, "x": pack(x), "values": pack(values.T[: len(shown)]), "seeds": shown, "summary": pack(np.stack(summary))}


def panel(title: str, x: str, y: str, series: Sequence[dict[str, Any]], **scales: str) -> dict[str, Any]:
    """Axes with their series.

    Args:
        title: of the panel.
        x: name of the axis.
        y: name of the axis; values of a metric ``log10_<name>`` are logarithms.
        series: from :func:`curve`.
        **scales: ``x_scale`` and ``y_scale``, ``"linear"`` or ``"log"``.
    """
    return {"title": title, "x": x, "y": y, "series": list(series), **scales}


def curves(title: str, panels: Sequence[dict[str, Any]], each: str = "seed", average: str = "mean") -> list[View]:
    """Panels of curves; ``each`` is what is repeated. No view if there are no curves."""
    drawn = [panel for panel in panels if panel["series"]]
    return [{"kind": "curves", "title": title, "each": each, "average": average, "panels": drawn}] if drawn else []


def metric_curves(artifact: Artifact, cells: Sequence[Cell]) -> list[View]:
    """The metrics of an artifact against the iteration: a panel per data set and metric."""
    panels = []
    metrics = [metric for metric in (artifact.metric, *artifact.also) if Quantity.of(metric).step is None]
    steps = min(MAX_STEPS, max(MIN_STEPS, MAX_VALUES // max(1, len(cells) * len(metrics))))
    for data in dict.fromkeys(cell.data for cell in cells):
        for metric in metrics:
            found = [(cell, cell.curves(metric)) for cell in cells if cell.data == data]
            series = [
                curve(cell.label, *of_cell, cell.done, steps=steps)
                for cell, of_cell in found
                if of_cell is not None and len(of_cell[0]) > 1
            ]
            panels.append(panel(data, "iteration", metric, series))
    return curves("Curves", panels)


def final_curves(cells: Sequence[Cell], metric: str, position: Callable[[Cell], float]) -> list[dict[str, Any]]:
    """The final values of a metric over the ``position`` of cells: one series per distance, over its numbers of directions."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.values(metric):
            groups.setdefault(split_label(cell.label)[0], []).append(cell)
    made = []
    for distance, mine in groups.items():
        finals = [cell.values(metric) for cell in mine]
        seeds = sorted(set.intersection(*map(set, finals)))
        if seeds:
            values = np.array([[each[seed] for seed in seeds] for each in finals])
            made.append(curve(distance, np.array([position(cell) for cell in mine]), values, seeds))
    return made


def published_curve(label: str, values: Mapping[float, float]) -> dict[str, Any]:
    """Values of a paper by position, shown with the series of the same label."""
    line = pack(np.array([list(values.values())]))
    return {"label": label, "published": True, "x": pack(list(values)), "values": line, "seeds": [], "summary": line}


def particles(title: str, unit: str, groups: Sequence[dict[str, Any]]) -> list[View]:
    """Particles that move, groups of panels with one slider; ``unit`` names what the slider moves through."""
    groups = [group for group in groups if group["panels"]]
    return [{"kind": "particles", "title": title, "unit": unit, "groups": groups}] if groups else []


def moving(
    title: str,
    frames: Mapping[str, tuple[Sequence[Any], np.ndarray]],
    target: np.ndarray | None = None,
    colours: Mapping[Any, str] | None = None,
) -> dict[str, Any]:
    """Panels of particles that move together.

    Args:
        title: of the group.
        frames: label -> steps, numbers or texts, and the particles at them, ``[F, N, d]``.
        target: points that do not move, ``[M, d]``.
        colours: of the particles by step; default: one colour.
    """
    steps: dict[str, list[Any]] = {}
    moved: dict[str, np.ndarray] = {}
    for label, (every, points) in frames.items():
        chosen = thin(len(every), MAX_FRAMES)
        steps[label] = [every[index] for index in chosen]
        moved[label] = plane(points[chosen][:, thin(points.shape[1], MAX_PARTICLES)])
    still = [] if target is None else [plane(target[thin(len(target), MAX_TARGET)])]
    # What starts far away comes into the box later.
    centre, half = box([*(each[-1] for each in moved.values()), *still])
    half *= ROOM
    union = list(dict.fromkeys(step for each in steps.values() for step in each))
    return {
        "title": title,
        "steps": union if isinstance(union[0], str) else sorted(union),
        "target": pack_points(still[0], centre, half) if still else None,
        "colours": colours,
        "panels": [{"label": label, "steps": steps[label], "frames": pack_points(each, centre, half)} for label, each in moved.items()],
    }


def clouds(title: str, groups: Mapping[str, tuple[np.ndarray, np.ndarray | None]]) -> list[View]:
    """Clouds of points at one scale: title -> points ``[N, d]`` and their classes ``[N]``, if they have any."""
    if not groups:
        return []
    flat = {name: plane(points) for name, (points, _) in groups.items()}
    centre, half = box(list(flat.values()))
    panels = []
    for name, (_, classes) in groups.items():
        chosen = thin(len(flat[name]), MAX_POINTS)
        packed = None if classes is None else pack(classes[chosen], "<i2")
        panels.append({"label": name, "points": pack(flat[name][chosen]), "classes": packed})
    return [{"kind": "clouds", "title": title, "centre": centre.tolist(), "half": half, "panels": panels}]


def images(title: str, items: Mapping[str, np.ndarray]) -> list[View]:
    """Images by title: uint8 ``[height, width]`` or ``[height, width, channels]``."""
    shown = [
        {"label": label, "width": pixels.shape[1], "height": pixels.shape[0], "source": data_address(Image.fromarray(pixels))}
        for label, pixels in items.items()
    ]
    return [{"kind": "images", "title": title, "items": shown}] if shown else []


def figure_pixels(figure: Figure, dpi: int = 80) -> np.ndarray:
    """A figure as an image for :func:`images`."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=dpi)
    return np.asarray(Image.open(buffer).convert("RGB"))


def data_address(image: Image.Image, quality: int = 85) -> str:
    """An image as a ``data:`` address, in WebP."""
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=quality, method=6)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()


def box(groups: Sequence[np.ndarray]) -> tuple[np.ndarray, float]:
    """The middle and half the side of a square that holds all points ``[..., 2]``, with a margin."""
    points = np.concatenate([group.reshape(-1, 2) for group in groups]).astype(float)
    low, high = points.min(0), points.max(0)
    return (low + high) / 2, 1.05 * max(float((high - low).max()) / 2, 1e-6)


def pack_points(points: np.ndarray, centre: np.ndarray, half: float) -> dict[str, Any]:
    """Points as integers that are at most 32000 within a square; those outside are put at its edge."""
    return pack(np.clip((points - centre) / half * _UNIT, -_UNIT, _UNIT).round(), "<i2")
