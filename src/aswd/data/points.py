"""Point clouds as data modules: the targets of the flow, files, and shapes by name or from files."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from aswd.data.cloud_configs import COLLECTIONS, SHAPENET_POINTS, PointsConfig, ShapeNetConfig
from aswd.data.configs import MixtureConfig, ShapesConfig, ToyConfig
from aswd.data.download import Unreachable, check_file, download
from aswd.data.modules import FixedBatch
from aswd.data.surfaces import Points, Source
from aswd.data.targets import TARGETS
from aswd.utils.errors import UserError
from aswd.utils.registry import call_with

_STREAM = 1  # of the random numbers of a seed: its data


def target(name: str, num_samples: int, seed: int, dim: int = 2, **options: Any) -> Tensor:
    """``num_samples`` points of a target, ``[N, dim]`` in float32; in more than two dimensions it lies in the plane of the first two.

    Options that the target does not have are passed over.

    >>> target("knot", 500, seed=0).shape
    torch.Size([500, 2])
    """
    points = call_with(TARGETS[name], {}, n=num_samples, rng=np.random.default_rng([seed, _STREAM]), **options)
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
        drawn = torch.stack([target(c.name, c.num_samples, seed, c.dim, std=c.std, one_scale=c.one_scale) for seed in self.seeds])
        return drawn - drawn.mean(1, keepdim=True) if c.centred else drawn


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


class Clouds(FixedBatch):
    """A target and, where there is one, a source. All points of a cloud are the same for all seeds; fewer, or a shape's, are drawn."""

    @abstractmethod
    def cloud(self, side: str) -> Source:
        """What the points of ``"target"`` or ``"source"`` are taken from."""

    def samples(self) -> Tensor:
        """The target, ``[R, N, d]`` in float32."""
        return self._drawn("target")

    def source_points(self) -> Tensor | None:
        """Where the particles start, ``[R, N, d]`` in float32; ``None`` without a source."""
        return None if self.config.source is None else self._drawn("source")

    def _drawn(self, side: str) -> Tensor:
        cloud, count = self.cloud(side), self.config.count(side)
        if isinstance(cloud, Points) and count == len(cloud.points):
            chosen = np.broadcast_to(cloud.points, (len(self.seeds), *cloud.points.shape))
        else:
            chosen = np.stack([cloud.draw(count, np.random.default_rng([seed, _STREAMS[side]])) for seed in self.seeds])
        return torch.from_numpy(chosen.astype(np.float32))


class PointClouds(Clouds):
    """Points of files or on shapes.

    Args:
        seeds: one per replica.
        options: see :class:`~aswd.data.cloud_configs.PointsConfig`.

    Raises:
        ValueError: a file cannot be read, or holds no points.
    """

    config_class = PointsConfig

    def cloud(self, side: str) -> Source:
        return self.config.clouds[side]


class ShapeNetClouds(Clouds):
    """Two clouds of ShapeNet's shapes, as the authors of EBSW and QSW publish them.

    Args:
        seeds: one per replica.
        options: see :class:`~aswd.data.cloud_configs.ShapeNetConfig`.
    """

    config_class = ShapeNetConfig

    @property
    def location(self) -> str:
        """The file of all clouds."""
        return str(self.config.path)

    def prepare_data(self) -> None:
        """Fetch the file if it is not there, and compare its checksum.

        Raises:
            UserError: it cannot be fetched, or is another file.
        """
        c, (_, address) = self.config, COLLECTIONS[self.config.collection]
        path, expected = c.path, [c.collection, SHAPENET_POINTS, 3]
        if not path.exists():
            try:
                download([address], path, c.sha256)
            except Unreachable as error:
                raise UserError(
                    f"shapenet_clouds is not there and cannot be fetched ({error}): put {address} into {path.parent}, "
                    "or give the file as data.file"
                ) from None
        check_file(path, c.sha256)
        try:
            shape = list(np.load(path, mmap_mode="r").shape)
        except ValueError:
            raise UserError(f"data.file must be an array of numbers of the shape {expected}; {path} holds none") from None
        if shape != expected:
            raise UserError(f"data.file must be an array of numbers of the shape {expected}; {path} has {shape}")

    def cloud(self, side: str) -> Source:
        self.prepare_data()
        return Points(np.load(self.config.path, mmap_mode="r")[getattr(self.config, side)].astype(float))


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
