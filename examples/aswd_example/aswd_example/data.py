"""A spiral in the plane, as the target of a flow."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from aswd.data.modules import FixedBatch


@dataclass
class SpiralConfig:
    """Options of the spiral.

    Args:
        num_samples: number of points.
        turns: number of turns.
        noise: standard deviation of the noise on every coordinate.
    """

    kind: ClassVar[str] = "points"
    name: str = "spiral"
    num_samples: int = 500
    turns: float = 2.0
    noise: float = 0.01


class Spiral(FixedBatch):
    """One spiral per seed; ``FixedBatch`` hands out the same batch at every step."""

    config_class = SpiralConfig

    def samples(self) -> Tensor:
        """The batch: points ``[R, N, 2]``, one set per seed."""
        return torch.stack([self._spiral(seed) for seed in self.seeds])

    def _spiral(self, seed: int) -> Tensor:
        rng = np.random.default_rng(seed)
        radius = np.sqrt(rng.uniform(0, 1, self.config.num_samples))
        angle = 2 * np.pi * self.config.turns * radius
        points = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
        return torch.from_numpy(points + self.config.noise * rng.standard_normal(points.shape)).float()
