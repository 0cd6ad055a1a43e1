"""What tasks that move particles share: where these start, and how Adam moves them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from aswd.tasks.configs import ParticleConfig

SOURCES = ("normal", "uniform")
_STREAM = 2  # of the random numbers of a seed: its particles


def source(settings: ParticleConfig, num_particles: int, dim: int, seed: int) -> Tensor:
    """The particles of a seed before the first step, ``[N, dim]``."""
    rng = np.random.default_rng([seed, _STREAM])
    draw = rng.standard_normal if settings.source == "normal" else lambda shape: rng.uniform(-1, 1, shape)
    return torch.from_numpy(settings.source_scale * draw((num_particles, dim))).float()
