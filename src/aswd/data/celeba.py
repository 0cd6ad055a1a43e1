"""CelebA: aligned faces, the middle of them at 64 x 64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from PIL import Image
from torch import Tensor

from aswd.data.image_files import check_fingerprint, decoded, fingerprint
from aswd.data.images import SPLITS, ImageData
from aswd.utils.checks import check_at_least
from aswd.utils.errors import UserError

COUNT = 202_599  # pictures 000001.jpg .. 202599.jpg
FIRST_TEST = 182_638  # of the official partition; those from 162 771 on, before it, are for validation
FIRST_VALID = 162_771
PARTITION = "list_eval_partition.txt"  # lines "000001.jpg 0" with 0 for train, 1 for validation, 2 for test
_PART = {"train": 0, "test": 2}
_PLACES = ("celeba/img_align_celeba", "img_align_celeba", "celeba", ".")  # torchvision's first


@dataclass
class CelebAConfig:
    """Options of CelebA.

    Args:
        size: pixels a side.
        crop: pixels a side of the square in the middle of the 178 x 218 picture that is resized to ``size``. 140, the face with some
            hair, is what Wasserstein auto-encoders made usual for 64 x 64; the paper does not say. 178 takes the whole width.
        root: the folder of data sets, with torchvision's ``celeba/img_align_celeba`` and ``celeba/list_eval_partition.txt``, or a
            plain folder of the pictures; without the list the official split goes by their numbers.
        cache_dir: where the decoded pictures are kept.
        fingerprint: of names and sizes of the pictures where they are not all of CelebA's; filled in.
    """

    kind: ClassVar[str] = "images"
    channels: ClassVar[int] = 3
    name: str = "celeba"
    size: int = 64
    crop: int = 140
    root: str = field(default="data", metadata={"changes_numbers": False})
    cache_dir: str = field(default="data/decoded", metadata={"changes_numbers": False})
    fingerprint: str = ""

    def __post_init__(self) -> None:
        check_at_least("size", self.size, 4, whole=True)
        check_at_least("crop", self.crop, 4, whole=True)
        if self.crop > 178:
            raise ValueError(f"crop must be at most 178, the width of the pictures; got {self.crop}")
        folder = find_folder(Path(self.root))
        if folder is not None:
            paths = numbered(folder)
            # The whole set is the same everywhere; runs on a part of it are runs of their own.
            self.fingerprint = check_fingerprint(self.fingerprint, "" if len(paths) == COUNT else fingerprint(paths, folder))


class CelebA(ImageData):
    """CelebA, 162 770 pictures to train on and 19 962 to test on, decoded once."""

    def __init__(self, settings: CelebAConfig, seeds: Sequence[int]) -> None:
        super().__init__(settings, seeds)
        self.folder = find_folder(Path(settings.root))

    @property
    def place(self) -> str:
        return str(self.folder)

    def prepare_data(self) -> None:
        for split in SPLITS:
            self.images(split)

    def images(self, split: str) -> Tensor:
        s, paths = self.settings, self._splits[split]
        key = f"{fingerprint(paths, self.folder, times=True)}-{s.crop}-{s.size}x{s.size}"
        return decoded(paths, 3, s.size, self._middle, Path(s.cache_dir, f"celeba-{split}-{key}.npy"), f"celeba {split}")

    def _middle(self, picture: Image.Image) -> Image.Image:
        crop, size = self.settings.crop, self.settings.size
        if min(picture.size) < crop:
            raise ValueError(f"it is {picture.width} x {picture.height}, smaller than data.crop={crop}")
        left, top = (picture.width - crop) // 2, (picture.height - crop) // 2
        return picture.crop((left, top, left + crop, top + crop)).resize((size, size), Image.Resampling.BILINEAR)

    @cached_property
    def _splits(self) -> dict[str, list[Path]]:
        root = Path(self.settings.root)
        if self.folder is None:
            raise UserError(
                f"celeba is not in {root}, and cannot be fetched without a visit to its page: put the pictures of img_align_celeba.zip "
                f"into {root / _PLACES[0]} and {PARTITION} into {root / 'celeba'}, or give a folder that has 000001.jpg and the "
                "others as data.root"
            )
        lists = [place / PARTITION for place in (self.folder.parent, self.folder) if (place / PARTITION).exists()]
        paths = _by_list(lists[0], self.folder) if lists else _by_number(self.folder)
        for split, found in paths.items():
            if len(found) < 2:
                raise UserError(f"{self.folder} must have at least two pictures of the {split} split of celeba; it has {len(found)}")
        return paths


def find_folder(root: Path) -> Path | None:
    """The folder of the numbered pictures, in one of the usual places."""
    return next((root / place for place in _PLACES if any((root / place).glob("[0-9]*[0-9].jpg"))), None)


def numbered(folder: Path) -> list[Path]:
    """The pictures, in the order of their numbers."""
    return sorted((path for path in folder.glob("*.jpg") if path.stem.isdecimal()), key=lambda path: int(path.stem))


def _by_number(folder: Path) -> dict[str, list[Path]]:
    paths = numbered(folder)
    return {
        "train": [path for path in paths if int(path.stem) < FIRST_VALID],
        "test": [path for path in paths if int(path.stem) >= FIRST_TEST],
    }


def _by_list(path: Path, folder: Path) -> dict[str, list[Path]]:
    """The splits that the list gives; a picture of it that is not there is named."""
    there = {picture.name for picture in numbered(folder)}
    parts: dict[int, list[Path]] = {0: [], 1: [], 2: []}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if len(words) != 2 or words[1] not in ("0", "1", "2"):
            raise UserError(f"{path} is damaged: line {number} must be the name of a picture and 0, 1 or 2; it is {line!r}")
        if words[0] not in there:
            raise UserError(
                f"{folder} is not whole: {words[0]}, line {number} of {path.name}, is not there; without the list those there are taken"
            )
        parts[int(words[1])].append(folder / words[0])
    return {split: parts[part] for split, part in _PART.items()}
