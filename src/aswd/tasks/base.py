"""What a run asks of a task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from pytorch_lightning import LightningModule
from torch import Tensor, nn

from aswd.utils.metric_history import MetricHistory


class Diverged(Exception):
    """The losses of some seeds are not finite numbers any more: at which step, for each of them."""

    def __init__(self, steps: dict[int, int]) -> None:
        super().__init__("; ".join(f"the loss of seed {seed} is not finite at step {step}" for seed, step in steps.items()))
        self.steps = steps


class Task(LightningModule, ABC):
    """A LightningModule over R replicas, one a seed, with a distance, metrics and pictures.

    Args:
        distance: any of the family.
        seeds: one a replica.
    """

    headline: str  # the metric by which runs are compared; smaller is better
    logarithmic: ClassVar[bool] = True  # whether people look at the logarithm of that
    data_kind: ClassVar[str]  # of data that the task is about
    batches_seeds: ClassVar[bool] = False  # whether seeds run as one batch of replicas; else one after the other
    several_devices: ClassVar[bool] = False  # whether several processes can share a batch
    small_tensors: ClassVar[bool] = False  # too small for torch's own threads to pay on a CPU

    def __init__(self, distance: nn.Module, seeds: Sequence[int]) -> None:
        super().__init__()
        self.distance, self.seeds = distance, list(seeds)
        self.register_buffer("_bad_since", torch.full((len(self.seeds),), -1), persistent=False)

    @classmethod
    def distance_defaults(cls, name: str, reading: str) -> dict[str, Any]:
        """Options of the distance ``name`` that this task of the paper gives, where they are not the distance's own."""
        return {}

    @classmethod
    def reading_defaults(cls, reading: str, data: str) -> dict[str, Any]:
        """What a reading of the paper gives, for the data of that name, for settings of this task that are null."""
        return {}

    @classmethod
    def check(cls, settings: Any, data: Any, distance: nn.Module) -> None:
        """Refuse, with a ``ValueError``, settings, settings of the data and a distance that do not go together; called before a run."""

    @property
    @abstractmethod
    def num_steps(self) -> int:
        """Steps of a whole run."""

    @abstractmethod
    def is_due(self, step: int) -> bool:
        """Whether the metrics are taken after ``step`` steps."""

    def observe(self, step: int) -> None:
        """Look at the state after every step, for pictures."""

    @abstractmethod
    def evaluate(self) -> dict[str, Tensor]:
        """The metrics, each ``[R]``, always the same ones; NaN for one that is not taken this time. At the last step none is left out."""

    @abstractmethod
    def samples(self, replica: int) -> dict[str, np.ndarray]:
        """Arrays that the record of a replica keeps."""

    def record(self) -> dict[str, Any]:
        """Anything else that the record says of how the metrics were taken."""
        return {}

    def draw(self, folder: Path, metrics: MetricHistory, title: str) -> list[Path]:
        """Pictures of the run."""
        return []

    def watch(self, values: Tensor, step: int) -> None:
        """Note ``step`` for replicas whose loss, or state, ``values [R, ...]``, is not finite; on a CPU stop there.

        Nothing is copied to the host in a step on a GPU: the note stays on the device until metrics are taken.
        """
        finite = torch.isfinite(values.detach().reshape(len(values), -1)).all(1)
        self._bad_since.masked_fill_(~finite & (self._bad_since < 0), step)
        if values.device.type == "cpu":
            self.stop_if_diverged()

    def stop_if_diverged(self) -> None:
        """Raise :class:`Diverged` for the replicas that have."""
        steps = {seed: step for seed, step in zip(self.seeds, self._bad_since.tolist(), strict=True) if step >= 0}
        if steps:
            raise Diverged(steps)

    def learned_norm(self) -> Tensor | None:
        """Norm of all that the distance has learned, ``[R]``; ``None`` where it learns nothing."""
        learned = getattr(self.distance, "learned", None)
        held = [] if learned is None else [value for name, value in learned.named_buffers() if "__" not in name]
        if not held:
            return None
        return torch.stack([value.flatten(1).square().sum(1) for value in held]).sum(0).sqrt()
