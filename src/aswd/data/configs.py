"""Options of points and photographs, with their types and defaults.

Those of clouds of points are in :mod:`aswd.data.cloud_configs`, those of images in :mod:`aswd.data.image_configs`.

They stand apart from the data modules, which import Lightning: a configuration is checked without that.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from aswd.data.photograph_files import digest_and_colours
from aswd.data.shape_files import READERS, read_shape
from aswd.data.surfaces import SHAPES, NoShape, Source, shape
from aswd.utils.checks import check_at_least, nearest
from aswd.utils.fields import Options, neutral, option

SIDES = ("source", "target")


class FixedConfig(Options):
    """Options of data that are one batch."""

    def num_batches(self, batch_size: int) -> tuple[int | None, int]:
        """Batches of an epoch and of an evaluation; ``None``: without end."""
        return None, 1


@dataclass
class ToyConfig(FixedConfig):
    """Options of the toy targets.

    Args:
        name: one of :data:`TARGETS`.
        num_samples: N, points of the target.
        dim: d >= 2; above two, the target lies in the plane of the first two coordinates.
        centred: subtract the mean of its points.
        std: of each Gaussian, in ``gaussians_8`` and ``gaussians_25``.
        one_scale: divide both axes by the same number, in ``swiss_roll``.
    """

    kind: ClassVar[str] = "points"
    name: str
    num_samples: int = option(500, at_least=8)  # eight centres, or the two moons, need a point each
    dim: int = option(2, at_least=2)
    centred: bool = option(False, before=False)
    std: float = option(0.01, above=0, before=0.01)
    one_scale: bool = option(False, before=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name == "gaussians_25":
            check_at_least("num_samples", self.num_samples, 25, whole=True)

    @property
    def target_shape(self) -> tuple[int, int]:
        """Points of the target, and their dimension."""
        return self.num_samples, self.dim

    def num_bytes(self, seeds: int) -> int:
        """Least memory in bytes: all targets in float32, and one in float64."""
        return self.num_samples * self.dim * (4 * seeds + 8)


@dataclass
class MixtureConfig(FixedConfig):
    """Options of the Gaussian mixtures.

    Args:
        num_samples: N, points of the target.
        dim: d.
        components: Gaussians of equal weight, their means drawn from N(0, I).
        spread: largest standard deviation of each of them.
        condition: largest over smallest standard deviation of each, between which the others are spaced evenly on a logarithmic scale,
            along axes of their own.
    """

    kind: ClassVar[str] = "points"
    name: str = "gaussian_mixture"
    num_samples: int = option(500, at_least=1)
    dim: int = option(2, at_least=1)
    components: int = option(8, at_least=1)
    spread: float = option(0.1, at_least=0)
    condition: float = option(1.0, at_least=1)

    @property
    def target_shape(self) -> tuple[int, int]:
        """Points of the target, and their dimension."""
        return self.num_samples, self.dim

    def num_bytes(self, seeds: int) -> int:
        """Least memory in bytes: all targets in float32, and one in float64 with the axes of a Gaussian."""
        return self.num_samples * self.dim * (4 * seeds + 8) + 16 * self.dim**2


@dataclass
class ShapesConfig(FixedConfig):
    """Options of the clouds. Files are read here: a mistake in one is known before any work.

    Args:
        shapes: names of :data:`~aswd.data.surfaces.SHAPES`, or files: an image (its dark pixels), a mesh (.obj, .off, ascii .ply),
            points (.xyz, .txt, .csv, .npy).
        num_samples: points drawn for each cloud; a file of points that has fewer gives all of its own.
        normalise: scale every shape until the longest side of its box is [-1, 1], and centre the box.
    """

    kind: ClassVar[str] = "clouds"
    name: str = "shapes"
    shapes: list[str] = neutral(["ring", "heart", "cross"])
    num_samples: int = option(500, at_least=1)
    normalise: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.shapes:
            raise ValueError("shapes must name at least one shape or file; got an empty list")
        read = [_read(name) for name in self.shapes]
        self.sources = [source.normalised() if self.normalise else source for source, _ in read]
        self._contents = [content for _, content in read]
        if len({source.dim for source in self.sources}) > 1:
            dims = ", ".join(f"{name} in {source.dim}" for name, source in zip(self.shapes, self.sources, strict=True))
            raise ValueError(f"shapes must all be of one dimension; got {dims}")

    @property
    def contents(self) -> dict[str, Any]:
        """What stands for the shapes in the key of a run: their names, and digests of what is in files, wherever those are."""
        return {"shapes": self._contents}

    @property
    def sizes(self) -> list[int]:
        """Points of every cloud."""
        return [source.count(self.num_samples) for source in self.sources]

    def num_bytes(self, seeds: int) -> int:
        """Least memory in bytes: the clouds of all seeds in float32, and one in float64."""
        return self.sources[0].dim * (4 * seeds * sum(self.sizes) + 8 * max(self.sizes))


@dataclass
class PhotographConfig(FixedConfig):
    """Options of a pair of photographs; the content of the files identifies them, not their paths.

    Args:
        source: the image to repaint: a file, or the name of a built-in image.
        target: the image that has the colours, likewise.
        num_colors: clusters that k-means makes of the colours of each.
        palette_seed: of k-means; default: the seed of the run.
        source_digest: of the content of ``source``; filled in.
        target_digest: of the content of ``target``; filled in.
    """

    kind: ClassVar[str] = "pair"
    name: str = "photographs"
    source: str = neutral("china")
    target: str = neutral("flower")
    num_colors: int = option(3000, at_least=2)
    palette_seed: int | None = option(None, at_least=0, before=None)
    source_digest: str = ""
    target_digest: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for side in SIDES:
            try:
                digest, seen = digest_and_colours(getattr(self, side))
            except ValueError as error:
                raise ValueError(f"{side} {error}") from None
            if seen < self.num_colors:
                how = f"set data.num_colors={seen} or less" if seen > 1 else "choose another"
                raise ValueError(f"{side} must have num_colors={self.num_colors} colours; {getattr(self, side)!r} has only {seen}: {how}")
            check_digest(f"{side}_digest", getattr(self, f"{side}_digest"), digest)
            setattr(self, f"{side}_digest", digest)


def check_digest(option: str, given: str, digest: str) -> None:
    """Refuse a digest that is not that of the file."""
    if given and given != digest:
        raise ValueError(f"{option} must be left out, or be that of the file, {digest!r}; got {given!r}")


def _read(name: str) -> tuple[Source, str]:
    """What the shape is drawn from, and what stands for it in a key."""
    if name in SHAPES:
        return shape(name), name
    path = Path(name).expanduser()
    if not path.exists():
        if path.suffix.lower() in READERS:
            raise ValueError(f"shapes must be names of shapes or files that are there; got {name!r}, and there is no such file")
        raise ValueError(f"shapes must be names of shapes or files; got {name!r}: {nearest(name, SHAPES)}")
    try:
        source, content = read_shape(path)
    except NoShape as error:
        raise ValueError(f"shapes must be names of shapes or files to draw from; got {name!r}, which {error}") from None
    return source, f"{path.suffix.lower()}:{hashlib.sha256(content).hexdigest()}"
