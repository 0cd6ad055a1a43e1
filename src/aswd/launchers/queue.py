"""What launchers for any batch system share: jobs submitted to a queue, watched there and in the store.

Jobs return nothing: their runs write the store, as any run does. So it does not matter whether the command that submitted them still runs,
and the next start of the same command adopts the jobs that are still in the queue instead of submitting them again.
"""

from __future__ import annotations

import sys
import time
from abc import abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from aswd.launchers.base import Launcher, LauncherConfig, mark_failed, without_terminal
from aswd.runs.store import Run, RunState
from aswd.utils.checks import check_at_least

if TYPE_CHECKING:
    from aswd.config.run import RunConfig
    from aswd.runs.execution import RunResult


@dataclass
class QueueConfig(LauncherConfig):
    """Options of every batch system.

    Args:
        timeout_min: time limit of a job in minutes; a run that needs more resumes in the requeued job.
        cpus: cores per job. Default: the cluster's.
        runs_per_job: runs that a job executes one after the other.
        requeues: how often a job that reached its time limit is requeued.
        retries: how often runs whose job died are submitted again.
        wait: wait until all jobs have ended.
        poll_seconds: time between two polls of the queue.
    """

    is_remote: ClassVar[bool] = True
    timeout_min: int = 60
    cpus: int | None = None
    runs_per_job: int = 1
    requeues: int = 100
    retries: int = 1
    wait: bool = True
    poll_seconds: float = 5.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("timeout_min", "runs_per_job"):
            check_at_least(name, getattr(self, name), 1, whole=True)
        for name in ("requeues", "retries"):
            check_at_least(name, getattr(self, name), 0, whole=True)
        if self.cpus is not None:
            check_at_least("cpus", self.cpus, 1, whole=True)
        check_at_least("poll_seconds", self.poll_seconds, 0, strictly=True)


@dataclass(frozen=True)
class JobState:
    """The state of a job.

    Args:
        name: in the batch system's own words.
        has_ended: whether the job has left the queue, or will not run again.
    """

    name: str
    has_ended: bool


CANCELLED = JobState("CANCELLED", True)  # by the user: its runs are not submitted again
GONE = JobState("GONE", True)  # no longer known to the queue


class QueueLauncher(Launcher):
    """Submits runs as jobs and waits for them; subclasses implement :meth:`check`, :meth:`submit`, :meth:`poll`, :meth:`cancel_command`."""

    config: QueueConfig
    system = "the queue"  # the name of the batch system in messages
    array_size = 1000  # jobs that are submitted at once

    @abstractmethod
    def submit(self, jobs: list[list[RunConfig]]) -> list[str]:
        """Submit a job for each list of runs, at most :attr:`array_size`.

        Returns:
            The job ids, in the order of ``jobs``.

        Raises:
            UserError: the batch system rejects them.
        """

    @staticmethod
    @abstractmethod
    def poll(jobs: list[str]) -> dict[str, JobState] | None:
        """The state of every job, :data:`GONE` for those the batch system has forgotten; ``None`` where it does not respond."""

    @staticmethod
    @abstractmethod
    def cancel_command(jobs: list[str]) -> str:
        """The shell command that cancels ``jobs``."""

    def execute(self) -> None:
        """Submit what is neither done nor queued, and report each run when it has ended; after a stop request the jobs stay queued."""
        self.jobs: dict[str, list[int]] = {}  # jobs that have not ended -> indices of their runs
        self.submitted: dict[str, list[int]] = {}  # all jobs of this sweep
        self.unreported: set[int] = set()
        self.finished_before: set[Path] = set()  # folders of seeds that need not be run
        self.ended: dict[int, tuple[str, JobState, float]] = {}  # index -> its job that ended, until the locks are seen to be released
        self._skip_finished()
        self._adopt_jobs()
        self._submit(self._missing(self._queued()))
        is_responding = True
        while self.unreported and self.config.wait and not self.is_stopped:
            states = self.poll(list(self.jobs))
            if states is None and is_responding:
                print(f"aswd: {self.system} does not respond: waiting for it", file=sys.stderr)
            is_responding = states is not None
            self._update(states or {})
            if self.unreported:
                self.sleep(self.config.poll_seconds)
        self._leave_jobs()

    def report(self, index: int, outcomes: list[RunResult]) -> None:
        """Pass on the outcomes of the seeds of a run."""
        self.unreported.discard(index)
        self.ended.pop(index, None)
        super().report(index, outcomes)

    def _skip_finished(self) -> None:
        """Report runs that are done."""
        from aswd.runs.execution import RunResult

        for index, config in enumerate(self.runs):
            if config.force:
                _discard_results(config)
            done = [run for run in self.seeds(index) if run.state is RunState.DONE]
            self.finished_before |= {run.folder for run in done}
            if len(done) == len(config.seeds):
                self.report(index, [RunResult("skipped", run) for run in done])
            else:
                self.unreported.add(index)

    def _adopt_jobs(self) -> None:
        """Find the jobs of earlier commands that are still in the queue and execute runs of this sweep."""
        from aswd.launchers.sweep import sweeps

        wanted = {run.folder.absolute(): index for index in self.unreported for run in self.seeds(index)}
        candidates: dict[str, list[int]] = {}
        for sweep in sweeps(self.runs[0].paths.output_dir):
            if sweep.launcher != self.config.name:
                continue
            planned = sweep.planned
            for job, theirs in sweep.jobs.items():
                ours = {wanted.get(run.folder.absolute()) for index in theirs for run in planned[index].runs} - {None}
                if ours:
                    candidates[job] = sorted(ours)
        states = self.poll(list(candidates)) or {}
        self.jobs = {job: candidates[job] for job, state in states.items() if not state.has_ended}
        self.submitted |= self.jobs
        if self.jobs:
            print(f"{len(self.jobs)} jobs of an earlier command are still in the queue: waiting for them", flush=True)

    def _queued(self) -> set[int]:
        """The runs that some job in the queue executes."""
        return {index for indices in self.jobs.values() for index in indices}

    def _missing(self, covered: set[int]) -> list[int]:
        """The runs that are neither reported nor ``covered`` by jobs; each folder once, since a sweep may name a run twice."""
        rest, missing = sorted(self.unreported - covered), []
        taken = set().union(*map(self.folders, covered)) if rest else set()
        for index in rest:
            folders = self.folders(index)
            if not folders <= taken:
                missing.append(index)
            taken |= folders
        return missing

    def _submit(self, indices: list[int]) -> None:
        """Submit runs, and record the ids of their jobs after every array."""
        size = self.config.runs_per_job
        groups = [indices[start : start + size] for start in range(0, len(indices), size)]
        for start in range(0, len(groups), self.array_size):
            part = groups[start : start + self.array_size]
            ids = self.submit([[self._job_config(index) for index in group] for group in part])
            jobs = dict(zip(ids, part, strict=True))
            self.jobs |= jobs
            self.submitted |= jobs
            self.record.update(jobs=self.submitted)

    def _job_config(self, index: int) -> RunConfig:
        run = self.runs[index]
        return replace(without_terminal(run, run.trainer.threads or self.config.cpus), force=False)  # old results are discarded already

    def _update(self, states: dict[str, JobState]) -> None:
        """Report runs that are done, and those whose jobs ended before; submit the latter again where retries are left."""
        from aswd.runs.locks import SILENCE

        now = time.monotonic()
        for index in sorted(self.unreported):
            if all(run.state is RunState.DONE for run in self.seeds(index)):
                self.report(index, [self._outcome(run) for run in self.seeds(index)])
        for job, state in states.items():
            if state.has_ended:
                for index in self.jobs.pop(job):
                    if index in self.unreported:
                        self.ended[index] = (job, state, now)
        again = []
        for index, (job, state, since) in list(self.ended.items()):
            # The lock of a node that died expires only after a while; until then a new job would skip the run as running elsewhere.
            if now - since > 1.5 * SILENCE or all(run.state is not RunState.RUNNING for run in self.seeds(index)):
                del self.ended[index]
                if self._handle_end(index, job, state):
                    again.append(index)
        duplicates = self._missing(self._queued() | set(self.ended) | set(again))  # of runs that their jobs did not finish
        self.deaths.update(duplicates)
        self._submit(again + duplicates)

    def _handle_end(self, index: int, job: str, state: JobState) -> bool:
        """Handle a job that ended before its run was done: report the run, or return ``True`` where it is to be submitted again."""

        why = {
            CANCELLED: f"job {job} was cancelled",
            GONE: f"job {job} is no longer known to {self.system}",
        }.get(state, f"job {job} ended as {state.name} before the run was done; its output is in {self.record.folder / 'logs'}")
        unfinished = [run.seed for run in self.seeds(index) if run.state in (RunState.INTERRUPTED, RunState.NEW, RunState.DAMAGED)]
        if unfinished and state not in (CANCELLED, GONE):
            if self.retry(index):
                return True
            mark_failed(self.runs[index].with_seeds(unfinished), why)
        self.report(index, [self._outcome(run, why) for run in self.seeds(index)])
        return False

    def _outcome(self, run: Run, why: str = "") -> RunResult:
        """The outcome of a seed according to the store; ``why`` says how it was interrupted."""
        from aswd.runs.execution import RunResult

        state = run.state
        if state is RunState.DONE:
            if run.folder in self.finished_before:
                return RunResult("skipped", run)
            return RunResult("done", run)
        if state is RunState.FAILED:
            return RunResult("failed", run, run.status["reason"])
        if state is RunState.RUNNING:
            return RunResult("running", run)
        return RunResult("interrupted", run, f"{why}; the same command resumes it")

    def _leave_jobs(self) -> None:
        """Report what is still in the queue, and how to find or cancel it."""
        from aswd.runs.execution import RunResult

        queued = {index: job for job, indices in self.jobs.items() for index in indices if index in self.unreported}
        for index, job in sorted(queued.items()):
            self.report(index, [RunResult("queued", run, f"as job {job}") for run in self.seeds(index)])
        if queued:
            cancel = self.cancel_command(list(queued.values()))
            print(f"the jobs stay in the queue: aswd status shows them, {cancel} cancels them, the same command waits for them")


def _discard_results(config: RunConfig) -> None:
    """Set results aside and remove checkpoints of runs that are to be run again, unless another process is executing them."""
    from aswd.runs.checkpoints import remove_checkpoints
    from aswd.runs.locks import Locks

    for seed in config.seeds:
        run, locks = Run.of(config, seed), Locks()
        try:
            if locks.acquire(run.lock):
                run.start_over()
                remove_checkpoints(run.folder / "checkpoints")
        finally:
            locks.release()
    for folder in config.folder.glob("seeds=*/checkpoints"):
        remove_checkpoints(folder)
