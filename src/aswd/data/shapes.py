"""Clouds of points: shapes by name or from files, drawn from the run's seed."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from aswd.data.configs import ShapesConfig
from aswd.data.modules import FixedBatch

_STREAM = 1  # of the random numbers of a seed: its data, as in the toy targets


class Shapes(FixedBatch):
    """Clouds for every seed, drawn from that seed.

    Args:
        seeds: one per replica.
        options: see :class:`~aswd.data.configs.ShapesConfig`.
    """

    config_class = ShapesConfig

    def samples(self) -> list[Tensor]:
        """The clouds of every shape, ``[R, M, d]`` each, in float32."""
        clouds = []
        for index, source in enumerate(self.config.sources):
            rngs = [np.random.default_rng([seed, _STREAM, index]) for seed in self.seeds]
            drawn = np.stack([source.draw(self.config.num_samples, rng) for rng in rngs])
            clouds.append(torch.from_numpy(drawn.astype(np.float32)))
        return clouds
