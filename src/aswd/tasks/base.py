"""What all tasks share: a LightningModule over replicas, with a distance, options, metrics per seed and divergence per seed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from pytorch_lightning import LightningModule
from torch import Tensor, nn

from aswd.distances import build, build_options
from aswd.distances import options as distance_options
from aswd.utils.metric_history import MetricHistory


class Diverged(Exception):
    """The losses of some seeds are not finite.

    Args:
        steps: for each of these seeds, the step at which its loss was first not finite.
    """

    def __init__(self, steps: dict[int, int]) -> None:
        super().__init__("; ".join(f"the loss of seed {seed} is not finite at step {step}" for seed, step in steps.items()))
        self.steps = steps

    def __reduce__(self) -> tuple:
        return type(self), (self.steps,)


class Task(LightningModule, ABC):
    """A LightningModule over R replicas, one per seed.

    A plain trainer runs it, ``Trainer(**task.trainer_defaults()).fit(task, datamodule=data)``, and ``load_from_checkpoint`` makes it again.

    A subclass implements ``training_step(batch, batch_idx)``, which should :meth:`watch` its losses, ``configure_optimizers``, and
    ``validation_step(batch, batch_idx)``, which hands its metrics to :meth:`log_metrics`.

    Args:
        distance: a module ``distance(x [R, N, d], y [R, M, d]) -> [R]``, or a mapping with the ``name`` of a registered distance and its
            options; its seeds are those of the task unless it says otherwise.
        seeds: one per replica.
        options: fields of ``config_class``.

    Raises:
        ValueError: an option that is not allowed.
    """

    config_class: ClassVar[type]
    headline: str  # the metric by which runs are compared; smaller is better
    logarithmic: ClassVar[bool] = True  # whether that metric is reported as its logarithm, too
    data_kind: ClassVar[str]  # of the data that the task takes
    batches_seeds: ClassVar[bool] = False  # whether seeds run as one batch of replicas; else one after the other
    optimises_manually: ClassVar[bool] = False  # whether it takes its optimiser steps itself
    several_devices: ClassVar[bool] = False  # whether several processes can share a batch
    small_tensors: ClassVar[bool] = False  # too small for torch's own threads to pay on a CPU

    def __init__(self, distance: nn.Module | Mapping[str, Any], *, seeds: Sequence[int] = (0,), **options: Any) -> None:
        super().__init__()
        self.config = self.config_class(**options)
        self.seeds = [int(seed) for seed in seeds]
        self.distance = distance if isinstance(distance, nn.Module) else _build(distance, self.seeds)
        # Plain containers only: checkpoints are loaded with weights_only=True.
        kept = {"seeds": self.seeds, **{name: _plain(value) for name, value in options.items()}}
        described = build_options(self.distance)
        if described is not None:
            kept["distance"] = _plain(described)
        self.save_hyperparameters(kept, logger=False)
        self.seed_metrics: dict[str, Tensor] = {}  # [R] each, of the last evaluation
        self.logs_to_loggers = True  # else a callback does that
        self.register_buffer("_bad_since", torch.full((len(self.seeds),), -1), persistent=False)

    @classmethod
    def check(cls, config: Any, data: Any, distance: nn.Module) -> None:
        """Check before a run that the options of task and data and the distance fit together.

        Raises:
            ValueError: they do not.
        """

    @classmethod
    def problem(cls, config: Any, data: Any) -> tuple[int, int, int, int]:
        """Pairs of sample sets that a seed hands to the distance in a step, samples on both sides, and their dimension; 0: unknown."""
        return 0, 0, 0, 0

    @classmethod
    def num_bytes(cls, config: Any, data: Any, distance: nn.Module, seeds: int) -> int:
        """Least memory of a run of so many seeds at once in bytes, besides its data and its distance; 0: unknown."""
        return 0

    @property
    @abstractmethod
    def num_steps(self) -> int:
        """Steps of a whole run; -1 where the run is counted in epochs."""

    @property
    @abstractmethod
    def evaluate_every(self) -> int:
        """Steps between two evaluations."""

    def trainer_defaults(self) -> dict[str, Any]:
        """Arguments of ``pytorch_lightning.Trainer`` for a whole run, evaluated every :attr:`evaluate_every` steps."""
        return {
            "max_steps": self.num_steps,
            "max_epochs": -1,
            "val_check_interval": self.evaluate_every,
            "check_val_every_n_epoch": None,
            "num_sanity_val_steps": 0,
        }

    def is_evaluated_besides(self, step: int) -> bool:
        """Whether a recorded run is evaluated after ``step`` steps besides the regular evaluations."""
        return step == 1

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """End the fit after a whole run, also where the trainer was given no ``max_steps``; Lightning evaluates there."""
        if 0 <= self.num_steps <= self.global_step:
            self.trainer.should_stop = True

    def first_batch(self) -> Any:
        """The first training batch, for what depends on the shape of the data; torch's random state stays as it is."""
        loader = self.trainer.fit_loop._data_source.dataloader()  # of the data module or as given to fit; Lightning has no public name
        with torch.random.fork_rng(devices=[]):
            return next(iter(loader))

    def log_metrics(self, metrics: dict[str, Tensor]) -> None:
        """Log the mean over the seeds of every metric ``[R]``, and keep all R values in :attr:`seed_metrics`.

        The metrics must have the same names at every evaluation; NaN stands for one that was not computed this time, and is not logged.
        """
        self.stop_if_diverged()
        self.seed_metrics = {name: values.detach() for name, values in metrics.items()}
        for name, values in self.seed_metrics.items():
            mean = values.mean()
            if not mean.isnan():
                self.log(name, mean, prog_bar=name == self.headline, logger=self.logs_to_loggers, batch_size=1, on_epoch=True)

    @abstractmethod
    def samples(self, replica: int) -> dict[str, np.ndarray]:
        """Arrays that the record of a replica keeps."""

    def record(self) -> dict[str, Any]:
        """Further entries of the record: how the metrics were computed."""
        return {}

    def draw(self, folder: Path, metrics: MetricHistory, title: str) -> list[Path]:
        """Save images of the run in ``folder``; returns their paths."""
        return []

    def watch(self, values: Tensor, step: int) -> None:
        """Note ``step`` for replicas whose loss, or state, ``values [R, ...]``, is not finite; on a CPU raise :class:`Diverged`.

        On a GPU nothing is copied to the host: the note stays on the device until the next evaluation.
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
        """Norm of all parameters that the distance has learned, ``[R]``; ``None`` where it learns nothing."""
        learned = getattr(self.distance, "learned", None)
        held = [] if learned is None else [value for name, value in learned.named_buffers() if "__" not in name]
        if not held:
            return None
        return torch.stack([value.flatten(1).square().sum(1) for value in held]).sum(0).sqrt()


def exact_bytes(n: int, m: int) -> int:
    """Memory of an exact W2 in bytes: costs and, of more than a thousand samples, a plan in float64."""
    return (8 if max(n, m) <= 1000 else 16) * n * m


def _build(described: Mapping[str, Any], seeds: list[int]) -> nn.Module:
    """The distance of a mapping with its ``name`` and options."""
    given = dict(described)
    name = given.pop("name", None)
    if name is None:
        raise ValueError(f"distance must be a module, or a mapping with a name; got {dict(described)!r}")
    if "seed" in distance_options(name):
        given.setdefault("seed", list(seeds))
    return build(name, **given)


def _plain(value: Any) -> Any:
    """``value`` in dictionaries, lists and scalars of Python."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value
