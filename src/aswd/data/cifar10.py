"""CIFAR10: 32 x 32 images in colour, at the size that the paper's GAN takes."""

from __future__ import annotations

import pickle
import tarfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from aswd.data.download import Unreachable, check_file, download
from aswd.data.image_configs import Cifar10Config
from aswd.data.images import ImageData, resized
from aswd.utils.errors import UserError
from aswd.utils.files import write_atomically

ADDRESS = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
ARCHIVE = "cifar-10-python.tar.gz"
FOLDER = "cifar-10-batches-py"
# MD5 of the archive and of the batches in it. Pickles run code when they are read: none is read whose checksum is another.
CHECKSUMS = {
    ARCHIVE: "c58f30108f718f92721af3b95e74349a",
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
BATCHES = {"train": [f"data_batch_{number}" for number in range(1, 6)], "test": ["test_batch"]}


class Cifar10(ImageData):
    """CIFAR10, 50 000 and 10 000 images in colour of ten classes."""

    config_class = Cifar10Config

    @property
    def folder(self) -> Path:
        """Where the batches are."""
        return Path(self.config.root, FOLDER)

    @property
    def location(self) -> str:
        return str(self.folder)

    def prepare_data(self) -> None:
        batches = [batch for split in BATCHES.values() for batch in split]
        missing = [batch for batch in batches if not (self.folder / batch).exists()]
        if missing:
            _unpack(_archive(Path(self.config.root)), self.folder, missing)
        for batch in batches:
            check_file(self.folder / batch, CHECKSUMS[batch])

    def images(self, split: str) -> Tensor:
        images = np.concatenate([batch[b"data"] for batch in self._batches(split)]).reshape(-1, 3, 32, 32)
        return resized(torch.from_numpy(images), self.config.size)

    def labels(self, split: str) -> Tensor:
        return torch.tensor([label for batch in self._batches(split) for label in batch[b"labels"]])

    def _batches(self, split: str) -> list[dict[bytes, object]]:
        self.prepare_data()
        return [pickle.loads((self.folder / batch).read_bytes(), encoding="bytes") for batch in BATCHES[split]]


def _archive(root: Path) -> Path:
    """The archive, fetched if it is not there."""
    path = root / ARCHIVE
    if path.exists():
        check_file(path, CHECKSUMS[ARCHIVE])
        return path
    try:
        download([ADDRESS], path, CHECKSUMS[ARCHIVE])
    except Unreachable as error:
        raise UserError(
            f"cifar10 is not there and cannot be fetched ({error}): put {ARCHIVE}, or the folder {FOLDER} out of it, into {root}, "
            "or give the folder that has it as data.root"
        ) from None
    return path


def _unpack(archive: Path, folder: Path, batches: list[str]) -> None:
    try:
        with tarfile.open(archive) as tar:
            for batch in batches:
                content = tar.extractfile(f"{FOLDER}/{batch}").read()
                write_atomically(folder / batch, lambda partial, content=content: partial.write_bytes(content))
    except (tarfile.TarError, EOFError, KeyError) as error:
        raise UserError(f"{archive} is damaged ({error}); delete it to have it fetched again") from None
