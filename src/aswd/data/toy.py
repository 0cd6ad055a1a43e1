"""The targets of the flow in the plane, as a data module."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from aswd.data.configs import ToyConfig
from aswd.data.modules import FixedBatch
from aswd.data.targets import TARGETS

_STREAM = 1  # of the random numbers of a seed, which source and directions share with the target


def target(name: str, num_samples: int, seed: int, dim: int = 2) -> Tensor:
    """``num_samples`` points of a target, ``[N, dim]`` in float32; in more than two dimensions it lies in the plane of the first two.

    >>> target("knot", 500, seed=0).shape
    torch.Size([500, 2])
    """
    points = TARGETS[name](num_samples, np.random.default_rng([seed, _STREAM]))
    return torch.from_numpy(np.pad(points, ((0, 0), (0, dim - 2))).astype(np.float32))


class ToyTargets(FixedBatch):
    """One of :data:`TARGETS` for every seed, drawn from that seed.

    Args:
        seeds: one per replica.
        options: see :class:`~aswd.data.configs.ToyConfig`.
    """

    config_class = ToyConfig

    def samples(self) -> Tensor:
        """The targets, ``[R, N, d]`` in float32."""
        c = self.config
        return torch.stack([target(c.name, c.num_samples, seed, c.dim) for seed in self.seeds])
