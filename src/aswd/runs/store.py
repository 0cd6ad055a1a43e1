"""The store: the files of a run.

::

    outputs/runs/<task>/<data>/<distance>/<key>/seed=<n>/
        config.yaml   the configuration, written first
        metrics.csv   step, seed, and one column per metric
        samples.npz   final samples, and some frames on the way
        result.json   final values, versions, device, time, memory, revision
        status.json   done or failed: written last, with the digests of the other files
        error.txt     the traceback of a failure
        checkpoints/  the last two; lock: the process that executes the run

A batch of replicas works in ``seeds=<first>-<last>/`` beside them, and writes the record of every seed into its own folder when it is done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aswd.runs.locks import is_held
from aswd.utils.files import digest, read_json, set_aside, write_atomically, write_json, write_text
from aswd.utils.metric_history import MetricHistory

if TYPE_CHECKING:
    from aswd.config.run import RunConfig

RECORD_FILES = ("config.yaml", "metrics.csv", "samples.npz", "result.json")


class RunState(StrEnum):
    """Status of a run."""

    DONE = "done"
    FAILED = "failed"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    NEW = "new"


@dataclass(frozen=True)
class Run:
    """The record of one seed."""

    folder: Path

    @classmethod
    def of(cls, config: RunConfig, seed: int) -> Run:
        """The record of one seed of a configuration."""
        return cls(config.seed_folder(seed))

    @property
    def seed(self) -> int:
        """The run's seed."""
        return int(self.folder.name.removeprefix("seed="))

    @property
    def lock(self) -> Path:
        """The lock file: which process executes the run."""
        return self.folder / "lock"

    @property
    def status(self) -> dict | None:
        """Content of ``status.json``; ``None`` if there is none, or it is damaged."""
        status = read_json(self.folder / "status.json") or {}
        if status.get("status") == RunState.FAILED:
            return {"reason": "unknown", "step": None, **status}
        digests = status.get("digests")
        whole = status.get("status") == RunState.DONE and isinstance(digests, dict) and set(RECORD_FILES) <= set(digests)
        return status if whole else None

    @property
    def state(self) -> RunState:
        """Status of the run, by its files."""
        if is_held(self.lock):
            return RunState.RUNNING
        status = self.status
        if status is not None:
            return RunState(status["status"])
        return RunState.INTERRUPTED if (self.folder / "config.yaml").exists() else RunState.NEW

    def damage(self) -> str | None:
        """What is wrong with the record of a finished run, or ``None``."""
        status = self.status
        if status is None:
            return "status.json cannot be read" if (self.folder / "status.json").exists() else None
        for name, expected in status.get("digests", {}).items():
            try:
                changed = digest(self.folder / name) != expected
            except OSError as error:
                return f"{name} cannot be read: {error.strerror}"
            if changed:
                return f"{name} has changed since it was written"
        return None

    def set_aside_if_damaged(self) -> str | None:
        """Set the status of a damaged record aside, so that the run is executed again; returns a sentence, or ``None``."""
        damage = self.damage()
        if damage is None:
            return None
        aside = set_aside(self.folder / "status.json")
        return f"the record in {self.folder} is damaged ({damage}); its status was set aside as {aside.name}, and the run is executed again"

    def forget_outcome(self) -> None:
        """Remove the status of a former execution."""
        for name in ("status.json", "error.txt"):
            (self.folder / name).unlink(missing_ok=True)

    @property
    def result(self) -> dict:
        """Final values and provenance of a finished run; empty for any other."""
        result = (read_json(self.folder / "result.json") or {}) if self.state is RunState.DONE else {}
        return result if isinstance(result.get("final"), dict) else {}

    def write_config(self, text: str) -> None:
        """Write the configuration, as YAML."""
        write_text(self.folder / "config.yaml", text)

    def finish(self, metrics: MetricHistory, samples: dict[str, np.ndarray], result: dict[str, Any]) -> None:
        """Write the record of a finished run, its status last."""
        write_text(self.folder / "metrics.csv", metrics.of(self.seed).to_csv())
        write_atomically(self.folder / "samples.npz", lambda partial: np.savez_compressed(partial, **samples))
        write_json(self.folder / "result.json", result)
        (self.folder / "error.txt").unlink(missing_ok=True)
        digests = {name: digest(self.folder / name) for name in RECORD_FILES}
        write_json(self.folder / "status.json", {"status": RunState.DONE, "digests": digests})

    def fail(self, reason: str, traceback: str, step: int | None) -> None:
        """Record that the run failed, and why."""
        write_text(self.folder / "error.txt", traceback)
        write_json(self.folder / "status.json", {"status": RunState.FAILED, "reason": reason, "step": step})


def batch_name(seeds: Sequence[int]) -> str:
    """Name of the folder in which these seeds are executed as one batch; a single seed has its own folder."""
    if len(seeds) == 1:
        return f"seed={seeds[0]}"
    whole = list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    return f"seeds={seeds[0]}-{seeds[-1]}" + ("" if whole else "-" + hashlib.sha256(repr(list(seeds)).encode()).hexdigest()[:6])
