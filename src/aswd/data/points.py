"""A point cloud from a file as the target of a flow, and another one as its source."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from aswd.data.configs import PointsConfig
from aswd.data.modules import FixedBatch

_STREAMS = {"target": 1, "source": 2}  # of the random numbers of a seed


class PointFiles(FixedBatch):
    """The points of a file, the same for all seeds unless fewer than all are drawn.

    Args:
        seeds: one per replica.
        options: see :class:`~aswd.data.configs.PointsConfig`.

    Raises:
        ValueError: a file cannot be read, or holds no points.
    """

    config_class = PointsConfig

    def samples(self) -> Tensor:
        """The target, ``[R, N, d]`` in float32."""
        return self._drawn("target")

    def source_points(self) -> Tensor | None:
        """Where the particles start, ``[R, N, d]`` in float32; ``None`` without a source file."""
        return None if self.config.source is None else self._drawn("source")

    def _drawn(self, side: str) -> Tensor:
        points, count = self.config.clouds[side].points, self.config.num_samples
        if count is None or count >= len(points):
            chosen = np.broadcast_to(points, (len(self.seeds), *points.shape))
        else:
            rngs = [np.random.default_rng([seed, _STREAMS[side]]) for seed in self.seeds]
            chosen = np.stack([points[rng.permutation(len(points))[:count]] for rng in rngs])
        return torch.from_numpy(chosen.astype(np.float32))
