"""The record of a sweep, by which ``aswd status`` finds its runs, also from another terminal or machine.

::

    outputs/sweeps/<time>/
        sweep.json   the runs that were planned, the launcher, the jobs of a cluster, when it began and ended
        lock         held as long as the command is there
        logs/        what the processes or jobs said
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aswd.runs.locks import Locks, is_held
from aswd.runs.store import Run, RunState, batch_name
from aswd.utils.files import read_json, write_json

if TYPE_CHECKING:
    from aswd.config.run import RunConfig


@dataclass(frozen=True)
class Planned:
    """Runs of a sweep that are made together: the seeds of one specification."""

    title: str
    folder: Path
    seeds: tuple[int, ...]
    steps: int | None
    taken: tuple[int, ...] = ()  # the steps that each seed had behind it when the sweep began

    @property
    def runs(self) -> list[Run]:
        """The records of the seeds."""
        return [Run(self.folder / f"seed={seed}") for seed in self.seeds]

    def steps_of(self, run: Run) -> int:
        """The steps that a run has taken, by the last line of the metrics that it, or the batch that it is part of, is writing."""
        pending = [one.seed for one in self.runs if one.state is not RunState.DONE]
        for folder in (self.folder / batch_name(pending) if pending else run.folder, run.folder):
            try:
                with (folder / "metrics.csv").open("rb") as file:
                    file.seek(max(0, file.seek(0, 2) - 4096))
                    first = file.read().splitlines()[-1].partition(b",")[0]
            except (OSError, IndexError):
                continue
            return int(first) if first.isdigit() else 0
        return 0


@dataclass(frozen=True)
class Sweep:
    """A sweep as its record tells it."""

    folder: Path
    content: dict[str, Any]

    @property
    def is_running(self) -> bool:
        """Whether the command that started it is still there."""
        return is_held(self.folder / "lock")

    @property
    def began(self) -> datetime:
        """When it was started."""
        return datetime.fromisoformat(self.content["began"])

    @property
    def planned(self) -> list[Planned]:
        """What it is to do."""
        output_dir = self.folder.parents[1]
        return [
            Planned(one["title"], output_dir / one["folder"], tuple(one["seeds"]), one["steps"], tuple(one.get("taken", ())))
            for one in self.content["planned"]
        ]

    @property
    def jobs(self) -> dict[str, list[int]]:
        """The jobs of a cluster, and the places in :attr:`planned` that each does."""
        return self.content.get("jobs", {})


def sweeps(output_dir: str | Path) -> Iterator[Sweep]:
    """The sweeps of a store, the newest first; records that make no sense are passed over."""
    for path in sorted(Path(output_dir, "sweeps").glob("*/sweep.json"), reverse=True):
        content = read_json(path)
        if content is not None and {"began", "planned", "launcher"} <= set(content):
            yield Sweep(path.parent, content)


class SweepRecord:
    """Writes the record of a sweep while it goes on. That something beside the results cannot be written stops nothing."""

    def __init__(self, specs: list[RunConfig]) -> None:
        output_dir, now = Path(specs[0].paths.output_dir), datetime.now().astimezone()
        planned = [_described(spec, output_dir) for spec in specs]
        self._content = {"began": now.isoformat(timespec="seconds"), "launcher": specs[0].launcher.name, "planned": planned}
        self._locks = Locks()
        self.folder = output_dir / "sweeps" / f"{now:%Y-%m-%d_%H-%M-%S}"
        self._is_told = False
        self._trying(self._make_folder)
        self.update()

    def update(self, **content: Any) -> None:
        """Write the record, with this added."""
        self._content |= content
        self._trying(lambda: write_json(self.folder / "sweep.json", self._content))

    def close(self) -> None:
        """Write when it ended, and let go of the lock."""
        self.update(ended=datetime.now().astimezone().isoformat(timespec="seconds"))
        self._trying(self._locks.release)

    def log(self, name: str) -> Path:
        """A file for what a process says; nowhere, where there can be none."""
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

    def _trying(self, action: Any) -> None:
        try:
            action()
        except OSError as error:
            if not self._is_told:
                print(f"aswd: the record of the sweep in {self.folder} cannot be written ({error.strerror})", file=sys.stderr)
            self._is_told = True


def _described(spec: RunConfig, output_dir: Path) -> dict[str, Any]:
    steps = getattr(spec.task, "iterations", None)
    if spec.trainer.max_steps is not None:
        steps = min(spec.trainer.max_steps, steps or spec.trainer.max_steps)
    folder = spec.folder.relative_to(output_dir) if spec.folder.is_relative_to(output_dir) else spec.folder.absolute()
    taken = [0 if spec.force else _steps_behind(spec, seed) for seed in spec.seeds]
    return {"title": spec.title, "folder": str(folder), "seeds": list(spec.seeds), "steps": steps, "taken": taken}


def _steps_behind(spec: RunConfig, seed: int) -> int:
    """The step of the last checkpoint that a run, or its batch, goes on from."""
    folders = {spec.run(seed).folder, spec.folder / batch_name(spec.seeds)}
    steps = [path.stem.removeprefix("step=") for folder in folders for path in folder.glob("checkpoints/step=*.ckpt")]
    return max((int(step) for step in steps if step.isdigit()), default=0)
