"""Lightning's progress bar with the title of a run, for the whole of it."""

from __future__ import annotations

import io
import sys
import time
from typing import Any

from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks.progress.tqdm_progress import Tqdm, TQDMProgressBar


class ProgressBar(TQDMProgressBar):
    """One bar over all steps of a run, refreshed by the clock: small tasks make hundreds of steps per second.

    Where stderr is no terminal there is a line every thirty seconds in its place.

    Args:
        title: what the bar begins with.
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title
        self._is_live = sys.stderr.isatty()
        self._interval = 0.2 if self._is_live else 30.0  # seconds
        self._shown = time.monotonic()

    def init_train_tqdm(self) -> Tqdm:
        file = sys.stderr if self._is_live else io.StringIO()  # a bar returns the carriage, which a log does not
        return Tqdm(desc=self.title, disable=self.is_disabled, leave=False, dynamic_ncols=True, file=file, smoothing=0)

    def init_validation_tqdm(self) -> Tqdm:
        return Tqdm(disable=True)

    def on_train_epoch_start(self, trainer: Trainer, task: LightningModule) -> None:
        total = trainer.max_steps if trainer.max_steps >= 0 else trainer.max_epochs * trainer.num_training_batches
        self.train_progress_bar.total = total if total != float("inf") else None
        self.train_progress_bar.set_description(self.title, refresh=False)

    def on_train_batch_end(self, trainer: Trainer, task: LightningModule, *_: Any) -> None:
        if time.monotonic() - self._shown < self._interval or self.train_progress_bar.disable:
            return
        self._shown = time.monotonic()
        self.train_progress_bar.n = trainer.global_step
        self.train_progress_bar.set_postfix(self.get_metrics(trainer, task))  # refreshes
        if not self._is_live:
            print(self.train_progress_bar, file=sys.stderr, flush=True)

    def on_validation_end(self, trainer: Trainer, task: LightningModule) -> None:
        """Nothing: the next refresh shows the metrics."""

    def get_metrics(self, trainer: Trainer, task: LightningModule) -> dict[str, int | str | float]:
        return {name: value for name, value in super().get_metrics(trainer, task).items() if name != "v_num"}
