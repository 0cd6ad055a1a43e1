"""Pictures as a data module: decoded once, kept in memory as bytes, and handed out in an order that only seed and step decide."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from pytorch_lightning import LightningDataModule
from torch import Tensor

from aswd.data.loaders import StepLoader

SPLITS = ("train", "test")


def resized(images: Tensor, size: int) -> Tensor:
    """Pictures ``[n, C, H, W]`` as bytes at ``size`` pixels a side: bilinear, averaged where they shrink, as PIL does it."""
    if images.shape[-2:] == (size, size):
        return images
    out = torch.empty(*images.shape[:2], size, size, dtype=torch.uint8)
    for start in range(0, len(images), 1024):  # a batch at a time, for the memory between
        part = images[start : start + 1024]
        out[start : start + 1024] = torch.nn.functional.interpolate(part, (size, size), mode="bilinear", antialias=True)
    return out


class Order:
    """Which pictures are in which batch: every epoch a new permutation, the rest that fills no batch left out.

    It is a function of the seed and the step alone. A run that goes on from a checkpoint needs no state of a loader.

    >>> order = Order(count=10, batch_size=4, seed=0)
    >>> order.steps_per_epoch, sorted(torch.cat([order.batch(0), order.batch(1)]).tolist()) == sorted(order.batch(0).tolist())
    (2, False)
    """

    _STREAM = 3  # of the random numbers of a seed

    def __init__(self, count: int, batch_size: int, seed: int) -> None:
        if batch_size > count:
            raise ValueError(f"batch_size must be at most the number of pictures, {count}; got {batch_size}")
        self.count, self.batch_size, self.seed = count, batch_size, seed
        self._permutation = cache(self._permutation)

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in an epoch."""
        return self.count // self.batch_size

    def batch(self, step: int) -> Tensor:
        """Places of the pictures of the batch after ``step`` steps, ``[batch_size]``."""
        epoch, turn = divmod(step, self.steps_per_epoch)
        return self._permutation(epoch)[turn * self.batch_size : (turn + 1) * self.batch_size]

    def _permutation(self, epoch: int) -> Tensor:
        return torch.from_numpy(np.random.default_rng([self.seed, self._STREAM, epoch]).permutation(self.count))


class ImageData(LightningDataModule):
    """Pictures of a train and a test split, as bytes.

    Args:
        settings: the options of the data.
        seeds: of the run; the pictures do not depend on them.
    """

    def __init__(self, settings: object, seeds: Sequence[int]) -> None:
        super().__init__()
        self.settings, self.seeds = settings, list(seeds)

    def prepare_data(self) -> None:
        """See that the pictures are there, whole and decoded; what is missing is fetched where that can be. Done before any run starts.

        Raises:
            UserError: they cannot be had or used; the sentence names the file, and says what to do.
        """

    @property
    def place(self) -> str:
        """Where the pictures are, for people."""
        return "computed, not read"

    @abstractmethod
    def images(self, split: str) -> Tensor:
        """All pictures of a split, uint8 ``[n, channels, size, size]``."""

    def labels(self, split: str) -> Tensor | None:
        """Their classes, ``[n]``, where they have any."""
        return None

    def train_dataloader(self) -> StepLoader:
        """The pictures stay with the task, on its device; a step is handed nothing but its turn."""
        return StepLoader()


class Synthetic(ImageData):
    """Discs of one of ten colours and places on a dark ground: pictures without a download, the same every time."""

    def images(self, split: str) -> Tensor:
        s = self.settings
        labels = self.labels(split).numpy()
        rng = np.random.default_rng([7, SPLITS.index(split)])
        angle = 2 * np.pi * labels / 10
        centre = 0.5 + 0.25 * np.stack([np.sin(angle), np.cos(angle)], 1) + rng.normal(0, 0.03, (len(labels), 2))
        radius = rng.uniform(0.1, 0.2, len(labels))
        axis = (np.arange(s.size) + 0.5) / s.size
        distance = np.hypot(axis[None, :, None] - centre[:, 0, None, None], axis[None, None, :] - centre[:, 1, None, None])
        disc = np.clip((radius[:, None, None] - distance) * s.size / 2 + 0.5, 0, 1)[:, None]
        colour = (0.6 + 0.4 * np.cos(angle[:, None] + 2 * np.pi * np.arange(s.channels) / 3))[:, :, None, None]
        return torch.from_numpy((255 * disc * colour).round().astype(np.uint8))

    def labels(self, split: str) -> Tensor:
        s = self.settings
        return torch.arange(s.num_train if split == "train" else s.num_test) % 10
