"""Images of an autoencoder: its curves, its codes beside the prior, reconstructions, decoded samples, a walk over the codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from aswd.tasks import figures
from aswd.utils.metric_history import MetricHistory

COLUMNS, WALK = 10, 20  # images in a row of a sheet, and of the walk
_CURVES = {
    "w2": "W2(prior, test codes)",
    "bce": "test BCE per pixel, nats",
    "l1": "test L1 per pixel",
    "distance_value": "distance, last batch",
}


def square(prior: np.ndarray, count: int = WALK) -> np.ndarray:
    """Codes on a ``count`` x ``count`` grid over the square that the prior fills, ``[count^2, d]`` in rows from the top; a line if d is 1.

    Of more than two dimensions the first two are walked, and the others stay at zero.
    """
    reach = np.quantile(np.abs(prior[:, :2]), 0.99)
    axis = np.linspace(-reach, reach, count, dtype=prior.dtype)
    if prior.shape[1] == 1:
        return axis[:, None]
    y, x = np.meshgrid(axis[::-1], axis, indexing="ij")
    return np.pad(np.stack([x.ravel(), y.ravel()], 1), ((0, 0), (0, prior.shape[1] - 2)))


def sheet(path: Path, images: np.ndarray, columns: int = COLUMNS) -> Path:
    """A PNG of grey ``images``, uint8 ``[n, height, width]``."""
    return figures.grid(path, images[:, None], min(columns, len(images)))


def pairs(path: Path, originals: np.ndarray, reconstructions: np.ndarray) -> Path:
    """Rows of originals, each above the row of its reconstructions; a last row that is not full is left out."""
    width = min(COLUMNS, len(originals))
    full = len(originals) // width * width
    rows = [images[:full].reshape(-1, 1, width, *images.shape[1:]) for images in (originals, reconstructions)]
    return sheet(path, np.concatenate(rows, 1).reshape(-1, *originals.shape[1:]), width)


def latent(path: Path, codes: np.ndarray, labels: np.ndarray | None, prior: np.ndarray, title: str) -> Path:
    """The codes, coloured by class where there are any, beside the prior, at one scale; of more than two dimensions the first two."""
    figure, (left, right) = figures.figure(10, 5.2, columns=2)
    codes, prior = (_in_the_plane(points) for points in (codes, prior))
    limits = 1.05 * max(np.abs(codes).max(), np.abs(prior).max())
    if labels is None:
        left.scatter(*codes.T, s=5, linewidths=0)
    else:
        for number, label in enumerate(np.unique(labels)):
            left.scatter(*codes[labels == label].T, s=5, linewidths=0, color=f"C{number % 10}", label=str(label))
        figure.legend(loc="outside right center", markerscale=4, frameon=False)
    right.scatter(*prior.T, s=5, linewidths=0, color="#9aa5b1")
    for axes, name in ((left, "test codes"), (right, "prior")):
        axes.set(xlim=(-limits, limits), ylim=(-limits, limits), aspect="equal", title=name)
        axes.grid(alpha=0.3)
    figure.suptitle(title)
    return figures.save(figure, path)


def curves(path: Path, metrics: MetricHistory, title: str) -> Path:
    """W2, the errors of reconstruction and the distance against the iteration."""
    figure, all_axes = figures.figure(14, 3.4, columns=len(_CURVES))
    for axes, (name, label) in zip(all_axes, _CURVES.items(), strict=True):
        axes.plot(metrics.steps, np.asarray(metrics.values[name]), marker=".")
        axes.set(xlabel="iteration", title=label)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    figure.suptitle(title)
    return figures.save(figure, path)


def _in_the_plane(points: np.ndarray) -> np.ndarray:
    return points[:, :2] if points.shape[1] > 1 else np.pad(points, ((0, 0), (0, 1)))
