"""The files of CelebA: where they are, and which belong to which split."""

from __future__ import annotations

from pathlib import Path

from aswd.utils.errors import UserError

COUNT = 202_599  # images 000001.jpg .. 202599.jpg
FIRST_TEST = 182_638  # of the official partition; those from 162 771 on, before it, are for validation
FIRST_VALID = 162_771
PARTITION = "list_eval_partition.txt"  # lines "000001.jpg 0" with 0 for train, 1 for validation, 2 for test
_PART = {"train": 0, "test": 2}
PLACES = ("celeba/img_align_celeba", "img_align_celeba", "celeba", ".")  # torchvision's first


def find_folder(root: Path) -> Path | None:
    """The folder of the numbered images, in one of the usual folders."""
    return next((root / folder for folder in PLACES if any((root / folder).glob("[0-9]*[0-9].jpg"))), None)


def numbered(folder: Path) -> list[Path]:
    """The images, in the order of their numbers."""
    return sorted((path for path in folder.glob("*.jpg") if path.stem.isdecimal()), key=lambda path: int(path.stem))


def by_number(folder: Path) -> dict[str, list[Path]]:
    """The official splits, by the numbers of the images."""
    paths = numbered(folder)
    return {
        "train": [path for path in paths if int(path.stem) < FIRST_VALID],
        "test": [path for path in paths if int(path.stem) >= FIRST_TEST],
    }


def by_list(path: Path, folder: Path) -> dict[str, list[Path]]:
    """The splits that the list gives; an image of it that is not there is named."""
    there = {image.name for image in numbered(folder)}
    parts: dict[int, list[Path]] = {0: [], 1: [], 2: []}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if len(words) != 2 or words[1] not in ("0", "1", "2"):
            raise UserError(f"{path} is damaged: line {number} must be the name of an image and 0, 1 or 2; it is {line!r}")
        if words[0] not in there:
            raise UserError(
                f"{folder} is not whole: {words[0]}, line {number} of {path.name}, is not there; without the list those there are taken"
            )
        parts[int(words[1])].append(folder / words[0])
    return {split: parts[part] for split, part in _PART.items()}
