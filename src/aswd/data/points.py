"""Point clouds as data modules: the targets of the flow, files, and shapes by name or from files."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from aswd.data.configs import MixtureConfig, PointsConfig, ShapesConfig, ToyConfig
from aswd.data.modules import FixedBatch
from aswd.data.targets import TARGETS

_STREAM = 1  # of the random numbers of a seed: its data


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


def gaussian_mixture(config: MixtureConfig, seed: int) -> Tensor:
    """The points of a seed, ``[N, d]`` in float32: as many from each Gaussian, up to one.

    >>> gaussian_mixture(MixtureConfig(num_samples=100, dim=50), seed=0).shape
    torch.Size([100, 50])
    """
    rng = np.random.default_rng([seed, _STREAM])
    means = rng.standard_normal((config.components, config.dim))
    deviations = config.spread * np.geomspace(1, 1 / config.condition, config.dim)
    of_gaussian = np.arange(config.num_samples) % config.components
    points = means[of_gaussian]
    for index in range(config.components):
        mine = of_gaussian == index
        axes = np.eye(config.dim) if config.condition == 1 else np.linalg.qr(rng.standard_normal((config.dim, config.dim)))[0]
        points[mine] += (rng.standard_normal((mine.sum(), config.dim)) * deviations) @ axes.T
    return torch.from_numpy(points.astype(np.float32))


class GaussianMixture(FixedBatch):
    """Gaussians in any dimension, drawn for every seed from that seed.

    Args:
        seeds: one per replica.
        options: see :class:`~aswd.data.configs.MixtureConfig`.
    """

    config_class = MixtureConfig

    def samples(self) -> Tensor:
        """The targets, ``[R, N, d]`` in float32."""
        return torch.stack([gaussian_mixture(self.config, seed) for seed in self.seeds])


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
