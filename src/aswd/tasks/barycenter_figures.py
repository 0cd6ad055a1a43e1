"""Images of barycenters: the paper's triangle for three clouds, a strip and an animation for two, a row for any other number."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aswd.tasks import figures

_CORNERS = np.array([[0.5, np.sqrt(3) / 2], [0, 0], [1, 0]])  # of the triangle: first cloud at the top, then left and right
_RED, _GREEN, _BLUE = (0.85, 0.1, 0.1), (0.1, 0.65, 0.15), (0.1, 0.2, 0.85)


def draw(
    folder: Path, particles: np.ndarray, exact: np.ndarray, clouds: Sequence[np.ndarray], weights: np.ndarray, title: str
) -> list[Path]:
    """All images of barycenters ``[W, N, d]`` of ``clouds``, with ``weights [W, K]``; ``exact`` are those of reference."""
    ours, theirs = plane(particles), plane(exact)
    if weights.shape[1] == 3 and len(weights) > 1:
        return [
            triangle(folder / "barycenters.png", ours, weights, title),
            triangle(folder / "exact.png", theirs, weights, f"{title}: exact Wasserstein barycenters"),
        ]
    if len(weights) == 1:
        return [row(folder / "barycenters.png", ours[0], theirs[0], [plane(cloud) for cloud in clouds], weights[0], title)]
    return [
        strip(folder / "barycenters.png", ours, theirs, weights, title),
        animation(folder / "barycenters.gif", ours, weights),
    ]


def plane(points: np.ndarray) -> np.ndarray:
    """``[..., d]`` as ``[..., 2]``: space is seen from above at the right, of more dimensions the first two are shown."""
    dim = points.shape[-1]
    if dim == 3:
        turn, tilt = np.radians([30, 20])
        right = [np.cos(turn), 0, -np.sin(turn)]
        up = [-np.sin(tilt) * np.sin(turn), np.cos(tilt), -np.sin(tilt) * np.cos(turn)]
        return points @ np.array([right, up]).T
    return np.pad(points, [(0, 0)] * (points.ndim - 1) + [(0, 1)]) if dim == 1 else points[..., :2]


def colours(weights: np.ndarray) -> np.ndarray:
    """Colours of mixtures ``[W, K]``, mixed from those of the clouds, ``[W, 3]``: red, green, blue for three, red and blue for two.

    >>> colours(np.array([[0.5, 0.5]])).tolist()
    [[0.475, 0.15000000000000002, 0.475]]
    """
    count = weights.shape[1]
    pure = {1: [_RED], 2: [_RED, _BLUE], 3: [_RED, _GREEN, _BLUE]}.get(count)
    return weights @ np.array(pure or [colorsys.hsv_to_rgb(k / count, 0.85, 0.8) for k in range(count)])


def triangle(path: Path, points: np.ndarray, weights: np.ndarray, title: str) -> Path:
    """Barycenters ``[W, N, 2]`` of three clouds, each at the position of its weights."""
    figure, axes = figures.figure(8, 7.5)
    _, size = _box(points)
    side = 2 * size / weights[weights > 0].min()  # the least weight is one step of the grid
    for cloud, position, colour in zip(points, weights @ _CORNERS * side, colours(weights), strict=True):
        axes.scatter(*(cloud + position).T, s=2, color=colour, linewidths=0)
    axes.set(aspect="equal", xticks=[], yticks=[], title=title)
    axes.axis("off")
    return figures.save(figure, path)


def strip(path: Path, ours: np.ndarray, theirs: np.ndarray, weights: np.ndarray, title: str) -> Path:
    """Barycenters ``[W, N, 2]`` along the weights, over the exact ones."""
    figure, axes = figures.figure(1.5 * len(weights), 3.8, columns=len(weights), rows=2)
    box = _box(ours, theirs)
    for line, name, points in zip(axes, ("barycenter", "exact"), (ours, theirs), strict=True):
        for panel, cloud, colour in zip(line, points, colours(weights), strict=True):
            _dots(panel, cloud, colour, box)
        line[0].set_ylabel(name)
    for panel, mixture in zip(axes[0], weights, strict=True):
        panel.set_title(", ".join(f"{weight:.3g}" for weight in mixture), fontsize="small")
    figure.suptitle(title)
    return figures.save(figure, path)


def row(path: Path, ours: np.ndarray, theirs: np.ndarray, clouds: Sequence[np.ndarray], weights: np.ndarray, title: str) -> Path:
    """The clouds, their one barycenter ``[N, 2]`` and the exact one."""
    panels = [*zip(clouds, [f"{weight:.3g}" for weight in weights], np.eye(len(clouds)), strict=True)]
    panels += [(ours, "barycenter", weights), (theirs, "exact", weights)]
    figure, axes = figures.figure(2.4 * len(panels), 2.9, columns=len(panels))
    box = _box(ours, theirs, *clouds)
    for panel, (points, name, mixture) in zip(axes, panels, strict=True):
        _dots(panel, points, colours(mixture[None])[0], box)
        panel.set_title(name)
    figure.suptitle(title)
    return figures.save(figure, path)


def animation(path: Path, points: np.ndarray, weights: np.ndarray) -> Path:
    """From the first mixture to the last and back, as a GIF that repeats."""
    shades = ["#" + bytes((255 * colour).astype(np.uint8)).hex() for colour in colours(weights)]
    there = list(range(len(points)))
    order = there + there[-2:0:-1]
    durations = [900 if index in (0, len(points) - 1) else 120 for index in order]
    middle, size = _box(points)
    return figures.animation(path, [[(points[index] - middle, shades[index])] for index in order], size, durations)


def _box(*clouds: np.ndarray) -> tuple[np.ndarray, float]:
    """The middle and half the side of a square that holds all, with a margin."""
    every = np.concatenate([cloud.reshape(-1, 2) for cloud in clouds])
    low, high = every.min(0), every.max(0)
    return (low + high) / 2, 1.1 * max(float((high - low).max()) / 2, 1e-6)


def _dots(panel: Any, points: np.ndarray, colour: np.ndarray, box: tuple[np.ndarray, float]) -> None:
    (x, y), size = box
    panel.scatter(*points.T, s=2, color=colour, linewidths=0)
    panel.set(xlim=(x - size, x + size), ylim=(y - size, y + size), aspect="equal", xticks=[], yticks=[])
