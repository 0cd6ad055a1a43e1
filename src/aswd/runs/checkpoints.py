"""Checkpoints that are whole or not there, and that know when they have been damaged since."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import Checkpoint

from aswd.config.schemas import TrainerConfig
from aswd.runs.locks import Locks
from aswd.runs.recorder import evaluation_is_due, is_last_step
from aswd.runs.signals import Interrupted, StopRequest
from aswd.utils.files import digest, read_bytes, set_aside, write_atomically, write_text

KEPT = 2
_NAME = "step=" + 9 * "[0-9]"  # as a pattern; those of a ModelCheckpoint may lie beside them


def checkpoint_path(folder: Path, step: int) -> Path:
    """Where the checkpoint after ``step`` steps is."""
    return folder / f"step={step:09d}.ckpt"


def latest_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that is whole; a damaged one is named and set aside."""
    for path in sorted(folder.glob(f"{_NAME}.ckpt"), reverse=True):
        seal = path.with_suffix(".sha256")
        if not _is_sealed(path, seal):
            damage = "is damaged or incomplete"
        elif not _is_plain(path):
            damage = "holds more than tensors and plain values, which could run code, and was not loaded"
        else:
            return path
        aside = set_aside(path)
        seal.unlink(missing_ok=True)
        print(f"aswd: the checkpoint {path} {damage}; it was set aside as {aside.name}", file=sys.stderr)
    return None


def _is_sealed(path: Path, seal: Path) -> bool:
    try:
        return read_bytes(seal).strip() == digest(path).encode()
    except OSError:
        return False


def _is_plain(path: Path) -> bool:
    """Whether the file can be loaded without running code of its own."""
    try:
        torch.load(path, weights_only=True, map_location="cpu", mmap=True)
    except Exception:
        return False
    return True


def remove_checkpoints(folder: Path) -> None:
    """Before a run starts from the beginning."""
    for path in [*folder.glob(f"{_NAME}.ckpt"), *folder.glob(f"{_NAME}.sha256")]:
        path.unlink(missing_ok=True)


class Checkpoints(Checkpoint):
    """Saves every so many seconds, at the end, and when the process is asked to stop, which also ends the run.

    Where an evaluation is due after a step, it saves after that: no evaluation is lost or made twice by a run that resumes.

    Args:
        folder: where to.
        config: how often; see its ``checkpoint_seconds``.
        request: whether to stop.
        locks: those that this run holds; it stops when it has lost one.
    """

    def __init__(self, folder: Path, config: TrainerConfig, request: StopRequest, locks: Locks) -> None:
        self.folder, self.seconds, self.request, self.locks = folder, config.checkpoint_seconds, request, locks
        self._last = time.monotonic()
        self._finished = self._is_epoch_end = False
        self._state: dict[str, Any] | None = None  # loaded, to be restored

    def on_train_start(self, trainer: Trainer, task: LightningModule) -> None:
        """Restore the global random state of the checkpoint, from which a distance from outside may draw."""
        self.request.take_over()
        self._last = time.monotonic()
        if self._state is not None:
            torch.set_rng_state(self._state["torch"])
            if torch.cuda.is_available() and self._state["cuda"]:
                torch.cuda.set_rng_state_all(self._state["cuda"])
            random.setstate(_tuple(self._state["python"]))
            name, keys, *rest = self._state["numpy"]
            np.random.set_state((name, np.asarray(keys, dtype=np.uint32), *rest))  # noqa: NPY002
            trainer.should_stop = self._state["finished"]  # by early stopping, say
            self._state = None

    def on_train_batch_end(self, trainer: Trainer, task: LightningModule, *_: Any) -> None:
        self.locks.check()
        if not is_last_step(trainer) and not evaluation_is_due(trainer) and not _ends_epoch(trainer):
            self._save_if_due(trainer)

    def on_validation_end(self, trainer: Trainer, task: LightningModule) -> None:
        batches = trainer.fit_loop.epoch_loop.batch_progress.total
        within_batch = batches.completed < batches.processed  # an evaluation from on_train_batch_end, where this saves a moment later
        if not trainer.sanity_checking and not within_batch and not is_last_step(trainer) and not _ends_epoch(trainer):
            self._save_if_due(trainer)

    def on_train_epoch_end(self, trainer: Trainer, task: LightningModule) -> None:
        """Save after the last batch of an epoch here, where it is known that the epoch is complete."""
        if not trainer.fit_loop.done:
            self._is_epoch_end = True
            try:
                self._save_if_due(trainer)
            finally:
                self._is_epoch_end = False

    def on_save_checkpoint(self, trainer: Trainer, task: LightningModule, checkpoint: dict[str, Any]) -> None:
        """At the end of an epoch, save the loops as they are at the start of the next.

        Lightning saves the epoch as not completed there and, after resuming, counts the batches of the next epoch on top of it.
        """
        if not self._is_epoch_end:
            return
        loops = checkpoint["loops"]["fit_loop"]
        for counts in loops["epoch_progress"].values():
            counts["completed"] = counts["processed"]
        batches = loops["epoch_loop.batch_progress"]
        batches["current"] = dict.fromkeys(batches["current"], 0)
        batches["is_last_batch"] = False
        checkpoint["epoch"] = loops["epoch_progress"]["current"]["completed"]

    def on_train_end(self, trainer: Trainer, task: LightningModule) -> None:
        self._finished = True
        self.save(trainer)
        stop = trainer.strategy.broadcast(self.request.number)
        if stop is not None:
            raise Interrupted(stop, trainer.global_step)

    def _save_if_due(self, trainer: Trainer) -> None:
        if trainer.fit_loop._should_accumulate():  # gradients of batches so far would be lost
            return
        stop, due = self.request.number, time.monotonic() - self._last >= self.seconds
        if trainer.world_size > 1:  # the first process decides: all save, and stop, after the same step
            stop, due = trainer.strategy.broadcast((stop, due))
        if stop is not None or due:
            self.save(trainer)
        if stop is not None:
            raise Interrupted(stop, trainer.global_step)

    def save(self, trainer: Trainer) -> None:
        """Write a checkpoint and drop those that are not needed any more; of several processes all take part, and the first writes."""
        if self.request.number is not None:
            self.request.answer()
        path = checkpoint_path(self.folder, trainer.global_step)
        self._last = time.monotonic()
        if not trainer.is_global_zero:
            trainer.save_checkpoint(path)
            return

        def write(partial: Path) -> None:
            trainer.save_checkpoint(partial)
            write_text(path.with_suffix(".sha256"), digest(partial))

        write_atomically(path, write)
        for old in sorted(self.folder.glob(f"{_NAME}.ckpt"))[:-KEPT]:
            old.unlink(missing_ok=True)
            old.with_suffix(".sha256").unlink(missing_ok=True)
        self._last = time.monotonic()

    def state_dict(self) -> dict[str, Any]:
        name, keys, *rest = np.random.get_state()  # noqa: NPY002
        return {
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
            "python": _list(random.getstate()),
            "numpy": [name, keys.tolist(), *rest],
            "finished": self._finished,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._state = state


def _list(value: Any) -> Any:
    return [_list(v) for v in value] if isinstance(value, tuple) else value


def _tuple(value: Any) -> Any:
    return tuple(_tuple(v) for v in value) if isinstance(value, list) else value


def _ends_epoch(trainer: Trainer) -> bool:
    """Whether the epoch ends after this batch: ``on_train_epoch_end`` follows."""
    return trainer.fit_loop.epoch_loop._num_ready_batches_reached()
