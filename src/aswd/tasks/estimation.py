"""How far estimates of the sliced Wasserstein distance are from its exact value."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from aswd.distances import build
from aswd.tasks.base import Task
from aswd.tasks.batches import as_points
from aswd.tasks.configs import EstimationConfig, ParticleConfig
from aswd.tasks.particles import draw_source

_STREAM = 3  # of the random numbers of a seed: the shift of a pair


class Estimation(Task):
    r"""A distance is evaluated again and again on the same pair of clouds, each time with new directions.

    Its squares are compared with the exact :math:`SW_2^2`, the mean of W_2^2 over all directions of the sphere. For y and s y + t, which
    every direction sorts alike, that is :math:`\tfrac1N \sum_n |(s - 1) y_n + t|^2 / d`; a translation has :math:`|t|^2 / d`. For other
    pairs it is computed with many directions of a Sobol set.

    A batch is a cloud ``[R, N, d]``, or ``[N, d]`` for all seeds. Metrics, of all estimates so far, relative to the exact value: ``mse``,
    the mean squared error; ``bias``, the mean error; ``distance_value``, the last estimate of SW_2.

    Args:
        distance: one whose values estimate SW_2: ``estimates_mean`` is true.
        seeds: one per replica.
        options: see :class:`~aswd.tasks.configs.EstimationConfig`.
    """

    config_class = EstimationConfig
    headline = "mse"
    data_kind = "points"
    batches_seeds = True
    optimises_manually = True
    small_tensors = True

    def __init__(self, distance: Any, *, seeds: Any = (0,), **options: Any) -> None:
        super().__init__(distance, seeds=seeds, **options)
        self.automatic_optimization = False
        self.register_parameter("counter", nn.Parameter(torch.zeros(())))  # what the optimiser, which counts the steps, has to hold
        self.register_buffer("sums", torch.zeros(2, len(self.seeds), dtype=torch.float64))  # of errors and of their squares
        self.pair: tuple[Tensor, Tensor] | None = None
        self.exact: Tensor | None = None
        self._value = torch.full((len(self.seeds),), torch.nan)

    @classmethod
    def check(cls, config: EstimationConfig, data: Any, distance: nn.Module) -> None:
        if not getattr(distance, "estimates_mean", False) or getattr(distance, "order", 2) != 2:
            name = getattr(distance, "name", type(distance).__name__)
            raise ValueError(f"distance must estimate SW_2 for task=estimation, with uniform directions and order 2; {name!r} does not")

    @classmethod
    def problem(cls, config: EstimationConfig, data: Any) -> tuple[int, int, int, int]:
        return (1, data.target_shape[0], *data.target_shape) if hasattr(data, "target_shape") else super().problem(config, data)

    @property
    def num_steps(self) -> int:
        return self.config.iterations

    @property
    def evaluate_every(self) -> int:
        return self.config.evaluate_every

    def setup(self, stage: str) -> None:
        y = as_points(self.first_batch(), len(self.seeds))
        self.pair = torch.stack([self._partner(points, seed) for points, seed in zip(y, self.seeds, strict=True)]), y
        self.exact = self._exact(*self.pair).double()

    def _partner(self, y: Tensor, seed: int) -> Tensor:
        if self.config.pair == "normal":
            return draw_source(ParticleConfig("estimation"), *y.shape, seed).to(y)
        direction = np.random.default_rng([seed, _STREAM]).standard_normal(y.shape[1])
        shift = self.config.shift * direction / np.linalg.norm(direction)
        return self.config.scale * y + torch.from_numpy(shift).to(y)

    def _exact(self, x: Tensor, y: Tensor) -> Tensor:
        """:math:`SW_2^2` of every replica, ``[R]``."""
        if self.config.pair == "similar":
            return (x - y).double().square().sum(-1).mean(-1) / x.shape[2]
        reference = build("qsw_sobol", num_projections=self.config.reference_projections, root=False, seed=0)
        with torch.no_grad():
            return torch.stack([reference(*sides) for sides in zip(x, y, strict=True)])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD([self.counter], lr=1.0)

    def training_step(self, batch: Any, batch_idx: int) -> None:
        with torch.no_grad():
            self._value = self.distance(*self.pair)
        self.watch(self._value, self.global_step + 1)
        squares = self._value.double().square() if getattr(self.distance, "root", True) else self._value.double()
        errors = squares / self.exact - 1
        self.sums += torch.stack([errors, errors.square()])
        self.optimizers().step()

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        bias, mse = self.sums / max(self.global_step, 1)
        self.log_metrics({"mse": mse, "bias": bias, "distance_value": self._value})

    def samples(self, replica: int) -> dict[str, np.ndarray]:
        return {
            **dict(zip(("x", "y"), (side[replica].cpu().numpy() for side in self.pair), strict=True)),
            "exact": self.exact[replica].cpu().numpy(),
        }
