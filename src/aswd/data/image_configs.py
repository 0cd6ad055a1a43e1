"""Options of the sets of images, with their types and defaults, apart from the data modules, which import Lightning."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from aswd.data.celeba_files import COUNT, find_folder, numbered
from aswd.data.image_files import check_fingerprint, find_images, find_splits, fingerprint
from aswd.utils.fields import Options, neutral, option


@dataclass
class ImageConfig(Options):
    """Options of every set of images.

    Args:
        size: pixels per side.
    """

    kind: ClassVar[str] = "images"
    channels: ClassVar[int]
    num_train: ClassVar[int | None]  # images to train on; None where they are not known before they are read
    num_test: ClassVar[int | None]
    name: str
    size: int = option(64, at_least=4)

    def num_batches(self, batch_size: int) -> tuple[int | None, int] | None:
        """Batches of an epoch and of an evaluation; ``None`` where that is not known before the images are read."""
        return None if self.num_train is None else (self.num_train // batch_size, -(-self.num_test // batch_size))

    def num_bytes(self, seeds: int) -> int:
        """Least memory in bytes: all images, or as many as are decoded at a time where they are read from a cache."""
        count = 1024 if hasattr(self, "cache_dir") else self.num_train + self.num_test
        return count * self.channels * self.size**2


@dataclass
class SyntheticConfig(ImageConfig):
    """Options of the synthetic images.

    Args:
        num_train: images of the train split.
        num_test: images of the test split.
        channels: 1 (grey) or 3 (colour).
    """

    name: str = "synthetic"
    num_train: int = option(2048, at_least=2)
    num_test: int = option(512, at_least=2)
    channels: int = option(3, choices=(1, 3))

    def num_bytes(self, seeds: int) -> int:
        """Least memory in bytes: computed in float64."""
        return 8 * (self.channels + 2) * self.num_train * self.size**2


@dataclass
class MnistConfig(ImageConfig):
    """Options of MNIST and Fashion-MNIST.

    Args:
        name: ``mnist`` or ``fashion_mnist``.
        size: other than 28, they are resized.
        root: the folder of data sets; the files are in ``MNIST/raw`` or ``FashionMNIST/raw`` below it.
    """

    channels, num_train, num_test = 1, 60_000, 10_000
    size: int = option(28, at_least=4)
    root: str = neutral("data", path=True)


@dataclass
class Cifar10Config(ImageConfig):
    """Options of CIFAR10.

    Args:
        size: 64 as the paper's GAN has it, bilinear; 32 is as they come.
        root: the folder of data sets; the files are in ``cifar-10-batches-py`` below it, or ``cifar-10-python.tar.gz`` is there.
    """

    channels, num_train, num_test = 3, 50_000, 10_000
    name: str = "cifar10"
    root: str = neutral("data", path=True)


@dataclass
class CelebAConfig(ImageConfig):
    """Options of CelebA.

    Args:
        crop: pixels per side of the square in the middle of the 178 x 218 image that is resized to ``size``. 140, the face with some
            hair, is what Wasserstein auto-encoders made usual for 64 x 64; the paper does not say. 178 takes the whole width.
        root: the folder of data sets, with torchvision's ``celeba/img_align_celeba`` and ``celeba/list_eval_partition.txt``, or a
            plain folder of the images; without the list the official split goes by their numbers.
        cache_dir: where the decoded images are kept.
        fingerprint: of names and sizes of the images where they are not all of CelebA's; filled in.
    """

    channels, num_train, num_test = 3, None, None
    name: str = "celeba"
    crop: int = option(140, at_least=4, at_most=178)
    root: str = neutral("data", path=True)
    cache_dir: str = neutral("data/decoded", path=True)
    fingerprint: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        folder = find_folder(Path(self.root))
        if folder is not None:
            paths = numbered(folder)
            # The whole set is the same everywhere; runs on a part of it are runs of their own.
            self.fingerprint = check_fingerprint(self.fingerprint, "" if len(paths) == COUNT else fingerprint(paths, folder))


@dataclass
class ImageFolderConfig(ImageConfig):
    """Options of a folder of images.

    The folder is not part of what identifies a run, since a copy elsewhere gives the same numbers; the images are. ``fingerprint``
    stands for them: names and sizes, which takes a look at the folder and not at gigabytes, and is the same on another machine.

    Args:
        root: the folder. Images may lie in folders below it. Those of ``train`` and ``test``, if it has both, are the splits.
        size: the shorter side is resized to it, the middle of the longer one is kept.
        channels: 3 (colour; grey images are refused) or 1 (all are made grey).
        test_every: without a folder ``test`` every n-th image, in the order of names, is the test split.
        cache_dir: where the decoded images are kept.
        fingerprint: of names and sizes of the images; filled in.
    """

    num_train, num_test = None, None
    name: str = "image_folder"
    root: str = neutral("", path=True)
    channels: int = option(3, choices=(1, 3))
    test_every: int = option(10, at_least=2)
    cache_dir: str = neutral("data/decoded", path=True)
    fingerprint: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        root = Path(self.root)
        if self.root and root.is_dir():
            self.fingerprint = check_fingerprint(self.fingerprint, fingerprint(find_images(root), root))
            counts = [len(paths) for paths in find_splits(root, self.test_every).values()]
            self.num_train, self.num_test = counts if all(counts) else (None, None)
