"""MNIST and Fashion-MNIST: 28 x 28 images in grey, of ten classes."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from aswd.data.image_configs import MnistConfig
from aswd.data.images import ImageData, resized
from aswd.data.mnist_files import PREFIX, SOURCES, fetch, read_idx
from aswd.utils.errors import UserError


class Mnist(ImageData):
    """MNIST or Fashion-MNIST, 60 000 and 10 000 images ``[1, 28, 28]`` of ten classes."""

    config_class = MnistConfig

    @property
    def folder(self) -> Path:
        """Where the four files are."""
        return Path(self.config.root, SOURCES[self.config.name].folder)

    @property
    def location(self) -> str:
        return str(self.folder)

    def prepare_data(self) -> None:
        fetch(self.config.name, self.folder)
        for prefix in PREFIX.values():
            images, labels = (read_idx(self.folder / f"{prefix}-{kind}") for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"))
            if len(images) != len(labels):
                raise UserError(f"{self.folder} has {len(images)} {prefix} images and {len(labels)} labels: they must be as many")

    def images(self, split: str) -> Tensor:
        self.prepare_data()
        images = torch.from_numpy(read_idx(self.folder / f"{PREFIX[split]}-images-idx3-ubyte"))[:, None]
        return resized(images, self.config.size)

    def labels(self, split: str) -> Tensor:
        self.prepare_data()
        return torch.from_numpy(read_idx(self.folder / f"{PREFIX[split]}-labels-idx1-ubyte")).long()
