"""Barycenters of clouds of points, for all weights at once (appendix on the sliced Wasserstein barycenter)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from aswd.data.configs import ShapesConfig
from aswd.metrics import exact_wasserstein, free_support_barycenter
from aswd.tasks import barycenter_figures, flow_figures
from aswd.tasks.base import exact_bytes
from aswd.tasks.batches import as_clouds
from aswd.tasks.configs import BarycenterConfig
from aswd.tasks.particles import ParticleTask
from aswd.utils.metric_history import MetricHistory


class Barycenter(ParticleTask):
    r"""Particles :math:`x_w` for each of W mixtures w of K clouds :math:`\mu_i` descend

    .. math:: \sum_i w_i D(x_w, \mu_i)^p.

    All pairs of a mixture and a cloud with :math:`w_i > 0` are one batch of replicas of the distance, and each pair learns for itself what
    D learns. The random numbers of a seed are the same for all of its pairs: with common directions, the pull towards one cloud and the
    pull towards another cancel at the barycenter direction by direction, not only on average; and a mixture has the same numbers alone
    as in a grid.

    A batch is a list of K clouds ``[R, M_k, d]``, or ``[M_k, d]`` for all seeds. Metrics, all means over the mixtures: ``w2``, the exact
    W2 to the exact barycenter; ``objective``, the exact objective, and ``objective_excess``, its difference to that of the exact
    barycenter; ``distance_value``, the objective of the last step; ``learned_norm``, of what D has learned.

    Args:
        distance: D.
        seeds: one per replica.
        options: see :class:`~aswd.tasks.configs.BarycenterConfig`.
    """

    config_class = BarycenterConfig
    data_kind = "clouds"
    problem_dims = 2  # seeds and mixtures

    def __init__(self, distance: Any, *, seeds: Any = (0,), **options: Any) -> None:
        super().__init__(distance, seeds=seeds, **options)
        # Saved in checkpoints, since they take long: the exact barycenters, [R, W, N, d], and their objective, [R].
        self.register_buffer("exact", None)
        self.register_buffer("exact_objective", None)
        self._batch: Any = None  # the last one

    @classmethod
    def check(cls, config: BarycenterConfig, data: ShapesConfig, distance: nn.Module) -> None:
        try:
            config.num_mixtures(len(data.shapes))
        except ValueError as error:
            raise ValueError(f"task.{error}") from None
        sizes = {*data.sizes, config.num_particles or max(data.sizes)}
        if getattr(distance, "reduction", "mean") == "sum" and len(sizes) > 1:
            given = ", ".join(map(str, sorted(sizes)))
            raise ValueError(f"distance.reduction must be 'mean' where clouds and particles differ in number; got 'sum' for {given}")

    @classmethod
    def problem(cls, config: BarycenterConfig, data: ShapesConfig) -> tuple[int, int, int, int]:
        """Of the pairs of a mixture and a cloud at least one per mixture."""
        if not hasattr(data, "sizes"):
            return super().problem(config, data)
        n = config.num_particles or max(data.sizes)
        return config.num_mixtures(len(data.shapes)), n, max(data.sizes), data.sources[0].dim

    @classmethod
    def num_bytes(cls, config: BarycenterConfig, data: ShapesConfig, distance: nn.Module, seeds: int) -> int:
        """Particles of all mixtures with gradient and moments of Adam, the exact barycenters, and an exact W2."""
        mixtures, n, m, dim = cls.problem(config, data)
        return 20 * seeds * mixtures * n * dim + exact_bytes(n, m)

    def setup(self, stage: str) -> None:
        self.initialise(as_clouds(self.first_batch(), len(self.seeds)))

    def initialise(self, clouds: Sequence[Tensor]) -> None:
        """Take the clouds ``[R, M_k, d]``, and make the particles unless there are some."""
        self._take_clouds(clouds)
        if self.particles is None:
            start = self.draw_sources(self.config.num_particles or max(self.sizes), clouds[0].shape[2])
            self._allocate(start[:, None].repeat(1, len(self.mixtures), 1, 1))
            if hasattr(self.distance, "reset"):
                self.distance.reset([seed for seed in self.seeds for _ in self.pairs])

    def _take_clouds(self, clouds: Sequence[Tensor]) -> None:
        self.sizes = [cloud.shape[1] for cloud in clouds]
        self.mixtures = self.config.mixtures(len(clouds))
        mixture, cloud = np.nonzero(self.mixtures)
        self.pairs = list(zip(mixture.tolist(), cloud.tolist(), strict=True))
        # Points of smaller clouds are repeated, and share their weight.
        indices = [torch.arange(max(self.sizes)) % size for size in self.sizes]
        shares = torch.stack([1 / index.bincount()[index] / len(index.unique()) for index in indices])

        def hold(name: str, value: Tensor | None) -> None:
            self.register_buffer(name, None if value is None else value.to(self.device), persistent=False)

        hold("clouds", torch.stack([points[:, index] for points, index in zip(clouds, indices, strict=True)], 1))  # [R, K, M, d]
        hold("cloud_weights", None if len(set(self.sizes)) == 1 else shares[cloud])  # [P, M]
        hold("of_mixture", torch.from_numpy(mixture))  # [P]
        hold("to_cloud", torch.from_numpy(cloud))
        hold("pair_weights", torch.from_numpy(self.mixtures[mixture, cloud]).float())

    def _allocate(self, particles: Tensor) -> None:
        """Let the particles be ``[R, W, N, d]``, and the exact barycenters unknown."""
        self.start_from(particles)
        self.exact = torch.full_like(particles, torch.nan)
        self.exact_objective = torch.full((len(self.seeds),), torch.nan, dtype=torch.float64, device=particles.device)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self._allocate(torch.empty_like(checkpoint["state_dict"]["particles"]))

    def _use(self, batch: Any) -> None:
        """Compute with the clouds of ``batch``; they are looked at once as long as the data module hands out the same."""
        if batch is not self._batch:
            self._take_clouds(as_clouds(batch, len(self.seeds)))
            self._batch = batch

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        self._use(batch)
        self.watch(self.particles, self.global_step + 1)
        weights = {} if self.cloud_weights is None else {"y_weights": self.cloud_weights}
        distances = self.distance(self.particles[:, self.of_mixture], self.clouds[:, self.to_cloud], **weights)  # [R, P]
        values = (self.pair_weights * distances**self.config.power).sum(1)
        self.watch(values, self.global_step + 1)
        self._values = values.detach() / len(self.mixtures)
        return values.sum()  # its gradient is, for each mixture of each seed, that of its own objective

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        self._use(batch)
        self.watch(self.particles, self.global_step)
        self.stop_if_diverged()
        if not self.exact.isfinite().all():
            self._find_exact()
        objective = self._objective(self.particles)
        metrics = {
            "w2": exact_wasserstein(self.particles, self.exact).mean(1),
            "objective": objective,
            "objective_excess": objective - self.exact_objective.to(objective.device),
            **self.training_metrics(),
        }
        if "learned_norm" in metrics:
            metrics["learned_norm"] = metrics["learned_norm"].reshape(len(self.seeds), -1).mean(1)
        self.log_metrics(metrics)

    def _find_exact(self) -> None:
        """Compute the exact barycenters and their objective."""
        for seed, clouds in enumerate(self.clouds.cpu().numpy()):
            whole = [cloud[:size] for cloud, size in zip(clouds, self.sizes, strict=True)]
            for index, weights in enumerate(self.mixtures):
                exact = free_support_barycenter(whole, weights, self.particles.shape[2])
                self.exact[seed, index] = torch.from_numpy(exact).to(self.exact)
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
        if not self.config.images:
            return []
        arrays = self.samples(0)
        clouds = [cloud[:size] for cloud, size in zip(arrays["clouds"], self.sizes, strict=True)]
        curve = flow_figures.curve(folder / "w2.png", metrics, title)
        return [curve, *barycenter_figures.draw(folder, arrays["particles"], arrays["exact"], clouds, self.mixtures, title)]
