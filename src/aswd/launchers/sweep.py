"""The record of a sweep, by which ``aswd status`` finds its runs, also from another terminal or machine.

::

    outputs/sweeps/<time>/
        sweep.json   the planned runs, the launcher, the jobs of a cluster, when it started and ended
        lock         held as long as the command runs
        logs/        the output of processes or jobs
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aswd.runs.locks import Locks, is_held
from aswd.runs.store import Run, RunState, batch_name
from aswd.utils.files import open_regular, read_json, write_json

if TYPE_CHECKING:
    from aswd.config.run import RunConfig


@dataclass(frozen=True)
class Planned:
    """The seeds of one run of a sweep.

    Args:
        title: of the run.
        folder: the parent of the seeds' folders.
        seeds: of the run.
        steps: of training; ``None`` where the run counts in epochs.
        steps_before: the checkpointed step of each seed when the sweep started.
    """

    title: str
    folder: Path
    seeds: tuple[int, ...]
    steps: int | None
    steps_before: tuple[int, ...] = ()

    @property
    def runs(self) -> list[Run]:
        """The records of the seeds."""
        return [Run(self.folder / f"seed={seed}") for seed in self.seeds]

    def current_step(self, run: Run) -> int:
        """The step of a seed, from the last line of the metrics that it, or the batch of seeds that it is part of, is writing."""
        pending = [other.seed for other in self.runs if other.state is not RunState.DONE]
        for folder in (self.folder / batch_name(pending) if pending else run.folder, run.folder):
            try:
                with open_regular(folder / "metrics.csv") as file:
                    file.seek(max(0, file.seek(0, 2) - 4096))
                    first = file.read().splitlines()[-1].partition(b",")[0]
            except (OSError, IndexError):
                continue
            return int(first) if first.isdigit() else 0
        return 0


@dataclass(frozen=True)
class Sweep:
    """A recorded sweep."""

    folder: Path
    content: dict[str, Any]

    @property
    def is_sound(self) -> bool:
        """Whether the record is not damaged."""
        try:
            count = len([run.runs for run in self.planned if run.steps is None or run.steps >= 0])
            indices = [index for job in self.jobs.values() for index in job]
            return self.started.year > 0 and isinstance(self.launcher, str) and all(0 <= index < count for index in indices)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            return False

    @property
    def is_running(self) -> bool:
        """Whether the command that started it still runs."""
        return is_held(self.folder / "lock")

    @property
    def started(self) -> datetime:
        """When it was started."""
        return datetime.fromisoformat(self.content["began"]).astimezone()

    @property
    def launcher(self) -> str:
        """The name of its launcher."""
        return self.content["launcher"]

    @property
    def planned(self) -> list[Planned]:
        """Its runs."""
        output_dir = self.folder.parents[1]
        return [
            Planned(run["title"], output_dir / run["folder"], tuple(run["seeds"]), run["steps"], tuple(run.get("taken", ())))
            for run in self.content["planned"]
        ]

    @property
    def jobs(self) -> dict[str, list[int]]:
        """The jobs of a cluster: id -> indices in :attr:`planned`."""
        return self.content.get("jobs", {})


def sweeps(output_dir: str | Path) -> Iterator[Sweep]:
    """The sweeps of a store, newest first; damaged records are skipped."""
    for path in sorted(Path(output_dir, "sweeps").glob("*/sweep.json"), reverse=True):
        sweep = Sweep(path.parent, read_json(path) or {})
        if sweep.is_sound:
            yield sweep


class SweepRecord:
    """Writes the record of a sweep while it runs. A record that cannot be written is a warning, not an error.

    Args:
        runs: of the sweep.
    """

    def __init__(self, runs: list[RunConfig]) -> None:
        output_dir, now = Path(runs[0].paths.output_dir), datetime.now().astimezone()
        planned = [_describe(run, output_dir) for run in runs]
        self._content = {"began": now.isoformat(timespec="seconds"), "launcher": runs[0].launcher.name, "planned": planned}
        self._locks = Locks()
        self.folder = output_dir / "sweeps" / f"{now:%Y-%m-%d_%H-%M-%S}"
        self._has_warned = False
        self._try(self._make_folder)
        self.update()

    def update(self, **content: Any) -> None:
        """Write the record, with ``content`` added."""
        self._content |= content
        self._try(lambda: write_json(self.folder / "sweep.json", self._content))

    def close(self) -> None:
        """Write when the sweep ended, and release the lock."""
        self.update(ended=datetime.now().astimezone().isoformat(timespec="seconds"))
        self._try(self._locks.release)

    def log(self, name: str) -> Path:
        """A file for the output of a process; the null device where none can be written."""
        path = self.folder / "logs" / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        except OSError:
            return Path(os.devnull)
        return path

    def _make_folder(self) -> None:
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        number, name = 1, self.folder.name
        while True:
            try:
                self.folder.mkdir()
                break
            except FileExistsError:  # two sweeps in one second
                number += 1
                self.folder = self.folder.with_name(f"{name}-{number}")
        self._locks.acquire(self.folder / "lock")

    def _try(self, action: Callable[[], Any]) -> None:
        try:
            action()
        except OSError as error:
            if not self._has_warned:
                print(f"aswd: the record of the sweep in {self.folder} cannot be written ({error.strerror})", file=sys.stderr)
            self._has_warned = True


def _describe(run: RunConfig, output_dir: Path) -> dict[str, Any]:
    """A run as the record has it."""
    steps = getattr(run.task, "iterations", None)
    if run.trainer.max_steps is not None:
        steps = min(run.trainer.max_steps, steps or run.trainer.max_steps)
    folder = run.folder.relative_to(output_dir) if run.folder.is_relative_to(output_dir) else run.folder.absolute()
    taken = [0 if run.force else _checkpointed_step(run, seed) for seed in run.seeds]
    return {"title": run.title, "folder": str(folder), "seeds": list(run.seeds), "steps": steps, "taken": taken}


def _checkpointed_step(run: RunConfig, seed: int) -> int:
    """The step of the last checkpoint from which a seed, or its batch of seeds, resumes; 0 without one."""
    folders = {Run.of(run, seed).folder, run.folder / batch_name(run.seeds)}
    steps = [path.stem.removeprefix("step=") for folder in folders for path in folder.glob("checkpoints/step=*.ckpt")]
    return max((int(step) for step in steps if step.isdigit()), default=0)
