"""Image data modules: decoded once, kept in memory as bytes, batched in an order that depends on seed and step alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from aswd.data.image_configs import SyntheticConfig
from aswd.data.image_files import SPLITS
from aswd.data.modules import SeededDataModule, StepLoader


def resized(images: Tensor, size: int) -> Tensor:
    """Images ``[n, C, H, W]`` as bytes at ``size`` pixels per side: bilinear, averaged where they shrink, as PIL does it."""
    if images.shape[-2:] == (size, size):
        return images
    out = torch.empty(*images.shape[:2], size, size, dtype=torch.uint8)
    for start in range(0, len(images), 1024):  # a batch at a time, for the memory between
        part = images[start : start + 1024]
        out[start : start + 1024] = torch.nn.functional.interpolate(part, (size, size), mode="bilinear", antialias=True)
    return out


class Order:
    """Which images are in which batch: every epoch a new permutation, the rest that fills no batch left out.

    It is a function of the seed and the step alone, so that a run that resumes needs no state but its step.

    >>> order = Order(count=10, batch_size=4, seed=0)
    >>> order.steps_per_epoch, sorted(torch.cat([order.batch(0), order.batch(1)]).tolist()) == sorted(order.batch(0).tolist())
    (2, False)
    """

    _STREAM = 3  # of the random numbers of a seed

    def __init__(self, count: int, batch_size: int, seed: int) -> None:
        if batch_size > count:
            raise ValueError(f"batch_size must be at most the number of images, {count}; got {batch_size}")
        self.count, self.batch_size, self.seed = count, batch_size, seed
        self._permutation = cache(self._permutation)

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in an epoch."""
        return self.count // self.batch_size

    def batch(self, step: int) -> Tensor:
        """Indices of the images of the batch after ``step`` steps, ``[batch_size]``."""
        epoch, turn = divmod(step, self.steps_per_epoch)
        return self._permutation(epoch)[turn * self.batch_size : (turn + 1) * self.batch_size]

    def _permutation(self, epoch: int) -> Tensor:
        return torch.from_numpy(np.random.default_rng([self.seed, self._STREAM, epoch]).permutation(self.count))


class ImageData(SeededDataModule):
    """Images of a train and a test split, as bytes.

    Training batches are uint8 ``[R, B, channels, size, size]``, for every seed in an order of its own; of several processes of a trainer
    each has its part of a batch. Evaluation has the test split in
    its own order, ``[B, channels, size, size]``, with its labels where there are any.

    Args:
        seeds: one per replica; the images themselves do not depend on them.
        batch_size: B.
        options: fields of ``config_class``.
    """

    def __init__(self, *, seeds: Sequence[int] = (0,), batch_size: int = 64, **options: Any) -> None:
        super().__init__(seeds=seeds, **options)
        self.batch_size = batch_size
        self._read: dict[str, Tensor] = {}  # by split

    def prepare_data(self) -> None:
        """Fetch, check and decode the images.

        Raises:
            UserError: they cannot be fetched or read; the sentence names the file and what to do.
        """

    @property
    def location(self) -> str:
        """Where the images are, for messages."""
        return "computed, not read"

    @abstractmethod
    def images(self, split: str) -> Tensor:
        """All images of a split, uint8 ``[n, channels, size, size]``."""

    def labels(self, split: str) -> Tensor | None:
        """Their classes, ``[n]``, where they have any."""
        return None

    def _split_images(self, split: str) -> Tensor:
        """:meth:`images`, read once."""
        if split not in self._read:
            self._read[split] = self.images(split)
        return self._read[split]

    def train_dataloader(self) -> StepLoader:
        """Batches of the train split, uint8 ``[R, B, channels, size, size]``."""
        images = self._split_images("train")
        orders = [Order(len(images), self.batch_size, seed) for seed in self.seeds]
        processes, process = (1, 0) if self.trainer is None else (self.trainer.world_size, self.trainer.global_rank)
        if self.batch_size % processes:
            raise ValueError(f"batch_size must be a multiple of the {processes} processes that share a batch; got {self.batch_size}")

        def batch(number: int) -> Tensor:
            chosen = torch.stack([order.batch(number) for order in orders]).chunk(processes, 1)[process]
            part = images.index_select(0, chosen.flatten()).unflatten(0, chosen.shape)
            return part.pin_memory() if torch.cuda.is_available() else part

        return StepLoader(batch, orders[0].steps_per_epoch, self.start)

    def val_dataloader(self) -> StepLoader:
        """The test split: images ``[B, channels, size, size]``, or images and labels ``[B]``."""
        images, labels, size = self._split_images("test"), self.labels("test"), self.batch_size

        def batch(number: int) -> Tensor | tuple[Tensor, Tensor]:
            first = number % count * size  # the same batches at every evaluation
            part = images[first : first + size]
            return part if labels is None else (part, labels[first : first + size])

        count = -(-len(images) // size)
        return StepLoader(batch, count)


class Synthetic(ImageData):
    """Discs in ten colours and positions on a dark background: images without a download, the same every time."""

    config_class = SyntheticConfig

    def images(self, split: str) -> Tensor:
        c = self.config
        labels = self.labels(split).numpy()
        rng = np.random.default_rng([7, SPLITS.index(split)])
        angle = 2 * np.pi * labels / 10
        centre = 0.5 + 0.25 * np.stack([np.sin(angle), np.cos(angle)], 1) + rng.normal(0, 0.03, (len(labels), 2))
        radius = rng.uniform(0.1, 0.2, len(labels))
        axis = (np.arange(c.size) + 0.5) / c.size
        distance = np.hypot(axis[None, :, None] - centre[:, 0, None, None], axis[None, None, :] - centre[:, 1, None, None])
        disc = np.clip((radius[:, None, None] - distance) * c.size / 2 + 0.5, 0, 1)[:, None]
        colour = (0.6 + 0.4 * np.cos(angle[:, None] + 2 * np.pi * np.arange(c.channels) / 3))[:, :, None, None]
        return torch.from_numpy((255 * disc * colour).round().astype(np.uint8))

    def labels(self, split: str) -> Tensor:
        return torch.arange(self.config.num_train if split == "train" else self.config.num_test) % 10
