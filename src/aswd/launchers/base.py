"""What all launchers share: checks before the start, records, retries, stop requests and results of the runs of a sweep.

A launcher is one module with the dataclass of its options, a :class:`LauncherConfig`, and a subclass of :class:`Launcher`;
:mod:`aswd.launchers.registry` names both. One for a batch system inherits from :class:`aswd.launchers.queue.QueueLauncher`. PBS, for
example, would be the file ``launchers/pbs.py`` with ``PbsConfig(QueueConfig)`` and ``PbsLauncher(QueueLauncher)``, which implements
``check`` (is there a ``qsub``?), ``submit`` (``qsub``), ``poll`` (``qstat``) and ``cancel_command`` (``qdel``), and with a
:class:`aswd.launchers.job.Job` that requeues itself (``qrerun``); the rest is inherited.

Modules of launchers are imported to check a configuration, long before anything runs. So what they need of :mod:`aswd.runs` and Lightning
is imported inside the functions that use it.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from aswd.runs.store import Run, RunState
from aswd.utils.checks import check_choice
from aswd.utils.errors import UserError

if TYPE_CHECKING:
    from aswd.config.run import RunConfig
    from aswd.launchers.sweep import SweepRecord
    from aswd.runs.execution import RunResult
    from aswd.runs.signals import StopRequest

OnResult = Callable[[int, "list[RunResult]"], None]


@dataclass
class LauncherConfig:
    """Options of a launcher.

    Args:
        name: of the launcher, as in the registry.
    """

    is_remote: ClassVar[bool] = False  # whether runs are executed on other machines
    name: str = ""

    def __post_init__(self) -> None:
        check_choice("name", self.name, [type(self).name])


class Launcher(ABC):
    """Executes the runs of a sweep; subclasses implement :meth:`execute`.

    Args:
        config: the options of the launcher.
    """

    shows_progress = True  # whether a terminal gets a bar that counts runs

    def __init__(self, config: Any) -> None:
        self.config = config
        self.runs: list[RunConfig] = []
        self.results: dict[int, list[RunResult]] = {}  # by index in ``runs``
        self.deaths: Counter[int] = Counter()  # how often the process or job of a run died, by index
        self.record: SweepRecord | None = None
        self._seeds: list[list[Run]] = []
        self.request: StopRequest
        self._on_result: OnResult
        self._bar: Any

    def check(self) -> None:  # noqa: B027 (most launchers work everywhere)
        """Raise :class:`~aswd.utils.errors.UserError` where this launcher cannot work; called before anything else."""

    @abstractmethod
    def execute(self) -> None:
        """Execute ``self.runs``, calling :meth:`report` once for each, until all are reported or :attr:`is_stopped`."""

    @property
    def keeps_record(self) -> bool:
        """Whether the sweep is recorded for ``aswd status``."""
        return True

    @property
    def is_stopped(self) -> bool:
        """Whether a signal requested to stop: runs in progress save a checkpoint, others are not started."""
        return self.request.number is not None

    def launch(self, runs: list[RunConfig], request: StopRequest, on_result: OnResult) -> list[RunResult]:
        """Prepare the data of ``runs`` and execute them.

        Args:
            runs: checked configurations.
            request: where signals that request to stop arrive.
            on_result: called with the index of a run and the outcomes of its seeds, as soon as they are known.

        Returns:
            The outcomes of all seeds that were reported, in the order of ``runs``.

        Raises:
            UserError: the launcher cannot work here, or data are missing.
        """
        from aswd.launchers.sweep import SweepRecord
        from aswd.utils.progress import progress_bar

        check_pending(runs)
        self.runs, self.request, self._on_result = runs, request, on_result
        self._seeds = [[Run.of(run, seed) for seed in run.seeds] for run in runs]
        self.check()
        prepare_data(runs)
        self.record = SweepRecord(runs) if self.keeps_record else None
        has_bar = self.shows_progress and runs[0].trainer.enable_progress_bar and sys.stderr.isatty()
        with progress_bar(total=len(runs), what=self.config.name, unit="run", delay=0, disable=not has_bar) as self._bar:
            try:
                with request.listening():
                    self.execute()
            finally:
                if self.record is not None:
                    self.record.close()
        return [outcome for index in sorted(self.results) for outcome in self.results[index]]

    def report(self, index: int, outcomes: list[RunResult]) -> None:
        """Pass on the outcomes of the seeds of a run."""
        self.results[index] = outcomes
        with self._bar.external_write_mode():
            self._on_result(index, outcomes)
        self._bar.update(not self._bar.disable)

    def seeds(self, index: int) -> list[Run]:
        """The stored records of the seeds of a run."""
        return self._seeds[index]

    def folders(self, index: int) -> set[Path]:
        """The folders of the seeds of a run; a sweep may name the same run twice, and two processes must not share a folder."""
        return {run.folder for run in self.seeds(index)}

    def retry(self, index: int) -> bool:
        """Whether a run whose process or job died is started again; counts this death if so."""
        if self.deaths[index] >= self.config.retries:
            return False
        self.deaths[index] += 1
        return True

    def sleep(self, seconds: float) -> None:
        """Wait, but not longer than until a stop is requested."""
        end = time.monotonic() + seconds
        while not self.is_stopped and (rest := end - time.monotonic()) > 0:
            time.sleep(min(rest, 0.2))


def without_terminal(run: RunConfig, threads: int | None) -> RunConfig:
    """The configuration of a run for a process of its own, which has ``threads`` threads and no progress bar, and launches nothing."""
    from aswd.launchers.local import LocalConfig

    return replace(run, launcher=LocalConfig(), trainer=replace(run.trainer, enable_progress_bar=False, threads=threads))


def prepare_data(runs: list[RunConfig]) -> None:
    """Fetch and check the data of all runs that are not done.

    Raises:
        UserError: data are missing or cannot be used.
    """
    from aswd.data.fetch import prepare

    pending = (run for run in runs if _is_pending(run))
    for config in {repr(run.data): run.data for run in pending}.values():
        prepare(config)


def check_pending(runs: list[RunConfig]) -> None:
    """Check that all runs that are not done fit into memory.

    Raises:
        UserError: one does not.
    """
    from aswd.config.memory import check_memory

    for run in {(run.key, len(run.seeds)): run for run in runs}.values():
        try:
            check_memory(run)
        except UserError:
            if _is_pending(run):
                raise


def _is_pending(run: RunConfig) -> bool:
    return run.force or any(Run.of(run, seed).state is not RunState.DONE for seed in run.seeds)


def mark_failed(run: RunConfig, reason: str) -> list[RunResult]:
    """Record a run whose process or job died too often as failed.

    Seeds that are done, or that another process has taken over, stay as they are.

    Returns:
        The outcome of every seed.
    """
    from aswd.runs.execution import RunResult
    from aswd.runs.locks import Locks

    outcomes = []
    for seed in run.seeds:
        record, locks = Run.of(run, seed), Locks()
        try:
            if not locks.acquire(record.lock):
                outcomes.append(RunResult("running", record))
            elif record.is_done:
                outcomes.append(RunResult("done", record))
            else:
                record.fail(reason, reason + "\n", None)
                outcomes.append(RunResult("failed", record, reason))
        except OSError as error:
            outcomes.append(RunResult("failed", record, f"{reason} ({error.strerror})"))
        finally:
            locks.release()
    return outcomes


def launch(runs: list[RunConfig], request: StopRequest, on_result: OnResult) -> list[RunResult]:
    """Execute checked ``runs``, whatever their launcher; arguments and result as of :meth:`Launcher.launch`.

    Raises:
        UserError: the launcher cannot work here, differs between runs, or data are missing.
    """
    from aswd.launchers.registry import LAUNCHERS

    if not runs:
        return []
    config = runs[0].launcher
    if any(run.launcher != config for run in runs):
        raise UserError("launcher must be the same for all runs of a sweep")
    return LAUNCHERS.target(config.name)(config).launch(runs, request, on_result)


def exit_code(results: list[RunResult]) -> int:
    """The exit code of a command: 1 if a run failed or was interrupted, 3 if another process executes one, else 0."""
    statuses = {result.status for result in results}
    return 1 if statuses & {"failed", "interrupted"} else 3 if "running" in statuses else 0
