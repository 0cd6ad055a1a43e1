"""Options of a target and a source of points, with their types and defaults, apart from the data modules, which import Lightning."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from aswd.data.configs import SIDES, FixedConfig, check_digest
from aswd.data.shape_files import read_shape
from aswd.data.surfaces import SHAPES, NoShape, Source, Surface, shape
from aswd.utils.checks import nearest
from aswd.utils.fields import neutral, option

_GITHUB = "https://raw.githubusercontent.com/khainb"
SHAPENET_POINTS = 2048  # of every cloud
COLLECTIONS = {  # of clouds of ShapeNet's shapes: SHA-256 and address
    50: (
        "bf4f0b20da8cb6c450c23ac126c625facd1fc309853abcb2e098ad9f1a4139cf",
        f"{_GITHUB}/EBSW/c4fbc4f1db8150e1be1fe4b70a8668e898d56482/GradientFlow/reconstruct_random_50_shapenetcore55.npy",
    ),
    100: (
        "180a354cf49bbe0844aab2ebb21e08d77f0b50b117f17ddc53315d50018ee8fe",
        f"{_GITHUB}/Quasi-SW/795a6920f40bbdf6aed5313c1c8f147a66889426/GradientFlow/reconstruct_random_100_shapenetcore55.npy",
    ),
}


class CloudsConfig(FixedConfig):
    """Options of a target and a source, which is ``None`` where the task draws it."""

    kind: ClassVar[str] = "points"

    def count(self, side: str) -> int:
        """Points that are taken of ``"target"`` or ``"source"``."""
        raise NotImplementedError

    @property
    def dim(self) -> int:
        """Of the points."""
        raise NotImplementedError

    @property
    def target_shape(self) -> tuple[int, int]:
        """Points of the target, and their dimension."""
        return self.count("target"), self.dim

    def num_bytes(self, seeds: int) -> int:
        """Least memory in bytes: the points of all seeds in float32."""
        return 4 * seeds * self.dim * sum(self.count(side) for side in SIDES if getattr(self, side) is not None)


@dataclass
class PointsConfig(CloudsConfig):
    """Options of two point clouds; files are read when a configuration is made, and their content identifies them.

    Args:
        target: a file of points, one per row, ``.npy`` (an array ``[points, dimension]``) or ``.csv``; or a name of
            :data:`~aswd.data.surfaces.SHAPES`, scaled until the longest side of its box is [-1, 1].
        source: where a flow starts, likewise; default: the source that the task draws.
        num_samples: points drawn from each for every seed, from a file without replacement; default: all points of a file.
        target_digest: of the content of ``target``; filled in.
        source_digest: of the content of ``source``; filled in.
    """

    name: str = "points"
    target: str = neutral("")
    source: str | None = neutral(None)
    num_samples: int | None = option(None, at_least=1)
    target_digest: str = ""
    source_digest: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.clouds: dict[str, Source] = {}
        for side in SIDES if self.source is not None else ("target",):
            given = getattr(self, side)
            self.clouds[side], digest = _read_points(side, given)
            if self.num_samples is None and isinstance(self.clouds[side], Surface):
                raise ValueError(f"num_samples must be given a value where {side} is a shape; got null for {side}={given}")
            check_digest(f"{side}_digest", getattr(self, f"{side}_digest"), digest)
            setattr(self, f"{side}_digest", digest)
        if len({cloud.dim for cloud in self.clouds.values()}) > 1:
            other = self.clouds["source"].dim
            raise ValueError(f"source must have the dimension of target, {self.dim}; got {self.source!r} of dimension {other}")

    @property
    def dim(self) -> int:
        return self.clouds["target"].dim

    def count(self, side: str) -> int:
        cloud = self.clouds[side]
        return len(cloud.points) if self.num_samples is None else cloud.count(self.num_samples)


@dataclass
class ShapeNetConfig(CloudsConfig):
    """Options of two of the published clouds of ShapeNet's shapes, which have 2048 points each.

    Args:
        collection: how many clouds the file has: 50, published with EBSW, or 100, with QSW.
        target: which cloud of the file, counted from 0.
        source: where a flow starts, likewise; default: the source that the task draws.
        num_samples: points drawn from each for every seed, without replacement; default: all.
        root: the folder of data sets; the file is in ``shapenet_clouds`` below it.
        file: the file itself, wherever it is, instead.
        sha256: of the file; default: that of the published one.
    """

    name: str = "shapenet_clouds"
    collection: int = option(50, choices=tuple(COLLECTIONS))
    target: int = option(31, at_least=0)
    source: int | None = option(30, at_least=0)
    num_samples: int | None = option(None, at_least=1, at_most=SHAPENET_POINTS)
    root: str = neutral("data", path=True)
    file: str | None = neutral(None, path=True)
    sha256: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for side in SIDES:
            index = getattr(self, side)
            if index is not None and index >= self.collection:
                raise ValueError(f"{side} must be below collection={self.collection}; got {index}")
        if self.file is not None and not Path(self.file).exists():
            raise ValueError(f"file must be a file that is there; got {self.file!r}")
        self.sha256 = self.sha256 or COLLECTIONS[self.collection][0]

    @property
    def path(self) -> Path:
        """The file, there or not."""
        return Path(self.file or Path(self.root, "shapenet_clouds", COLLECTIONS[self.collection][1].rpartition("/")[2]))

    @property
    def dim(self) -> int:
        return 3

    def count(self, side: str) -> int:
        return self.num_samples or SHAPENET_POINTS


def _read_points(side: str, name: str) -> tuple[Source, str]:
    """A shape by name, or the points of a ``.npy`` or ``.csv`` file; and what stands for it in a key."""
    if name in SHAPES:
        return shape(name).normalised(), name
    path = Path(name).expanduser()
    if path.suffix.lower() not in (".npy", ".csv"):
        hint = "" if not name or path.suffix else f": {nearest(name, SHAPES)}"
        raise ValueError(f"{side} must be a .npy or .csv file of points, or the name of a shape; got {name!r}{hint}")
    try:
        cloud, content = read_shape(path)
    except NoShape as error:
        raise ValueError(f"{side} must be a .npy or .csv file of points; got {name!r}, which {error}") from None
    return cloud, hashlib.sha256(content).hexdigest()[:16]
