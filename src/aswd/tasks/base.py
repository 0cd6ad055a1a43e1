"""What a run asks of a task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from pytorch_lightning import LightningModule
from torch import Tensor, nn

from aswd.results.store import Metrics


class Diverged(Exception):
    """The loss of a seed is not a finite number any more."""

    def __init__(self, seed: int, step: int) -> None:
        super().__init__(f"the loss of seed {seed} is not finite at step {step}")
        self.seed, self.step = seed, step


class Task(LightningModule):
    """A LightningModule over R replicas, one a seed, with a distance, metrics and pictures.

    Args:
        distance: any of the family.
        seeds: one a replica.
    """

    headline: ClassVar[str]  # the metric by which runs are compared; smaller is better
    small_tensors: ClassVar[bool] = False  # too small for torch's own threads to pay on a CPU

    def __init__(self, distance: nn.Module, seeds: Sequence[int]) -> None:
        super().__init__()
        self.distance, self.seeds = distance, list(seeds)
        self.register_buffer("_bad_since", torch.full((len(self.seeds),), -1), persistent=False)

    @classmethod
    def distance_defaults(cls, name: str, reading: str) -> dict[str, Any]:
        """Options of the distance ``name`` that this task of the paper gives, where they are not the distance's own."""
        return {}

    @property
    def num_steps(self) -> int:
        """Steps of a whole run."""
        raise NotImplementedError

    def is_due(self, step: int) -> bool:
        """Whether the metrics are taken after ``step`` steps."""
        raise NotImplementedError

    def observe(self, step: int) -> None:
        """Look at the state after every step, for pictures."""

    def evaluate(self) -> dict[str, Tensor]:
        """The metrics, each ``[R]``."""
        raise NotImplementedError

    def samples(self, replica: int) -> dict[str, np.ndarray]:
        """Arrays that the record of a replica keeps."""
        raise NotImplementedError

    def draw(self, folder: Path, metrics: Metrics, title: str) -> list[Path]:
        """Pictures of the run."""
        return []

    def watch(self, losses: Tensor) -> None:
        """Note the first step at which a replica's loss ``[R]`` is not finite; on a CPU stop there, elsewhere when metrics are taken.

        Nothing is copied to the host in a step on a GPU: the note stays on the device.
        """
        fresh = ~torch.isfinite(losses.detach()) & (self._bad_since < 0)
        self._bad_since.masked_fill_(fresh, self.global_step + 1)
        if losses.device.type == "cpu":
            self.stop_if_diverged()

    def stop_if_diverged(self) -> None:
        """Raise :class:`Diverged` for the first replica that has."""
        bad = self._bad_since.tolist()
        if max(bad) >= 0:
            step, seed = min((step, seed) for step, seed in zip(bad, self.seeds, strict=True) if step >= 0)
            raise Diverged(seed, step)

    def learned_norm(self) -> Tensor | None:
        """Norm of all that the distance has learned, ``[R]``; ``None`` where it learns nothing."""
        learned = getattr(self.distance, "learned", None)
        held = [] if learned is None else [value for name, value in learned.named_buffers() if "__" not in name]
        if not held:
            return None
        return torch.stack([value.flatten(1).square().sum(1) for value in held]).sum(0).sqrt()
