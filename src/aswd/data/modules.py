"""What the data modules share: options, seeds, and batches and a position that resume exactly."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

import torch
from pytorch_lightning import LightningDataModule


class StepLoader:
    """Batches ``batch(start), batch(start + 1), ...`` in epochs of ``length``.

    A batch depends on its number and on nothing else, so that a run that resumes with the right number has the right batches. Each pass
    continues where the previous one stopped, up to the end of its epoch.

    Args:
        batch: gives the batch of a number, counted from 0 over all epochs.
        length: batches per epoch; ``None`` for a single epoch without end.
        start: number of the first batch.

    >>> loader = StepLoader(lambda number: 10 * number, length=3, start=1)
    >>> list(loader), list(loader), len(loader)
    ([10, 20], [30, 40, 50], 3)
    """

    def __init__(self, batch: Callable[[int], Any], length: int | None = None, start: int = 0) -> None:
        self.batch, self.length, self.position = batch, length, start

    def __len__(self) -> int:
        if self.length is None:
            raise TypeError("this loader has no end and no length")
        return self.length

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        end = None if self.length is None else (self.position // self.length + 1) * self.length
        for number in itertools.count(self.position):
            if number == end:
                return
            self.position = number + 1
            yield self.batch(number)


class SeededDataModule(LightningDataModule):
    """Data for R replicas, one per seed, whose training batches depend on seed and batch number alone.

    The number of training batches consumed is saved with Lightning's checkpoints; after loading one, :attr:`start` is where
    ``train_dataloader`` begins.

    Args:
        seeds: one per replica.
        options: fields of ``config_class``.

    Raises:
        ValueError: an option that is not allowed.
    """

    config_class: ClassVar[type]

    def __init__(self, *, seeds: Sequence[int] = (0,), **options: Any) -> None:
        super().__init__()
        self.config = self.config_class(**options)
        self.seeds = [int(seed) for seed in seeds]
        self.start = 0

    def state_dict(self) -> dict[str, Any]:
        # Lightning's count, not the loader's: Lightning prefetches.
        return {"batches": self.start if self.trainer is None else self.trainer.fit_loop.epoch_loop.total_batch_idx + 1}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.start = state_dict["batches"]


class FixedBatch(SeededDataModule):
    """Data that are one batch, the same at every step and at every evaluation; it is copied to the device once."""

    @abstractmethod
    def samples(self) -> Any:
        """The batch: tensors ``[R, ...]``, or a list or dictionary of such."""

    @cached_property
    def _batch(self) -> Any:
        return self.samples()

    def train_dataloader(self) -> StepLoader:
        """The batch, without end."""
        return StepLoader(lambda _: self._batch, start=self.start)

    def val_dataloader(self) -> StepLoader:
        """The batch, once."""
        return StepLoader(lambda _: self._batch, length=1)

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        if batch is not self._batch:
            return super().transfer_batch_to_device(batch, device, dataloader_idx)
        held = self.__dict__.get("_held")
        if held is None or held[0] != device:
            held = self._held = (device, super().transfer_batch_to_device(batch, device, dataloader_idx))
        return held[1]
