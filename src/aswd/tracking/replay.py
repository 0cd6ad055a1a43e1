"""One record of the store as one run of W&B."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import yaml

from aswd.config.changes import changed_options, options_text
from aswd.config.resolution import from_plain
from aswd.config.run import seeds_of
from aswd.runs.store import Run
from aswd.tracking.media import images_in, media, media_name, samples_image
from aswd.tracking.naming import Names, label_of
from aswd.tracking.session import STEP, TIMEOUT, sentence
from aswd.utils.errors import UserError
from aswd.utils.files import digest, read_bytes, read_json

FORMAT = 1  # version of what is replayed: a higher number replays everything again
RESULTS, SAMPLES = "results", "samples"  # the table of final values, and the image of a run's final samples


@dataclass(frozen=True)
class Target:
    """Where runs are replayed to: a project, on a server or in a folder of this machine."""

    project: str
    entity: str | None
    online: bool
    folder: Path  # where wandb writes

    @property
    def name(self) -> str:
        """Key of the memory of what was replayed."""
        return f"{'online' if self.online else 'offline'}:{self.entity or ''}/{self.project}"


@dataclass(frozen=True)
class Replay:
    """A finished or failed run of the store, and what it is called in W&B.

    Args:
        run: its record.
        series: artifacts that it is part of, and its label there.
        tags: further tags.
    """

    run: Run
    series: dict[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where the record is, or what there is of it."""
        return self.run.record or self.run.folder

    @property
    def names(self) -> Names:
        """Id, group, tags and the like."""
        task, data, distance, key = self.run.folder.parts[-5:-1]
        reading, changes = str(self._config.get("reading", "reference")), _changes(self.folder / "config.yaml")
        return Names(task, data, distance, key, [self.run.seed], reading, changes)

    @property
    def digest(self) -> str:
        """Of everything that is shown: a record with the same one is not replayed again."""
        seal = read_json(self.folder / "status.json")
        shown = [[path.name, digest(path)] for path in self.images]
        text = json.dumps([FORMAT, seal, shown, sorted(self.series.items()), sorted(self.tags)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def images(self) -> list[Path]:
        """Images of the run; those of a batch belong to its first seed, which they show."""
        images = images_in(self.run.folder / "images")
        replicas = self.run.result.get("replicas", 1)
        if images or replicas == 1:
            return images
        for config in sorted(self.run.folder.parent.glob("seeds=*/config.yaml")):
            seeds = seeds_of(_yaml(config))
            if len(seeds) == replicas and seeds[0] == self.run.seed:
                return images_in(config.parent / "images")
        return []

    def write(self, wandb: ModuleType, target: Target) -> None:
        """Create the run in W&B, replacing one with the same id, and finish it whatever happens.

        Raises:
            UserError: W&B refuses.
        """
        names = self.names
        labels = {label_of(name): label for name, label in self.series.items()}
        config = {**self._config, "key": names.key, "seed": self.run.seed, **labels}
        settings = wandb.Settings(
            init_timeout=TIMEOUT, console="off", disable_git=True, disable_code=True, x_disable_stats=True, x_disable_meta=True,
            x_disable_machine_info=True, x_save_requirements=False,
        )  # fmt: skip
        target.folder.mkdir(parents=True, exist_ok=True)
        try:
            made = wandb.init(
                project=target.project, entity=target.entity, mode="online" if target.online else "offline", dir=str(target.folder),
                id=names.id, name=names.name, group=names.group, job_type=names.job_type, config=config,
                tags=list(dict.fromkeys([*names.tags, *self.series, *self.tags])), reinit="finish_previous", settings=settings,
            )  # fmt: skip
        except Exception as error:
            raise UserError(f"W&B refused {names.id} ({sentence(error)}); the store is unchanged") from None
        try:
            code = 1
            try:
                with tempfile.TemporaryDirectory() as scratch:
                    self._fill(wandb, made, Path(scratch))
                code = 0 if self.run.record is not None else 1
            finally:
                made.finish(exit_code=code)
        except Exception as error:
            raise UserError(f"{names.id} could not be replayed ({sentence(error)}); the store is unchanged") from None

    def _fill(self, wandb: ModuleType, made: Any, scratch: Path) -> None:
        made.define_metric(STEP)
        made.define_metric("*", step_metric=STEP)
        steps, columns = self._history()
        for turn, step in enumerate(steps):
            taken = {name: float(values[turn]) for name, values in columns.items() if not np.isnan(values[turn])}
            made.log({STEP: int(step), **taken})
        last = {STEP: int(steps[-1])} if len(steps) else {}
        for path in self.images:
            made.log({**last, media_name(path): media(path)})
        ended = samples_image(self.run, scratch / "samples.png")
        if ended is not None:
            made.log({**last, SAMPLES: media(ended)})
        result = self.run.result
        made.summary.update(summary(steps, columns, result.get("headline")))
        if result:
            names, final = self.names, result["final"]
            row = {"data": names.data, "distance": names.distance, "key": names.key, "seed": self.run.seed, **final}
            row["wall_time"] = result["wall_time"]
            made.log({**last, RESULTS: wandb.Table(columns=list(row), data=[list(row.values())])})
            shown = {name: value for name, value in result.items() if name not in ("settings", "final")}
            made.summary.update({**shown, **{f"final/{name}": value for name, value in result["final"].items()}})
        else:
            made.summary.update({"reason": (self.run.status or {}).get("reason")})

    def _history(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Steps and metrics; of a failed run those before the failure."""
        try:
            frame = self.run.metrics()
        except (OSError, ValueError):  # a run may fail before its first evaluation, and one of a batch has no file of its own
            return np.array([]), {}
        frame = frame[frame["seed"] == self.run.seed]
        columns = {name: frame[name].to_numpy(float) for name in frame.columns if name not in ("step", "seed")}
        return frame["step"].to_numpy(), columns

    @property
    def _config(self) -> dict[str, Any]:
        return _yaml(self.folder / "config.yaml")


def _yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(read_bytes(path).decode("utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    return content if isinstance(content, dict) else {}


@lru_cache(maxsize=4096)
def _changes(config: Path) -> str:
    """The options of a record that are not the defaults of its names; nothing where its plug-ins are not there any more."""
    try:
        return options_text(changed_options(from_plain(_yaml(config))))
    except (UserError, KeyError, TypeError):
        return ""


def summary(steps: Sequence[int], columns: dict[str, np.ndarray], headline: str | None) -> dict[str, Any]:
    """``last/<metric>`` and ``min/<metric>`` of every metric; of the headline, of which less is better, ``best/<headline>`` and where it
    was; ``time_per_iteration``, the median of what was measured. Values that were not taken (NaN) are passed over.

    >>> summary([1, 5], {"w2": np.array([2.0, 1.0])}, "w2")
    {'last/w2': 1.0, 'min/w2': 1.0, 'best/w2': 1.0, 'best/step': 5}
    """
    found: dict[str, Any] = {}
    for name, values in columns.items():
        taken = ~np.isnan(values)
        if not taken.any():
            continue
        found |= {f"last/{name}": float(values[taken][-1]), f"min/{name}": float(values[taken].min())}
        if name == headline:
            place = int(np.nanargmin(values))
            found |= {f"best/{name}": float(values[place]), "best/step": int(steps[place])}
        if name == "seconds_per_iteration":
            found["time_per_iteration"] = float(np.median(values[taken]))
    return found
