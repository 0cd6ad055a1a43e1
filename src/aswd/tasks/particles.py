"""What tasks that move particles share: where these start, and how Adam moves them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from aswd.utils.checks import check_at_least, check_choice

SOURCES = ("normal", "uniform")
_STREAM = 2  # of the random numbers of a seed: its particles


@dataclass
class ParticleConfig:
    """Options of such a task; the defaults are those of the released flow.

    Args:
        iterations: Adam steps of the particles.
        lr: Adam's learning rate.
        betas: Adam's decay rates.
        source: what the particles are drawn from: ``normal``, N(0, I), or ``uniform`` on [-1, 1]^d.
        source_scale: factor on the source.
        num_particles: as many as the target has points, if nothing is said.
        evaluate_every: W2 is taken at the first iteration and at every n-th.
        pictures: draw the run when it is done.
    """

    name: str
    iterations: int = 2000
    lr: float = 0.002
    betas: list[float] = field(default_factory=lambda: [0.9, 0.999])
    source: str = "normal"
    source_scale: float = 1.0
    num_particles: int | None = None
    evaluate_every: int = 5
    pictures: bool = field(default=True, metadata={"changes_numbers": False})

    def __post_init__(self) -> None:
        check_at_least("iterations", self.iterations, 1, whole=True)
        if self.iterations > 10**9:
            raise ValueError(f"iterations must be a whole number of at most 10^9; got {self.iterations}")
        check_at_least("lr", self.lr, 0, strictly=True)
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas must be two numbers of at least 0 and below 1; got {self.betas}")
        check_choice("source", self.source, SOURCES)
        check_at_least("source_scale", self.source_scale, 0, strictly=True)
        if self.num_particles is not None:
            check_at_least("num_particles", self.num_particles, 1, whole=True)
        check_at_least("evaluate_every", self.evaluate_every, 1, whole=True)


def source(settings: ParticleConfig, num_particles: int, dim: int, seed: int) -> Tensor:
    """The particles of a seed before the first step, ``[N, dim]``."""
    rng = np.random.default_rng([seed, _STREAM])
    draw = rng.standard_normal if settings.source == "normal" else lambda shape: rng.uniform(-1, 1, shape)
    return torch.from_numpy(settings.source_scale * draw((num_particles, dim))).float()
