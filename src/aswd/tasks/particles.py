"""What tasks that move particles share: where these start, and how they are moved."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from aswd.tasks.base import Task
from aswd.tasks.configs import ParticleConfig

_STREAM = 2  # of the random numbers of a seed: its particles


def draw_source(config: ParticleConfig, num_particles: int, dim: int, seed: int) -> Tensor:
    """The particles of a seed before the first step, ``[N, dim]``."""
    rng, shape = np.random.default_rng([seed, _STREAM]), (num_particles, dim)
    points = rng.uniform(-1, 1, shape) if config.source == "uniform" else rng.standard_normal(shape)
    if config.source == "sphere":
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    return torch.from_numpy(config.source_scale * points).float()


class ParticleTask(Task):
    """An optimiser moves :attr:`particles`, which are made when the data are known: from the first batch, or from a checkpoint.

    A subclass keeps the distances ``[R]`` of its last training step in ``_values``.
    """

    headline = "w2"
    batches_seeds = True
    small_tensors = True
    problem_dims: ClassVar[int] = 1  # leading dimensions of the particles, over which they are independent

    def __init__(self, distance: Any, *, seeds: Any = (0,), **options: Any) -> None:
        super().__init__(distance, seeds=seeds, **options)
        self.register_parameter("particles", None)
        self._values: Tensor | None = None

    @property
    def num_steps(self) -> int:
        return self.config.iterations

    @property
    def evaluate_every(self) -> int:
        return self.config.evaluate_every

    def is_evaluated_besides(self, step: int) -> bool:
        return super().is_evaluated_besides(step) or step in self.config.evaluate_at

    def draw_sources(self, num_particles: int, dim: int) -> Tensor:
        """The particles of all seeds before the first step, ``[R, N, dim]``."""
        return torch.stack([draw_source(self.config, num_particles, dim, seed) for seed in self.seeds])

    def start_from(self, particles: Tensor) -> None:
        """Let these be the particles before the first step."""
        self.particles = nn.Parameter(particles.clone())

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Make particles of the shape and precision of those that are loaded next; Lightning sets ``64-true`` only later."""
        self.start_from(torch.empty_like(checkpoint["state_dict"]["particles"]))

    def training_metrics(self) -> dict[str, Tensor]:
        """The distance of the last training step, and the norm of what the distance has learned."""
        metrics = {} if self._values is None else {"distance_value": self._values}
        norm = self.learned_norm()
        return metrics if norm is None else {**metrics, "learned_norm": norm}

    def configure_optimizers(self) -> torch.optim.Optimizer:
        if self.config.optimizer == "sgd":
            return torch.optim.SGD([self.particles], lr=self.config.lr)
        return torch.optim.Adam([self.particles], lr=self.config.lr, betas=tuple(self.config.betas))

    def configure_gradient_clipping(
        self, optimizer: Any, gradient_clip_val: float | None = None, gradient_clip_algorithm: str | None = None
    ) -> None:
        """Clip the norm of every problem for itself: a replica has the same numbers alone as in a batch."""
        if gradient_clip_algorithm == "value":
            super().configure_gradient_clipping(optimizer, gradient_clip_val, gradient_clip_algorithm)
        elif gradient_clip_val is not None:
            grad = self.particles.grad.flatten(self.problem_dims)
            grad.mul_(gradient_clip_val / grad.norm(dim=-1, keepdim=True).clamp_min(gradient_clip_val))
