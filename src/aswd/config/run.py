"""What a run is: its settings, its distance, its seeds, and the key under which it is stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import torch

from aswd.distances import build, options
from aswd.launchers.configs import LauncherConfig, LocalConfig
from aswd.runs.store import Run, canonical, key_of
from aswd.tasks.registry import task_class
from aswd.tracking.configs import LoggerConfig
from aswd.utils.checks import check_at_least, check_choice


@dataclass
class TrainerConfig:
    """How a run is carried out; nothing here but ``max_steps`` and ``precision`` changes its numbers.

    Args:
        accelerator: ``auto``, ``cpu`` or ``gpu``.
        devices: processes, each with a device of its own, that share every batch of a run.
        precision: ``32``, or ``bf16-mixed`` for networks in bfloat16 where that is good enough; distances are in float32 all the same.
        deterministic: refuse operations that do not give the same bits every time.
        max_steps: cut the run short.
        threads: of the CPU; torch's choice, if nothing is said.
        checkpoint_seconds: time between two checkpoints.
        progress: show a progress bar.
    """

    accelerator: str = "auto"
    devices: int = 1
    precision: str = "32"
    deterministic: bool = False
    max_steps: int | None = None
    threads: int | None = None
    checkpoint_seconds: float = 30.0
    progress: bool = True

    def __post_init__(self) -> None:
        check_choice("accelerator", self.accelerator, ["auto", "cpu", "gpu"])
        if self.accelerator == "gpu" and not torch.cuda.is_available():
            raise ValueError("accelerator must be 'cpu' or 'auto' on this machine, where torch sees no GPU; got 'gpu'")
        check_at_least("devices", self.devices, 1, whole=True)
        if self.accelerator != "cpu" and torch.cuda.is_available() and self.devices > torch.cuda.device_count():
            raise ValueError(f"devices must be at most the number of GPUs, {torch.cuda.device_count()}; got {self.devices}")
        check_choice("precision", self.precision, ["32", "bf16-mixed"])
        for name in ("max_steps", "threads"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 1, whole=True)
        check_at_least("checkpoint_seconds", self.checkpoint_seconds, 0)


@dataclass
class PathConfig:
    """Where things are written.

    Args:
        output_dir: the folder of runs, reports and whatever else is written.
    """

    output_dir: str = "outputs"

    def __post_init__(self) -> None:
        if not self.output_dir.strip():
            raise ValueError("output_dir must be a folder; got an empty text")


@dataclass(frozen=True)
class RunConfig:
    """All that a run is: settings, distance, seeds."""

    task: Any
    data: Any
    distance_name: str
    distance: dict[str, Any]  # every option, as the distance has it
    reading: str
    seeds: tuple[int, ...]
    trainer: TrainerConfig
    logger: LoggerConfig
    paths: PathConfig
    force: bool
    launcher: LauncherConfig = field(default_factory=LocalConfig)

    @property
    def title(self) -> str:
        """What the run is called where people read it."""
        return f"{self.task.name} {self.data.name} {self.distance_name}"

    @property
    def seeds_text(self) -> str:
        """The seeds, where people read them."""
        return f"seed {self.seeds[0]}" if len(self.seeds) == 1 else f"seeds {self.seeds[0]}-{self.seeds[-1]}"

    @property
    def identity(self) -> dict[str, Any]:
        """What changes the numbers of the run, but for the seed.

        Options that have their default are left out: one that is added later, its default being what was done before, leaves
        the keys of finished runs as they are. (``version`` is to be raised when a default itself is changed.)
        """
        defaults = options(self.distance_name)
        distance = {
            name: value
            for name, value in self.distance.items()
            if name not in ("seed", "validate") and canonical(value) != canonical(defaults.get(name))
        }
        found = {
            "version": 1,
            "task": _changed(self.task, task_class(self.task.name).reading_defaults("reference", self.data.name)),
            "data": _changed(self.data, {}),
            "distance": {"name": self.distance_name, **distance},
        }
        cut = self.trainer.max_steps
        iterations = getattr(self.task, "iterations", None)  # null where the task counts in epochs
        if cut is not None and (iterations is None or cut < iterations):
            found["max_steps"] = cut
        if self.trainer.precision != "32":
            found["precision"] = self.trainer.precision
        return found

    @property
    def key(self) -> str:
        """The identity in ten digits."""
        return key_of(self.identity)

    @property
    def folder(self) -> Path:
        """Where the seeds of this run have their folders."""
        return Path(self.paths.output_dir, "runs", self.task.name, self.data.name, self.distance_name, self.key)

    def run(self, seed: int) -> Run:
        """The record of one seed."""
        return Run(self.folder / f"seed={seed}")

    def of_seeds(self, seeds: Sequence[int]) -> RunConfig:
        """The same for other seeds."""
        return replace(self, seeds=tuple(seeds))

    def build_distance(self) -> torch.nn.Module:
        """The distance, with one random stream a seed."""
        given = {**self.distance, "seed": list(self.seeds)} if "seed" in self.distance else self.distance
        return build(self.distance_name, reading=self.reading, **given)

    def plain(self) -> dict[str, Any]:
        """Everything in plain containers, for files and mirrors."""
        distance = {"name": self.distance_name, **{k: list(v) if isinstance(v, tuple) else v for k, v in self.distance.items()}}
        return {
            "task": asdict(self.task),
            "data": asdict(self.data),
            "distance": {name: value for name, value in distance.items() if name != "seed"},
            "reading": self.reading,
            "seeds": list(self.seeds),
            "trainer": asdict(self.trainer),
        }


def _changed(settings: Any, read: dict[str, Any]) -> dict[str, Any]:
    """The settings that differ from their defaults, or from what is ``read`` for null ones, of those that change the numbers.

    Also what is in the files that they name.
    """
    found = dict(getattr(settings, "contents", {}))
    for f in fields(settings):
        default = f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default
        default = read.get(f.name) if default is None else default
        if f.name == "name" or (getattr(settings, f.name) != default and not f.metadata.get("neutral")):
            found[f.name] = getattr(settings, f.name)
    return found
