"""Several devices at one run: Lightning's DDP in spawned processes, with what a run of the store needs beside it.

This process holds the locks, hears the signals and writes the record at the end; the spawned ones fit, and save checkpoints.
"""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning import LightningModule
from pytorch_lightning.strategies import DDPStrategy
from pytorch_lightning.strategies.launchers import _MultiProcessingLauncher
from torch.multiprocessing.spawn import ProcessException

from aswd.config.run import RunConfig
from aswd.runs.checkpoints import latest_checkpoint
from aswd.runs.recorder import Recorder
from aswd.utils.errors import UserError

_PATIENCE = timedelta(days=1)  # the other processes wait while the first one evaluates


def has_several(devices: Any) -> bool:
    """Whether ``trainer.devices`` are, or may be, more than one."""
    return devices != 1 and not (isinstance(devices, list) and len(devices) == 1)


class SpawnedDDP(DDPStrategy):
    """Lightning's ``ddp_spawn`` for a run of the store.

    Args:
        run: the run.

    Raises:
        UserError: the run wants a strategy that is not DDP.
    """

    def __init__(self, run: RunConfig) -> None:
        name = run.trainer.strategy
        if name != "auto" and not name.startswith("ddp"):
            raise UserError(f"trainer.strategy must be auto or a kind of ddp with several devices; got {name!r}")
        self.run = run
        unused = name.endswith("find_unused_parameters_true")
        # The processes compute all buffers alike: none is broadcast.
        super().__init__(start_method="spawn", timeout=_PATIENCE, find_unused_parameters=unused, broadcast_buffers=False)

    def _configure_launcher(self) -> None:
        self._launcher = _Launcher(self)


class _Launcher(_MultiProcessingLauncher):
    """Lightning's, which also brings the exception of a process to this one.

    A class of ours comes first in what a process unpickles: so the plug-ins of the run are loaded before anything of theirs is needed.
    """

    def __init__(self, strategy: SpawnedDDP) -> None:
        self.run = strategy.run
        self.notes = Path()
        super().__init__(strategy, start_method="spawn")

    def launch(self, function: Any, *args: Any, trainer: Any = None, **kwargs: Any) -> Any:
        port = os.environ.get("MASTER_PORT")
        with tempfile.TemporaryDirectory() as folder:
            self.notes = Path(folder)
            try:
                return super().launch(function, *args, trainer=trainer, **kwargs)
            except ProcessException as error:
                raise _first_exception(self.notes, error) from error
            finally:
                if port is None:  # Lightning sets it, and would take it for the next run, too
                    os.environ.pop("MASTER_PORT", None)

    def _wrapping_function(self, process_idx: int, *args: Any, **kwargs: Any) -> None:
        from aswd.runs.processes import quiet, threads

        for number in (signal.SIGINT, signal.SIGTERM):  # the process that started this one hears them, and sends them on
            signal.signal(number, signal.SIG_IGN)
        with threads(self.run), quiet():
            try:
                super()._wrapping_function(process_idx, *args, **kwargs)
            except Exception as error:
                note = self.notes / str(process_idx)
                partial = note.with_suffix(".partial")
                partial.write_bytes(pickle.dumps(error))
                partial.rename(note)
                raise


def _first_exception(notes: Path, error: ProcessException) -> Exception:
    """The exception of the process that failed first; where it cannot be unpickled, one with the last line of its traceback."""
    for note in sorted(notes.glob("[0-9]"), key=lambda path: path.stat().st_mtime_ns):
        try:
            return pickle.loads(note.read_bytes())  # written by a process of ours
        except Exception:
            break
    return RuntimeError(str(error).strip().splitlines()[-1])


def restore(task: LightningModule, recorder: Recorder, folder: Path) -> None:
    """Bring the state at the end of the spawned processes, which is in their last checkpoint, to the objects of this one."""
    content = torch.load(latest_checkpoint(folder), weights_only=True, map_location="cpu")
    task.on_load_checkpoint(content)
    task.load_state_dict(content["state_dict"])
    recorder.load_state_dict(content["callbacks"][recorder.state_key])
    recorder.restart_clock()
