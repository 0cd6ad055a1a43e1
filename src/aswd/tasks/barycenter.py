"""Barycenters of clouds of points, for all weights at once (appendix on the sliced Wasserstein barycenter)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from aswd.data.configs import ShapesConfig
from aswd.data.shapes import Shapes
from aswd.distances import options
from aswd.metrics import exact_wasserstein, free_support_barycenter
from aswd.tasks import barycenter_figures, flow_figures
from aswd.tasks.base import Task
from aswd.tasks.configs import BarycenterConfig
from aswd.tasks.flow import held_down_defaults
from aswd.tasks.particles import source
from aswd.utils.metric_history import MetricHistory

_NUM_PROJECTIONS = 100


class Barycenter(Task):
    r"""Particles :math:`x_w` for each of W mixtures w of K clouds :math:`\mu_i` go down

    .. math:: \sum_i w_i D(x_w, \mu_i)^p.

    All pairs of a mixture and a cloud with :math:`w_i > 0` are one batch of replicas of the distance. What D learns, each pair learns for
    itself. The random numbers of a seed are the same for all of its pairs: with directions in common, what pulls towards
    one cloud and what pulls towards another cancel at the barycenter, direction by direction, and not only on average; and a mixture gets
    the same numbers alone as in a grid.

    Args:
        settings: see :class:`BarycenterConfig`.
        data: the clouds.
        distance: D.
        seeds: one a replica.
    """

    headline = "w2"
    data_kind = "clouds"
    batches_seeds = True
    small_tensors = True

    def __init__(self, settings: BarycenterConfig, data: Shapes, distance: nn.Module, seeds: Sequence[int]) -> None:
        super().__init__(distance, seeds)
        self.settings = settings
        clouds = data.samples()
        self.sizes = [cloud.shape[1] for cloud in clouds]
        self.mixtures = settings.mixtures(len(clouds))
        mixture, cloud = np.nonzero(self.mixtures)
        self.pairs = list(zip(mixture.tolist(), cloud.tolist(), strict=True))
        count, largest, dim = settings.num_particles or max(self.sizes), max(self.sizes), clouds[0].shape[2]
        start = torch.stack([source(settings, count, dim, seed) for seed in seeds])
        self.particles = nn.Parameter(start[:, None].repeat(1, len(self.mixtures), 1, 1))  # [S, W, N, d]

        def held(name: str, value: Tensor, persistent: bool = False) -> None:
            self.register_buffer(name, value, persistent=persistent)

        # Points of smaller clouds stand there more than once, and share their weight.
        places = [torch.arange(largest) % size for size in self.sizes]
        held("clouds", torch.stack([cloud[:, place] for cloud, place in zip(clouds, places, strict=True)], 1))  # [S, K, M, d]
        shares = torch.stack([1 / place.bincount()[place] / len(place.unique()) for place in places])
        held("cloud_weights", None if len(set(self.sizes)) == 1 else shares[cloud])  # [P, M]
        held("of_mixture", torch.from_numpy(mixture))  # [P]
        held("to_cloud", torch.from_numpy(cloud))
        held("pair_weights", torch.from_numpy(self.mixtures[mixture, cloud]).float())
        # Kept through checkpoints: costly. Not finite before they are found.
        held("exact", torch.full_like(self.particles, torch.nan, requires_grad=False), persistent=True)
        held("exact_objective", torch.full((len(self.seeds),), torch.nan, dtype=torch.float64), persistent=True)
        if hasattr(distance, "reset"):
            distance.reset([seed for seed in seeds for _ in self.pairs])
        self._values: Tensor | None = None

    @classmethod
    def distance_defaults(cls, name: str, reading: str) -> dict[str, Any]:
        """The flow's for distances that do not go to zero, with fewer projections: there are tens of problems at a time, and directions
        are drawn anew at each step.
        """
        given = held_down_defaults(name, reading)
        return {**given, "num_projections": _NUM_PROJECTIONS} if "num_projections" in options(name) else given

    @classmethod
    def check(cls, settings: BarycenterConfig, data: ShapesConfig, distance: nn.Module) -> None:
        try:
            settings.mixtures(len(data.shapes))
        except ValueError as error:
            raise ValueError(f"task.{error}") from None
        sizes = {*data.sizes, settings.num_particles or max(data.sizes)}
        if getattr(distance, "reduction", "mean") == "sum" and len(sizes) > 1:
            found = ", ".join(map(str, sorted(sizes)))
            raise ValueError(f"distance.reduction must be 'mean' where clouds and particles are not equally many; got 'sum' for {found}")

    @property
    def num_steps(self) -> int:
        return self.settings.iterations

    def is_due(self, step: int) -> bool:
        return step == 1 or step % self.settings.evaluate_every == 0

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam([self.particles], lr=self.settings.lr, betas=tuple(self.settings.betas))

    def training_step(self, *_: Any) -> Tensor:
        self.watch(self.particles, self.global_step + 1)
        weights = {} if self.cloud_weights is None else {"y_weights": self.cloud_weights}
        distances = self.distance(self.particles[:, self.of_mixture], self.clouds[:, self.to_cloud], **weights)  # [S, P]
        values = (self.pair_weights * distances**self.settings.power).sum(1)
        self.watch(values, self.global_step + 1)
        self._values = values.detach() / len(self.mixtures)
        return values.sum()  # its gradient is, for each mixture of each seed, that of its own objective

    def evaluate(self) -> dict[str, Tensor]:
        """Means over the mixtures: W2 to the exact barycenter, the exact objective and what the exact barycenter leaves of it."""
        self.watch(self.particles, self.global_step)
        self.stop_if_diverged()
        if not self.exact.isfinite().all():
            self._find_exact()
        objective = self._objective(self.particles)
        found = {
            "w2": exact_wasserstein(self.particles, self.exact).mean(1),
            "objective": objective,
            "objective_excess": objective - self.exact_objective.to(objective.device),
            "distance_value": self._values,
        }
        norm = self.learned_norm()
        return found if norm is None else {**found, "learned_norm": norm.reshape(len(self.seeds), -1).mean(1)}

    def _find_exact(self) -> None:
        """The reference, and its objective."""
        for seed, clouds in enumerate(self.clouds.cpu().numpy()):
            whole = [cloud[:size] for cloud, size in zip(clouds, self.sizes, strict=True)]
            for place, weights in enumerate(self.mixtures):
                found = free_support_barycenter(whole, weights, self.particles.shape[2])
                self.exact[seed, place] = torch.from_numpy(found).to(self.exact)
        self.exact_objective.copy_(self._objective(self.exact))

    def _objective(self, particles: Tensor) -> Tensor:
        r"""The mean over the mixtures of :math:`\sum_i w_i W_2^2(x_w, \mu_i)`, exact, ``[S]``."""
        total = torch.zeros(len(self.seeds), dtype=torch.float64)
        for cloud, size in enumerate(self.sizes):
            mine = [mixture for mixture, k in self.pairs if k == cloud]
            if mine:
                w2 = exact_wasserstein(particles[:, mine], self.clouds[:, cloud, None, :size])
                total += w2.square() @ torch.from_numpy(self.mixtures[mine, cloud])
        return total / len(self.mixtures)

    def samples(self, replica: int) -> dict[str, np.ndarray]:
        held = {"particles": self.particles.detach(), "clouds": self.clouds, "exact": self.exact}
        kept = {name: value[replica].cpu().numpy() for name, value in held.items()}
        return {**kept, "cloud_sizes": np.array(self.sizes), "weights": self.mixtures}

    def draw(self, folder: Path, metrics: MetricHistory, title: str) -> list[Path]:
        if not self.settings.pictures:
            return []
        arrays = self.samples(0)
        clouds = [cloud[:size] for cloud, size in zip(arrays["clouds"], self.sizes, strict=True)]
        curve = flow_figures.curve(folder / "w2.png", metrics, title)
        return [curve, *barycenter_figures.draw(folder, arrays["particles"], arrays["exact"], clouds, self.mixtures, title)]
