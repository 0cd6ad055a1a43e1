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
        former/       the finished record while the run is executed again, until there is another

A batch of replicas works in ``seeds=<first>-<last>/`` beside them, and writes the record of every seed into its own folder when it is done.
"""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aswd.runs.locks import is_held
from aswd.utils.files import digests, find_damage, read_bytes, read_json, set_aside, write_atomically, write_json, write_text
from aswd.utils.metric_history import MetricHistory
from aswd.utils.secrets import mask_text

if TYPE_CHECKING:
    import pandas

    from aswd.config.run import RunConfig

RECORD_FILES = ("config.yaml", "metrics.csv", "samples.npz", "result.json")
FORMER = "former"


class RunState(StrEnum):
    """Status of a run."""

    DONE = "done"
    FAILED = "failed"
    DAMAGED = "damaged"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    NEW = "new"


@dataclass(frozen=True)
class Run:
    """The record of one seed. Whatever reads it checks the digests of its files first."""

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
        expected = status.get("digests")
        whole = status.get("status") == RunState.DONE and isinstance(expected, dict) and set(RECORD_FILES) <= set(expected)
        return status if whole else None

    @property
    def state(self) -> RunState:
        """Status of the run, by its files."""
        if is_held(self.lock):
            return RunState.RUNNING
        status, damage = self._checked_status()
        if damage is not None:
            return RunState.DAMAGED
        if status is not None:
            return RunState(status["status"])
        return RunState.INTERRUPTED if (self.folder / "config.yaml").exists() else RunState.NEW

    @property
    def is_done(self) -> bool:
        """Whether the run is done and its record intact, whoever holds its lock."""
        status, damage = self._checked_status()
        return status is not None and status["status"] == RunState.DONE and damage is None

    def damage(self) -> str | None:
        """What is wrong with the record of a finished run, or ``None``."""
        return self._checked_status()[1]

    def _checked_status(self) -> tuple[dict | None, str | None]:
        """The status, and what is wrong with it or with the files whose digests it has."""
        status = self.status
        if status is None:
            return None, "status.json cannot be read" if os.path.lexists(self.folder / "status.json") else None
        return status, find_damage(self.folder, status.get("digests", {}))

    def set_aside_if_damaged(self) -> str | None:
        """Set the status of a damaged record aside, so that the run is executed again; returns a sentence, or ``None``."""
        damage = self.damage()
        if damage is None:
            return None
        aside = set_aside(self.folder / "status.json")
        return f"the record in {self.folder} is damaged ({damage}); its status was set aside as {aside.name}, and the run is executed again"

    def start_over(self) -> None:
        """Remove the status of a former execution; a finished record is kept in ``former`` until there is another."""
        if self.is_done:
            partial = self.folder / f".{FORMER}.{secrets.token_hex(4)}.partial"
            partial.mkdir()
            for name in (*RECORD_FILES, "status.json"):
                _link(self.folder / name, partial / name)
            shutil.rmtree(self.folder / FORMER, ignore_errors=True)
            partial.rename(self.folder / FORMER)
        for name in ("status.json", "error.txt"):
            (self.folder / name).unlink(missing_ok=True)

    @property
    def record(self) -> Path | None:
        """The folder of the intact record: that of the run or, while the run is executed again, ``former`` in it; ``None`` without one."""
        if self.is_done:
            return self.folder
        former = self.folder / FORMER
        return former if self.damage() is None and Run(former).is_done else None

    @property
    def result(self) -> dict:
        """Final values and provenance of a finished run; empty for any other."""
        return read_result(self.record)

    @property
    def headline(self) -> tuple[str, float] | None:
        """Name and final value of the metric by which runs are compared, or of its logarithm; ``None`` of a run that is not done."""
        result = self.result
        name, final = result.get("headline"), result.get("final", {})
        shown = f"log10_{name}" if f"log10_{name}" in final else name
        return (shown, float(final[shown])) if shown in final else None

    def metrics(self) -> pandas.DataFrame:
        """The metrics of a finished run, or those so far; raises ``OSError`` or ``ValueError`` where there are none."""
        import pandas

        return pandas.read_csv(io.BytesIO(read_bytes((self.record or self.folder) / "metrics.csv")))

    def samples(self) -> dict[str, np.ndarray]:
        """The final samples of a finished run; none of any other."""
        if (record := self.record) is None:
            return {}
        with np.load(io.BytesIO(read_bytes(record / "samples.npz")), allow_pickle=False) as content:
            return dict(content)

    def write_config(self, text: str) -> None:
        """Write the configuration, as YAML."""
        write_text(self.folder / "config.yaml", text)

    def finish(self, metrics: MetricHistory, samples: dict[str, np.ndarray], result: dict[str, Any]) -> None:
        """Write the record of a finished run, its status last."""
        write_text(self.folder / "metrics.csv", metrics.of(self.seed).to_csv())
        write_atomically(self.folder / "samples.npz", lambda partial: np.savez_compressed(partial, **samples))
        write_json(self.folder / "result.json", result)
        (self.folder / "error.txt").unlink(missing_ok=True)
        write_json(self.folder / "status.json", {"status": RunState.DONE, "digests": digests(self.folder, RECORD_FILES)})
        shutil.rmtree(self.folder / FORMER, ignore_errors=True)

    def fail(self, reason: str, traceback: str, step: int | None) -> None:
        """Record that the run failed, and why."""
        write_text(self.folder / "error.txt", mask_text(traceback))
        write_json(self.folder / "status.json", {"status": RunState.FAILED, "reason": mask_text(reason), "step": step})


def read_result(record: Path | None) -> dict:
    """Final values and provenance in the folder of an intact record; empty without one."""
    result = (read_json(record / "result.json") or {}) if record else {}
    return result if isinstance(result.get("final"), dict) else {}


def _link(file: Path, name: Path) -> None:
    """A second name for a file, or a copy where the file system has no hard links."""
    try:
        os.link(file, name)
    except OSError:
        shutil.copy2(file, name)


def batch_name(seeds: Sequence[int]) -> str:
    """Name of the folder in which these seeds are executed as one batch; a single seed has its own folder."""
    if len(seeds) == 1:
        return f"seed={seeds[0]}"
    whole = list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    return f"seeds={seeds[0]}-{seeds[-1]}" + ("" if whole else "-" + hashlib.sha256(repr(list(seeds)).encode()).hexdigest()[:6])
