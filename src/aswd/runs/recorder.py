"""The metrics of a run: taken from Lightning's evaluations, into the store's file and to the loggers."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pytorch_lightning import Callback, LightningModule, Trainer

from aswd.utils.errors import UserError
from aswd.utils.files import write_text
from aswd.utils.metric_history import MetricHistory
from aswd.utils.registry import import_objects
from aswd.utils.statistics import mean_and_band

PACE = "seconds_per_iteration"
(log_metrics,) = import_objects("aswd.tracking.loggers:log_metrics")  # by name: tracking stands on this package


class Recorder(Callback):
    """Keeps the metrics of every evaluation, in memory, in a CSV file and in checkpoints.

    Besides the evaluations that the trainer makes, it has the run evaluated after its first and after its last step, and where the task
    says. Tasks of ours have metrics per seed; of any other LightningModule it takes what ``self.log`` logged, for one seed.

    Args:
        path: the CSV file that grows with the run.
        metrics: to fill.
    """

    def __init__(self, path: Path, metrics: MetricHistory) -> None:
        self.path, self.metrics = path, metrics
        self._before, self._start = 0.0, time.perf_counter()  # seconds up to the checkpoint; start of those since
        self._since, self._since_step = 0.0, 0
        self._pace = math.nan

    @property
    def elapsed(self) -> float:
        """Seconds that the run has taken, with evaluations, without what was lost since the last checkpoint."""
        return self._before + time.perf_counter() - self._start

    def restart_clock(self) -> None:
        """Count further seconds from now on."""
        self._start = time.perf_counter()

    def setup(self, trainer: Trainer, task: LightningModule, stage: str) -> None:
        task.logs_to_loggers = False  # this does, with the exact step, and survives a logger that fails

    def on_train_start(self, trainer: Trainer, task: LightningModule) -> None:
        if trainer.is_global_zero:
            write_text(self.path, self.metrics.to_csv())  # without what came after the checkpoint
        self._start = self._since = time.perf_counter()
        self._since_step = trainer.global_step

    def on_train_batch_end(self, trainer: Trainer, task: LightningModule, *_: Any) -> None:
        besides = getattr(task, "is_evaluated_besides", lambda step: step == 1)
        later = evaluation_is_due(trainer) or is_last_step(trainer)
        if besides(trainer.global_step) and self._is_missing(trainer) and not later:
            evaluate(trainer)

    def on_train_end(self, trainer: Trainer, task: LightningModule) -> None:
        if self._is_missing(trainer):
            evaluate(trainer)
        if not self.metrics.steps:
            raise UserError(f"{type(task).__name__} must log a metric in validation_step, on data with a val_dataloader; there was none")

    def on_validation_start(self, trainer: Trainer, task: LightningModule) -> None:
        if trainer.sanity_checking:
            return
        if task.device.type == "cuda":
            torch.cuda.synchronize(task.device)
        steps = trainer.global_step - self._since_step
        self._pace = (time.perf_counter() - self._since) / steps if steps else math.nan

    def on_validation_end(self, trainer: Trainer, task: LightningModule) -> None:
        if not trainer.sanity_checking and self._is_missing(trainer):
            self._take(trainer, task)
        self._since, self._since_step = time.perf_counter(), trainer.global_step  # the evaluation is not part of the pace

    def _is_missing(self, trainer: Trainer) -> bool:
        return self.metrics.steps[-1:] != [trainer.global_step]

    def _take(self, trainer: Trainer, task: LightningModule) -> None:
        step, of_seeds = trainer.global_step, getattr(task, "seed_metrics", None)
        if of_seeds is None:
            values = {name: [float(value)] for name, value in trainer.callback_metrics.items()}
        else:
            values = {name: value.double().tolist() for name, value in of_seeds.items()}
        if not values:
            return
        values[PACE] = [self._pace] * len(self.metrics.seeds)
        new = self.metrics.extend(values.keys())
        self.metrics.add(step, {name: values.get(name, [math.nan] * len(self.metrics.seeds)) for name in self.metrics.values})
        if not trainer.is_global_zero:
            return
        if new:
            write_text(self.path, self.metrics.to_csv())
        else:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(self.metrics.to_csv(since=len(self.metrics.steps) - 1, header=False))
        log_metrics(trainer.loggers, _for_loggers(values if of_seeds is not None else {PACE: values[PACE]}), step)

    def state_dict(self) -> dict[str, Any]:
        rows = {name: torch.tensor(rows, dtype=torch.float64) for name, rows in self.metrics.values.items()}
        return {"steps": list(self.metrics.steps), "values": rows, "elapsed": self.elapsed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.metrics.steps = list(state["steps"])
        self.metrics.values = {name: rows.tolist() for name, rows in state["values"].items()}
        self._before = state["elapsed"]


def evaluation_is_due(trainer: Trainer) -> bool:
    """Whether Lightning evaluates after the batch whose ``on_train_batch_end`` is running."""
    loop = trainer.fit_loop
    return loop.epoch_loop._should_check_val_fx(loop._data_fetcher)


def is_last_step(trainer: Trainer) -> bool:
    """Whether the fit ends after this step: ``on_train_end`` follows."""
    loop = trainer.fit_loop.epoch_loop
    in_steps = 0 <= trainer.max_steps <= trainer.global_step
    in_epochs = loop._num_ready_batches_reached() and 0 <= trainer.max_epochs <= trainer.current_epoch + 1
    return in_steps or in_epochs or (trainer.should_stop and trainer.fit_loop._can_stop_early)


def evaluate(trainer: Trainer) -> None:
    """Run Lightning's validation loop within a fit, from a callback, as its training loop does.

    Lightning can evaluate every n-th step, but not at the first step and at the last one besides.
    """
    if not trainer.enable_validation:
        return
    connector = trainer._logger_connector
    first_iteration = connector._first_loop_iter
    trainer.validating = True
    trainer.fit_loop.epoch_loop.val_loop.run()
    trainer.training = True
    connector._first_loop_iter = first_iteration


def _for_loggers(values: dict[str, list[float]]) -> dict[str, float]:
    """One number per metric; of several seeds the mean and its band."""
    flat = {}
    for name, numbers in values.items():
        mean, low, high = mean_and_band(np.asarray(numbers))
        if np.isnan(mean):  # not computed this time
            continue
        flat[name] = float(mean)
        if len(numbers) > 1 and name != PACE:
            flat |= {f"{name}_low": float(low), f"{name}_high": float(high)}
    return flat
