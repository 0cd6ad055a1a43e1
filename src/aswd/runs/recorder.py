"""Taking the metrics of a run, to the store's file, to the mirrors, and to the eye."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pytorch_lightning import Callback, Trainer
from tqdm import tqdm

from aswd.tasks.base import Task
from aswd.tracking.loggers import log
from aswd.utils.files import write_text
from aswd.utils.metric_history import MetricHistory
from aswd.utils.statistics import mean_and_band


class Recorder(Callback):
    """Asks the task for its metrics when they are due, and keeps them through checkpoints.

    Args:
        path: the CSV file that grows with the run.
        metrics: to fill.
        title: of the progress bar.
        progress: whether there is one.
    """

    def __init__(self, path: Path, metrics: MetricHistory, title: str, progress: bool) -> None:
        self.path, self.metrics, self.title, self.progress = path, metrics, title, progress
        self._before, self._start = 0.0, time.perf_counter()  # seconds up to the checkpoint, and since when others are counted
        self._bar: tqdm | None = None
        self._since, self._since_step = 0.0, 0

    def on_train_start(self, trainer: Trainer, task: Task) -> None:
        write_text(self.path, self.metrics.to_csv())  # cut back to the checkpoint, or begun
        self._since, self._since_step = time.perf_counter(), trainer.global_step
        self._start = time.perf_counter()
        if self.progress:
            interval = 0.2 if sys.stderr.isatty() else 30.0
            self._bar = tqdm(
                total=trainer.max_steps, initial=trainer.global_step, desc=self.title, unit="it", mininterval=interval, leave=False
            )

    def on_train_batch_end(self, trainer: Trainer, task: Task, *_: Any) -> None:
        step = trainer.global_step
        task.observe(step)
        if task.is_due(step) or step >= trainer.max_steps:
            self._take(trainer, task, step)
        if self._bar is not None:
            self._bar.update(step - self._bar.n)

    def on_train_end(self, trainer: Trainer, task: Task) -> None:
        self.close()

    def on_exception(self, trainer: Trainer, task: Task, exception: BaseException) -> None:
        self.close()

    @property
    def elapsed(self) -> float:
        """Seconds that the run has taken, evaluations included, parts that were lost with no checkpoint excluded."""
        return self._before + time.perf_counter() - self._start

    def close(self) -> None:
        """Take the progress bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _take(self, trainer: Trainer, task: Task, step: int) -> None:
        task.stop_if_diverged()
        if task.device.type == "cuda":
            torch.cuda.synchronize(task.device)
        pace = (time.perf_counter() - self._since) / (step - self._since_step)
        values = {name: value.double().tolist() for name, value in task.evaluate().items()}
        values["seconds_per_iteration"] = [pace] * len(self.metrics.seeds)
        first = not self.metrics.steps
        self.metrics.add(step, values)
        with self.path.open("a", encoding="utf-8") as file:
            if first:
                file.seek(0)
                file.truncate()
            file.write(self.metrics.to_csv(since=len(self.metrics.steps) - 1, header=first))
        log(trainer.loggers, _for_loggers(values), step)
        if self._bar is not None:
            self._bar.set_postfix_str(_shown(task, values[task.headline]), refresh=False)
        self._since, self._since_step = time.perf_counter(), step  # the evaluation is not part of the pace

    def state_dict(self) -> dict[str, Any]:
        rows = {name: torch.tensor(rows, dtype=torch.float64) for name, rows in self.metrics.values.items()}
        return {"steps": list(self.metrics.steps), "values": rows, "elapsed": self.elapsed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.metrics.steps = list(state["steps"])
        self.metrics.values = {name: rows.tolist() for name, rows in state["values"].items()}
        self._before = state["elapsed"]


def _shown(task: Task, values: list[float]) -> str:
    """The headline, for the eye."""
    if task.logarithmic:
        return f"log10 {task.headline} = {np.log10(np.maximum(values, np.finfo(float).tiny)).mean():.2f}"
    return f"{task.headline} = {np.mean(values):.4g}"


def _for_loggers(values: dict[str, list[float]]) -> dict[str, float]:
    """One number a metric; of several seeds the mean and its band."""
    flat = {}
    for name, numbers in values.items():
        mean, low, high = mean_and_band(np.asarray(numbers))
        if np.isnan(mean):  # not taken this time
            continue
        flat[name] = float(mean)
        if len(numbers) > 1 and name != "seconds_per_iteration":
            flat |= {f"{name}_low": float(low), f"{name}_high": float(high)}
    return flat
