"""Options of the data sets, with their types and defaults.

They stand apart from the data modules, which import Lightning: a configuration is checked without that.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from aswd.data.celeba_files import COUNT, find_folder, numbered
from aswd.data.image_files import check_fingerprint, find_images, fingerprint
from aswd.data.photograph_files import read_photograph
from aswd.data.shape_files import READERS, read_shape
from aswd.data.shape_kinds import SHAPES, shape
from aswd.data.surfaces import NoShape, Points, Source
from aswd.utils.checks import check_at_least, nearest
from aswd.utils.fields import neutral

SIDES = ("source", "target")  # of a pair of photographs


@dataclass
class ToyConfig:
    """Options of the toy targets.

    Args:
        name: one of :data:`TARGETS`.
        num_samples: N, points of the target.
        dim: d >= 2; above two, the target lies in the plane of the first two coordinates.
    """

    kind: ClassVar[str] = "points"
    name: str
    num_samples: int = 500
    dim: int = 2

    def __post_init__(self) -> None:
        # Eight centres, or the two moons, need a point each; 25 Gaussians as many as there are.
        check_at_least("num_samples", self.num_samples, 25 if self.name == "gaussians_25" else 8, whole=True)
        check_at_least("dim", self.dim, 2, whole=True)


@dataclass
class PointsConfig:
    """Options of point clouds from files; the files are read when a configuration is made, and their content identifies them.

    Args:
        target: a file of points, one per row: ``.npy`` (an array ``[points, dimension]``) or ``.csv``.
        source: a file of points from which a flow starts; default: the source that the task draws.
        num_samples: points drawn from each file, without replacement, for every seed; default: all.
        target_digest: of the content of ``target``; filled in.
        source_digest: of the content of ``source``; filled in.
    """

    kind: ClassVar[str] = "points"
    name: str = "points"
    target: str = neutral("")
    source: str | None = neutral(None)
    num_samples: int | None = None
    target_digest: str = ""
    source_digest: str = ""

    def __post_init__(self) -> None:
        if self.num_samples is not None:
            check_at_least("num_samples", self.num_samples, 1, whole=True)
        self.clouds: dict[str, Points] = {}
        for side in ("target", "source") if self.source is not None else ("target",):
            self.clouds[side], content = _read_points(side, getattr(self, side))
            digest = hashlib.sha256(content).hexdigest()[:16]
            _check_digest(f"{side}_digest", getattr(self, f"{side}_digest"), digest)
            setattr(self, f"{side}_digest", digest)
        if len({cloud.dim for cloud in self.clouds.values()}) > 1:
            dims = {side: cloud.dim for side, cloud in self.clouds.items()}
            raise ValueError(
                f"source must have the dimension of target, {dims['target']}; got {self.source!r} of dimension {dims['source']}"
            )


@dataclass
class ShapesConfig:
    """Options of the clouds. Files are read here: a mistake in one is known before any work.

    Args:
        shapes: names of :data:`~aswd.data.shape_kinds.SHAPES`, or files: an image (its dark pixels), a mesh (.obj, .off, ascii .ply),
            points (.xyz, .txt, .csv, .npy).
        num_samples: points drawn for each cloud; a file of points that has fewer gives all of its own.
        normalise: scale every shape until the longest side of its box is [-1, 1], and centre the box.
    """

    kind: ClassVar[str] = "clouds"
    name: str = "shapes"
    shapes: list[str] = neutral(default_factory=lambda: ["ring", "heart", "cross"])
    num_samples: int = 500
    normalise: bool = True

    def __post_init__(self) -> None:
        check_at_least("num_samples", self.num_samples, 1, whole=True)
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


@dataclass
class PhotographConfig:
    """Options of a pair of photographs; the content of the files identifies them, not their paths.

    Args:
        source: the image to repaint: a file, or the name of a built-in image.
        target: the image that has the colours, likewise.
        num_colors: clusters that k-means makes of the colours of each.
        source_digest: of the content of ``source``; filled in.
        target_digest: of the content of ``target``; filled in.
    """

    kind: ClassVar[str] = "pair"
    short: ClassVar[tuple[str, ...]] = SIDES  # source=FILE stands for data.source=FILE
    name: str = "photographs"
    source: str = neutral("china")
    target: str = neutral("flower")
    num_colors: int = 3000
    source_digest: str = ""
    target_digest: str = ""

    def __post_init__(self) -> None:
        check_at_least("num_colors", self.num_colors, 2, whole=True)
        for side in SIDES:
            try:
                image = read_photograph(getattr(self, side))
            except ValueError as error:
                raise ValueError(f"{side} {error}") from None
            seen = int((image.counts > 0).sum())
            if seen < self.num_colors:
                how = f"set data.num_colors={seen} or less" if seen > 1 else "choose another"
                raise ValueError(f"{side} must have num_colors={self.num_colors} colours; {getattr(self, side)!r} has only {seen}: {how}")
            _check_digest(f"{side}_digest", getattr(self, f"{side}_digest"), image.digest)
            setattr(self, f"{side}_digest", image.digest)


@dataclass
class SyntheticConfig:
    """Options of the synthetic images.

    Args:
        num_train: images of the train split.
        num_test: images of the test split.
        channels: 1 (grey) or 3 (colour).
        size: pixels per side.
    """

    kind: ClassVar[str] = "images"
    name: str = "synthetic"
    num_train: int = 2048
    num_test: int = 512
    channels: int = 3
    size: int = 64

    def __post_init__(self) -> None:
        for name in ("num_train", "num_test"):
            check_at_least(name, getattr(self, name), 2, whole=True)
        check_at_least("size", self.size, 4, whole=True)
        if self.channels not in (1, 3):
            raise ValueError(f"channels must be 1 (grey) or 3 (colour); got {self.channels}")


@dataclass
class MnistConfig:
    """Options of MNIST and Fashion-MNIST.

    Args:
        name: ``mnist`` or ``fashion_mnist``.
        size: pixels per side; other than 28, they are resized.
        root: the folder of data sets; the files are in ``MNIST/raw`` or ``FashionMNIST/raw`` below it.
    """

    kind: ClassVar[str] = "images"
    channels: ClassVar[int] = 1
    name: str
    size: int = 28
    root: str = neutral("data")

    def __post_init__(self) -> None:
        check_at_least("size", self.size, 4, whole=True)


@dataclass
class Cifar10Config:
    """Options of CIFAR10.

    Args:
        size: pixels per side; 64 as the paper's GAN has it, bilinear; 32 is as they come.
        root: the folder of data sets; the files are in ``cifar-10-batches-py`` below it, or ``cifar-10-python.tar.gz`` is there.
    """

    kind: ClassVar[str] = "images"
    channels: ClassVar[int] = 3
    name: str = "cifar10"
    size: int = 64
    root: str = neutral("data")

    def __post_init__(self) -> None:
        check_at_least("size", self.size, 4, whole=True)


@dataclass
class CelebAConfig:
    """Options of CelebA.

    Args:
        size: pixels per side.
        crop: pixels per side of the square in the middle of the 178 x 218 image that is resized to ``size``. 140, the face with some
            hair, is what Wasserstein auto-encoders made usual for 64 x 64; the paper does not say. 178 takes the whole width.
        root: the folder of data sets, with torchvision's ``celeba/img_align_celeba`` and ``celeba/list_eval_partition.txt``, or a
            plain folder of the images; without the list the official split goes by their numbers.
        cache_dir: where the decoded images are kept.
        fingerprint: of names and sizes of the images where they are not all of CelebA's; filled in.
    """

    kind: ClassVar[str] = "images"
    channels: ClassVar[int] = 3
    name: str = "celeba"
    size: int = 64
    crop: int = 140
    root: str = neutral("data")
    cache_dir: str = neutral("data/decoded")
    fingerprint: str = ""

    def __post_init__(self) -> None:
        check_at_least("size", self.size, 4, whole=True)
        check_at_least("crop", self.crop, 4, whole=True)
        if self.crop > 178:
            raise ValueError(f"crop must be at most 178, the width of the images; got {self.crop}")
        folder = find_folder(Path(self.root))
        if folder is not None:
            paths = numbered(folder)
            # The whole set is the same everywhere; runs on a part of it are runs of their own.
            self.fingerprint = check_fingerprint(self.fingerprint, "" if len(paths) == COUNT else fingerprint(paths, folder))


@dataclass
class ImageFolderConfig:
    """Options of a folder of images.

    The folder is not part of what identifies a run, since a copy elsewhere gives the same numbers; the images are. ``fingerprint``
    stands for them: names and sizes, which takes a look at the folder and not at gigabytes, and is the same on another machine.

    Args:
        root: the folder. Images may lie in folders below it. Those of ``train`` and ``test``, if it has both, are the splits.
        size: pixels per side: the shorter side is resized to it, the middle of the longer one is kept.
        channels: 3 (colour; grey images are refused) or 1 (all are made grey).
        test_every: without a folder ``test`` every n-th image, in the order of names, is the test split.
        cache_dir: where the decoded images are kept.
        fingerprint: of names and sizes of the images; filled in.
    """

    kind: ClassVar[str] = "images"
    name: str = "image_folder"
    root: str = neutral("")
    size: int = 64
    channels: int = 3
    test_every: int = 10
    cache_dir: str = neutral("data/decoded")
    fingerprint: str = ""

    def __post_init__(self) -> None:
        check_at_least("size", self.size, 4, whole=True)
        check_at_least("test_every", self.test_every, 2, whole=True)
        if self.channels not in (1, 3):
            raise ValueError(f"channels must be 1 (grey) or 3 (colour); got {self.channels}")
        if self.root and Path(self.root).is_dir():
            self.fingerprint = check_fingerprint(self.fingerprint, fingerprint(find_images(Path(self.root)), Path(self.root)))


def _read_points(side: str, name: str) -> tuple[Points, bytes]:
    """The points of a ``.npy`` or ``.csv`` file, and its content."""
    path = Path(name).expanduser()
    if path.suffix.lower() not in (".npy", ".csv"):
        raise ValueError(f"{side} must be a .npy or .csv file of points; got {name!r}")
    try:
        return read_shape(path)
    except NoShape as error:
        raise ValueError(f"{side} must be a .npy or .csv file of points; got {name!r}, which {error}") from None


def _check_digest(option: str, given: str, digest: str) -> None:
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
