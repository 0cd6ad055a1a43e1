r"""The paper's first figure: two Gaussians along random directions.

The clouds are N(0, I) and N(m, I) with norm(m) = 5 (the paper gives no numbers). Along a direction their projections have a 1-D
distance; in units of the spread of the projected clouds it does not depend on how far g stretches space. Below one, the two overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas
import torch
from matplotlib.figure import Figure
from torch import Tensor

from aswd.artifacts import views as report_views
from aswd.artifacts.declaration import Artifact, Scale
from aswd.artifacts.drawing import Measurement
from aswd.artifacts.results import Numbers
from aswd.distances import build, wasserstein_1d
from aswd.distances.streams import Streams
from aswd.utils.progress import progress_bar

SHIFT, SAMPLES, CALLS = 5.0, 500, 30  # calls of the distance, of M inner steps each, before it is projected on new directions
LABELS = ("ASWD", "SWD")


@dataclass(frozen=True)
class View:
    """Two clouds and their projections on the directions of a distance."""

    x: Tensor  # [N, d]
    y: Tensor
    u: Tensor  # values on the line, [L, N]
    v: Tensor

    @property
    def distances(self) -> np.ndarray:
        """W2 along every direction."""
        return wasserstein_1d(self.u, self.v).numpy()

    @property
    def separation(self) -> np.ndarray:
        """W2 along every direction in units of the spread of the projected clouds."""
        spread = ((self.u.var(1) + self.v.var(1)) / 2).sqrt()
        return (wasserstein_1d(self.u, self.v) / spread).numpy()


def project_clouds(label: str, dim: int, num_projections: int, seed: int, reading: str) -> View:
    """Optimise the distance on the clouds, then project them on new directions."""
    rng = np.random.default_rng([seed, dim])
    x, y = (torch.from_numpy(rng.standard_normal((SAMPLES, dim))).float() for _ in range(2))
    y = y + SHIFT / dim**0.5
    distance = build(label.lower(), reading=reading, num_projections=num_projections, seed=seed)
    for _ in range(CALLS if distance.maximiser else 1):
        distance(x, y)
    learned = dict(distance.learned.named_buffers())
    streams = Streams(seed + 1)
    streams.prepare(1, x.device, x.dtype)
    theta = streams.sphere(num_projections, distance.projection.direction_dim(dim))
    u, v = (distance.projection.values(distance.projection.features(side[None], learned), theta)[0] for side in (x, y))
    return View(x, y, u, v)


def _views(scale: Scale, reading: str) -> dict[str, list[View]]:
    """Views in 100 dimensions, one per seed."""
    jobs = [(label, seed) for label in LABELS for seed in range(scale.seeds)]
    views: dict[str, list[View]] = {label: [] for label in LABELS}
    for label, seed in progress_bar(jobs, what="projections", unit="view"):
        views[label].append(project_clouds(label, 100, scale.num_projections, seed, reading))
    return views


def overlapping_shares(views: list[View]) -> dict[int, float]:
    """For every seed the share of directions along which the clouds are closer than their spread."""
    return {seed: float((view.separation < 1).mean()) for seed, view in enumerate(views)}


def _draw(scale: Scale, reading: str, views: dict[str, list[View]], heading: str) -> Figure:
    """Above: the clouds in the plane, lifted by their projections on one direction. Below: histograms over directions."""
    figure = Figure(figsize=(11, 8.5), layout="constrained")
    for column, label in enumerate(LABELS):
        view = project_clouds(label, 2, scale.num_projections, 0, reading)
        best = int(np.argsort(view.separation)[len(view.separation) // 2])  # the direction of median separation
        axes = figure.add_subplot(2, 2, column + 1, projection="3d")
        for points, values, colour in ((view.x, view.u[best], "C0"), (view.y, view.v[best], "C3")):
            axes.scatter(*points.T.numpy(), values.numpy(), s=4, color=colour)
        axes.set(title=f"{label}: two Gaussians in the plane, one direction", xlabel="X", ylabel="Y", zlabel="projection")
        histogram = figure.add_subplot(2, 2, column + 3)
        separation = np.concatenate([view.separation for view in views[label]])
        histogram.hist(separation, bins=60, color="C7")
        histogram.axvline(1, color="C3", linewidth=1)
        share = np.mean(list(overlapping_shares(views[label]).values()))
        histogram.set(title=f"{label} in 100 dimensions: {share:.0%} of directions overlap (n = {len(views[label])})")
        histogram.set(xlabel="1-D distance in units of the spread", ylabel="directions")
    figure.suptitle(heading)
    return figure


def _histograms(views: dict[str, list[View]]) -> list[report_views.View]:
    """The share of directions by 1-D distance, of every seed."""
    edges = np.histogram_bin_edges(np.concatenate([view.separation for each in views.values() for view in each]), 60)
    series = []
    for label, each in views.items():
        shares = np.stack([np.histogram(view.separation, edges)[0] / len(view.separation) for view in each], 1)
        series.append(report_views.curve(label, (edges[1:] + edges[:-1]) / 2, shares, range(len(each))))
    panel = report_views.panel("100 dimensions", "1-D distance in units of the spread", "share of directions", series)
    return report_views.curves("Separation of two Gaussians along random directions", [panel])


def measure(artifact: Artifact, scale: Scale, reading: str, heading: str) -> Measurement:
    """The first figure: distances between the projections of two clouds, for every seed, direction and label."""
    views = _views(scale, reading)
    shares = {label: overlapping_shares(each) for label, each in views.items()}
    curves = pandas.DataFrame(
        [
            {"label": label, "seed": seed, "direction": direction, "distance": distance, "separation": separation}
            for label, each in views.items()
            for seed, view in enumerate(each)
            for direction, (distance, separation) in enumerate(zip(view.distances, view.separation, strict=True))
        ]
    )
    cells = [Numbers(artifact.data[0], label, list(each), {artifact.metric: each}) for label, each in shares.items()]
    return Measurement(_draw(scale, reading, views, heading), curves, cells, _histograms(views))
