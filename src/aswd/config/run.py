"""What a run is: one resolved, typed, immutable configuration. Its key, folder, title and files are derived from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from aswd.config.schemas import PathConfig, TrainerConfig
from aswd.config.targets import DISTANCE_TARGETS
from aswd.data.registry import DATA
from aswd.distances import added_options, build, distance_info
from aswd.tasks.registry import TASKS
from aswd.utils.fields import is_in_key
from aswd.utils.plugins import plugin_info
from aswd.utils.registry import call_with
from aswd.utils.secrets import mask_options

if TYPE_CHECKING:
    from pytorch_lightning import LightningDataModule, LightningModule
    from torch import nn

_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml is ten times as fast, where PyYAML comes with it
VERSION = 3  # of what a key is made of, and of numbers that changed at unchanged options (3: directions in evaluation mode)
# Callbacks of Lightning that only watch; any other may change the numbers, and is part of the key.
WATCHING = frozenset(
    f"pytorch_lightning.callbacks.{name}"
    for name in (
        *("DeviceStatsMonitor", "LearningRateMonitor", "ModelCheckpoint", "ModelSummary", "OnExceptionCheckpoint", "RichModelSummary"),
        *("RichProgressBar", "ThroughputMonitor", "TQDMProgressBar"),
    )
)


@dataclass(frozen=True)
class RunConfig:
    """All options of the runs of some seeds, every value as it is used.

    Args:
        task: options of the task, a dataclass with its ``name``.
        data: options of the data set, likewise.
        distance_name: the distance.
        distance: every option of it.
        reading: which reading of the paper chose the values that the user did not.
        seeds: one per replica.
        trainer: arguments of Lightning's trainer.
        callbacks: the user's own, by name: ``{"_target_": ..., option: value}``.
        loggers: by name: options of ours, or ``{"_target_": ..., option: value}``.
        launcher: options of what starts the runs.
        paths: folders.
        force: run again what is done.
        plugins: files or modules that bring parts of the run.
    """

    task: Any
    data: Any
    distance_name: str
    distance: dict[str, Any]
    reading: str
    seeds: tuple[int, ...]
    trainer: TrainerConfig
    launcher: Any
    callbacks: dict[str, dict[str, Any]] = field(default_factory=dict)
    loggers: dict[str, Any] = field(default_factory=dict)
    paths: PathConfig = field(default_factory=PathConfig)
    force: bool = False
    plugins: tuple[str, ...] = ()

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
        """The values of everything that changes the numbers of the run, but for the seed."""
        trainer = _values(self.trainer)
        iterations = getattr(self.task, "iterations", None)
        if iterations is not None and (trainer["max_steps"] or iterations) >= iterations:
            trainer["max_steps"] = None  # ends nothing early
        trainer["precision"] = trainer["precision"].removesuffix("-true") if "32" in trainer["precision"] else trainer["precision"]
        return {
            "version": VERSION,
            "task": _values(self.task),
            "data": {**_values(self.data), **getattr(self.data, "contents", {})},
            "distance": {"name": self.distance_name, **self._distance_values()},
            "trainer": trainer,
            "callbacks": {name: node for name, node in self.callbacks.items() if _long_name(node["_target_"]) not in WATCHING},
            "code": {part: info["digest"] for part, info in self.code.items()},
        }

    def _distance_values(self) -> dict[str, Any]:
        added = added_options(self.distance_name)
        kept = {name: value for name, value in self.distance.items() if name not in ("seed", "validate")}
        return {name: value for name, value in kept.items() if name not in added or value != added[name]}

    @property
    def code(self) -> dict[str, Any]:
        """Module, version and source digest of every part of the run that is not aswd's own."""
        parts = {"task": TASKS[self.task.name].module, "data": DATA[self.data.name].module}
        parts |= {f"callbacks.{name}": node["_target_"].rpartition(".")[0] for name, node in self.callbacks.items()}
        info = {name: plugin_info(module) for name, module in parts.items()}
        info["distance"] = distance_info(self.distance_name, self.distance)
        return {name: content for name, content in info.items() if content is not None}

    @cached_property
    def key(self) -> str:
        """Ten hexadecimal digits that stand for :attr:`identity`."""
        return key_of(self.identity)

    @property
    def folder(self) -> Path:
        """Where the seeds of this run have their folders."""
        return Path(self.paths.output_dir, "runs", self.task.name, self.data.name, self.distance_name, self.key)

    def seed_folder(self, seed: int) -> Path:
        """Where the record of one seed is."""
        return self.folder / f"seed={seed}"

    def with_seeds(self, seeds: Sequence[int]) -> RunConfig:
        """The same for other seeds; the key, which takes a while to compute, stays."""
        other = replace(self, seeds=tuple(seeds))
        other.__dict__["key"] = self.key
        return other

    def build_distance(self) -> nn.Module:
        """The distance, with one random stream per seed."""
        options = {**self.distance, "seed": list(self.seeds)} if "seed" in self.distance else self.distance
        return build(self.distance_name, **options)

    def build_task(self) -> LightningModule:
        """The task, with its distance."""
        return call_with(TASKS.target(self.task.name), _options(self.task), distance=self.build_distance(), seeds=self.seeds)

    def build_data(self) -> LightningDataModule:
        """The data module; where the task has a batch size, it is given that."""
        context = {"batch_size": self.task.batch_size} if hasattr(self.task, "batch_size") else {}
        return call_with(DATA.target(self.data.name), _options(self.data), seeds=self.seeds, **context)

    def plain(self) -> dict[str, Any]:
        """Everything in plain containers, as the configuration is composed, printed and kept in records."""
        whole = self.seeds == tuple(range(self.seeds[0], self.seeds[0] + len(self.seeds)))
        return {
            "task": {**TASKS[self.task.name].as_target(), **asdict(self.task)},
            "data": {**DATA[self.data.name].as_target(), **asdict(self.data)},
            "distance": {
                **_distance_target(self.distance_name),
                "name": self.distance_name,
                **{k: plain_value(v) for k, v in self.distance.items() if k != "seed"},
            },
            "reading": self.reading,
            **({"seed": self.seeds[0], "replicas": len(self.seeds)} if whole else {"seeds": list(self.seeds)}),
            "trainer": asdict(self.trainer),
            "callbacks": plain_value(self.callbacks),
            "logger": {name: asdict(node) if is_dataclass(node) else plain_value(node) for name, node in self.loggers.items()},
            "launcher": asdict(self.launcher),
            "paths": asdict(self.paths),
            "force": self.force,
            "plugins": list(self.plugins),
        }

    def to_yaml(self) -> str:
        """What ``--cfg job`` prints and ``config.yaml`` of a record holds."""
        return to_yaml(mask_options(self.plain()))

    def __reduce__(self) -> tuple:
        """As plain containers: another process loads the plug-ins before it builds anything of them."""
        from aswd.config.resolution import from_plain

        return from_plain, (self.plain(),)


def to_yaml(content: Any) -> str:
    """Plain containers as YAML, in their order."""
    return yaml.dump(content, Dumper=_DUMPER, sort_keys=False)


def key_of(identity: dict[str, Any]) -> str:
    """The first ten hexadecimal digits of the SHA-256 of what a run is."""
    text = json.dumps(canonical(identity), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def seeds_of(content: dict[str, Any]) -> list[int]:
    """The seeds of a configuration in plain containers, as :meth:`RunConfig.plain` gives it."""
    first = int(content.get("seed", 0))
    return [int(seed) for seed in content.get("seeds", range(first, first + int(content.get("replicas", 1))))]


def canonical(value: Any) -> Any:
    """One spelling for what is equal: 2 and 2.0, a list and a tuple."""
    if isinstance(value, dict):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(v) for v in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def plain_value(value: Any) -> Any:
    """Lists and dictionaries instead of tuples and the like."""
    if isinstance(value, dict):
        return {key: plain_value(v) for key, v in value.items()}
    return [plain_value(v) for v in value] if isinstance(value, list | tuple) else value


def _distance_target(name: str) -> dict[str, str]:
    """The ``_target_`` by which a configuration file brought a distance, if one did."""
    return {"_target_": DISTANCE_TARGETS[name]} if name in DISTANCE_TARGETS else {}


def _values(section: Any) -> dict[str, Any]:
    return {f.name: value for f in fields(section) if is_in_key(f, value := getattr(section, f.name))}


def _options(section: Any) -> dict[str, Any]:
    return {f.name: getattr(section, f.name) for f in fields(section)}


def _long_name(target: str) -> str:
    """The place where Lightning's callbacks are imported from, whichever of its names is given."""
    prefix, _, name = target.rpartition(".")
    is_lightning = prefix.startswith(("pytorch_lightning.callbacks", "lightning.pytorch.callbacks"))
    return f"pytorch_lightning.callbacks.{name}" if is_lightning else target
