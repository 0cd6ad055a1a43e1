"""What the tasks on images share: epochs, networks for the shape of the images, evaluation by one process of several."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from aswd.tasks.base import Task
from aswd.tasks.batches import as_images
from aswd.utils.errors import UserError


class ImageTask(Task):
    """A task whose batches are images; see :func:`~aswd.tasks.batches.as_images`.

    A run is counted in ``epochs``, or in ``iterations`` where these are given; it is evaluated every ``evaluate_every`` iterations or,
    where that is not given, every :attr:`evaluate_epochs` epochs. Of several processes each takes its part of a batch; the first alone
    evaluates, on its validation batches, and sends the metrics to the others.

    A subclass implements :meth:`make_networks`, :meth:`look_at` and :meth:`evaluate`.
    """

    data_kind = "images"
    logarithmic = False
    several_devices = True

    def __init__(self, distance: Any, *, seeds: Sequence[int] = (0,), **options: Any) -> None:
        super().__init__(distance, seeds=seeds, **options)
        if not self.batches_seeds and len(self.seeds) != 1:
            raise ValueError(f"seeds must be a single one for {type(self).__name__}; got {self.seeds}")
        self.shape: tuple[int, ...] | None = None  # channels, height, width
        self.register_buffer("image_shape", None)  # the same, for checkpoints
        self.details: dict[str, Any] = {}  # how metrics were computed

    @classmethod
    def num_bytes(cls, config: Any, data: Any, distance: nn.Module, seeds: int) -> int:
        """Batches of images as bytes and, in float32, with those that the task makes of them."""
        return 9 * seeds * config.batch_size * getattr(data, "channels", 1) * getattr(data, "size", 1) ** 2

    @property
    def num_steps(self) -> int:
        return self.config.iterations or -1

    @property
    def evaluate_every(self) -> int:
        return self.config.evaluate_every or -1

    @property
    def evaluate_epochs(self) -> int:
        """Epochs between two evaluations, where they are not counted in iterations."""
        return 1

    def trainer_defaults(self) -> dict[str, Any]:
        c = self.config
        length = {"max_steps": -1, "max_epochs": c.epochs} if c.iterations is None else {"max_steps": c.iterations, "max_epochs": -1}
        if c.evaluate_every is None:
            return {**length, "check_val_every_n_epoch": self.evaluate_epochs, "num_sanity_val_steps": 0}
        return {**length, "val_check_interval": c.evaluate_every, "check_val_every_n_epoch": None, "num_sanity_val_steps": 0}

    @abstractmethod
    def make_networks(self, shape: tuple[int, ...]) -> None:
        """Make the networks for images ``[channels, height, width]``.

        Raises:
            ValueError: there are none for images of that shape.
        """

    def initialise(self, shape: Sequence[int]) -> None:
        """Make what depends on the shape of the images, ``[channels, height, width]``."""
        self.shape = tuple(int(size) for size in shape)
        self.make_networks(self.shape)
        self.image_shape = torch.tensor(self.shape, device=self.device)

    def setup(self, stage: str) -> None:
        if self.shape is not None:
            return
        if stage != "fit":
            given = getattr(stage, "value", stage)
            raise UserError(f"{type(self).__name__} has no networks yet: fit it or load it from a checkpoint before trainer.{given}()")
        self.initialise(as_images(self.first_batch(), len(self.seeds)).shape[2:])

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Make the networks for the images of a checkpoint where there are none yet, and load it."""
        if self.shape is None and "image_shape" in state_dict:
            self.initialise(state_dict["image_shape"].tolist())
        return super().load_state_dict(state_dict, strict, assign)

    def on_train_epoch_end(self) -> None:
        """End the fit after all epochs, also where the trainer was given no ``max_epochs``."""
        if self.config.iterations is None and self.current_epoch + 1 >= self.config.epochs:
            self.trainer.should_stop = True

    @abstractmethod
    def add_validation_batch(self, images: Tensor, labels: Tensor | None) -> None:
        """Take note of a validation batch: images ``[n, channels, height, width]`` in [0, 1], labels ``[n]`` where there are any."""

    @abstractmethod
    def evaluate(self) -> dict[str, Tensor]:
        """Metrics ``[R]``, after all validation batches."""

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        if self.trainer.is_global_zero and not self.trainer.sanity_checking:
            labels = batch[1] if isinstance(batch, tuple | list) and len(batch) > 1 else None
            self.add_validation_batch(as_images(batch, 1)[0], labels)

    def on_validation_epoch_end(self) -> None:
        if self.trainer.sanity_checking:
            return
        self.stop_if_diverged()
        metrics = {name: value.cpu() for name, value in self.evaluate().items()} if self.trainer.is_global_zero else {}
        self.log_metrics(self.trainer.strategy.broadcast(metrics))

    def record(self) -> dict[str, Any]:
        """How metrics were computed that do not say so by their names."""
        return self.details

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["details"] = self.details

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.details = checkpoint["details"]


def random_numbers(device: torch.device, *place: int) -> torch.Generator:
    """A generator of random numbers for a seed, a stream and, where given, a step."""
    (state,) = np.random.SeedSequence(place).generate_state(1, np.uint64)
    return torch.Generator(device).manual_seed(int(state >> np.uint64(1)))


@contextmanager
def seeded(*place: int) -> Any:
    """torch's global random numbers inside are those of ``place``; outside they are as before."""
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(random_numbers(torch.device("cpu"), *place).get_state())
        yield
