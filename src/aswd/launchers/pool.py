"""Several worker processes on one machine, each with a slot of its own: a GPU or some cores.

A worker executes one run after the other, since starting a process costs as much as a short run. It is replaced after a run that failed,
which may have left its GPU in a bad state, and after a long one, where a fresh process costs nothing. A worker that is killed costs its own
run only: its pipe closes, the run is retried from its last checkpoint, and another worker takes the slot. (A pool of joblib or of the
standard library breaks as a whole when one process is killed; submitit's local executor starts a process per run and has no slots.)
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Pipe, wait
from pathlib import Path
from typing import TYPE_CHECKING

from aswd.launchers.base import Launcher, LauncherConfig, mark_failed, without_terminal
from aswd.utils.checks import check_at_least

if TYPE_CHECKING:
    from aswd.config.run import RunConfig
    from aswd.runs.execution import RunResult

LONG_RUN = 60.0  # seconds after which a worker is not used again
POLL_SECONDS = 0.2  # between two looks at workers and signals


@dataclass
class PoolConfig(LauncherConfig):
    """Several processes on this machine.

    Args:
        workers: number of processes. Default: one per GPU, or without GPUs one per ``trainer.threads`` cores.
        runs_per_gpu: runs that share a GPU.
        retries: how often a run whose process was killed is started again.
    """

    name: str = "pool"
    workers: int | None = None
    runs_per_gpu: int = 1
    retries: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.workers is not None:
            check_at_least("workers", self.workers, 1, whole=True)
        check_at_least("runs_per_gpu", self.runs_per_gpu, 1, whole=True)
        check_at_least("retries", self.retries, 0, whole=True)


@dataclass(frozen=True)
class Slot:
    """The threads and the GPU of one worker."""

    number: int
    threads: int
    gpu: str | None = None

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """The environment variables of a process in this slot."""
        own = {name: str(self.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        return {**base, **own, **({} if self.gpu is None else {"CUDA_VISIBLE_DEVICES": self.gpu})}


@dataclass
class _Attempt:
    """A run to execute: its index in the sweep, and its configuration, which a retry may change."""

    index: int
    run: RunConfig


@dataclass
class _Worker:
    """A process, the run that it executes, and our end of the pipe to it."""

    slot: Slot
    log: Path
    attempt: _Attempt | None = None
    started: float = 0.0
    process: subprocess.Popen = field(init=False)

    def __post_init__(self) -> None:
        self.pipe, child_end = Pipe()
        command = [sys.executable, "-m", "aswd.launchers.worker", str(child_end.fileno())]
        with self.log.open("ab") as log:
            # In a session of its own a worker gets no Ctrl-C from the terminal, only stop requests from us.
            self.process = subprocess.Popen(
                command,
                pass_fds=[child_end.fileno()],
                env=self.slot.environment(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        child_end.close()

    def start(self, attempt: _Attempt) -> None:
        """Start a run."""
        self.attempt, self.started = attempt, time.monotonic()
        self.send(without_terminal(attempt.run, self.slot.threads))

    def send(self, message: object) -> None:
        """Send a run or a signal number; that the worker is dead shows when its outcomes are received."""
        with suppress(OSError):
            self.pipe.send(message)

    def receive(self) -> list[RunResult] | None:
        """The outcomes of the run; ``None`` where the worker died."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            return None

    def is_ready(self) -> bool:
        """Whether :meth:`receive` returns at once: the run has ended, or the worker is dead."""
        return self.pipe.poll() or self.process.poll() is not None

    def close(self, kill: bool = False) -> int:
        """Let the process exit, or kill it; returns its exit code."""
        self.pipe.close()
        if kill:
            self.process.kill()
        return self.process.wait()


class PoolLauncher(Launcher):
    """Executes runs in worker processes, and retries those whose worker died."""

    config: PoolConfig

    def execute(self) -> None:
        """Keep all slots busy until no run is left; after a stop request, until all workers have saved and exited."""
        free = make_slots(self.runs, self.config)
        self.waiting = deque(_Attempt(index, run) for index, run in enumerate(self.runs))
        self.idle: list[_Worker] = []
        self.busy: list[_Worker] = []
        is_stop_sent = False
        try:
            while self.waiting or self.busy:
                if self.is_stopped and not is_stop_sent:
                    is_stop_sent = True
                    self.request.answer()
                    self.waiting.clear()
                    for worker in self.busy:
                        worker.send(self.request.number)
                while (free or self.idle) and (attempt := self._next_attempt()) is not None:
                    worker = self.idle.pop() if self.idle else self._new_worker(free.pop(0))
                    self.busy.append(worker)
                    worker.start(attempt)
                wait([worker.pipe for worker in self.busy], POLL_SECONDS)
                for worker in [worker for worker in self.busy if worker.is_ready()]:
                    self.busy.remove(worker)
                    if self._collect(worker):
                        self.idle.append(worker)
                    else:
                        free.append(worker.slot)
            for worker in self.idle:
                worker.close()
        finally:  # after a second Ctrl-C workers may still be busy
            for worker in self.busy:
                worker.close(kill=True)

    def _new_worker(self, slot: Slot) -> _Worker:
        return _Worker(slot, self.record.log(f"worker-{slot.number}.log"))

    def _next_attempt(self) -> _Attempt | None:
        """The first waiting run that no worker executes already: a sweep may name a run twice."""
        taken = set().union(*(self.folders(worker.attempt.index) for worker in self.busy))
        for attempt in self.waiting:
            if not self.folders(attempt.index) & taken:
                self.waiting.remove(attempt)
                return attempt
        return None

    def _collect(self, worker: _Worker) -> bool:
        """Report the run that a worker has ended with, or retry it; returns whether the worker can be used again."""
        attempt, outcomes = worker.attempt, worker.receive()
        if outcomes is None:
            self._handle_death(attempt, worker.close(), worker.log)
            return False
        is_interrupted = any(outcome.status == "interrupted" for outcome in outcomes)
        if is_interrupted and not self.is_stopped and self.retry(attempt.index):
            worker.close()  # somebody stopped this process, but not the sweep
            self.waiting.appendleft(attempt)
            return False
        if self.deaths[attempt.index]:  # a worker that was killed may have finished the record before
            outcomes = [replace(outcome, status="done") if outcome.status == "skipped" else outcome for outcome in outcomes]
        if outcomes:
            self.report(attempt.index, outcomes)
        has_failed = any(outcome.status in ("failed", "interrupted") for outcome in outcomes)
        if self.is_stopped or has_failed or time.monotonic() - worker.started > LONG_RUN:
            worker.close()
            return False
        worker.attempt = None
        return True

    def _handle_death(self, attempt: _Attempt, code: int, log: Path) -> None:
        """Retry the run of a worker that died, or mark it as failed."""
        from aswd.runs.execution import RunResult
        from aswd.runs.store import RunState

        deaths = self.deaths[attempt.index] + 1
        if self.is_stopped:  # the worker did not reach the end of a step in time
            text = "stopped without a checkpoint of its last steps"
            self.report(attempt.index, [RunResult("interrupted", run, text) for run in self.seeds(attempt.index)])
            return
        if self.retry(attempt.index):
            # A forced run that was started once resumes from its checkpoint.
            has_old_result = any(run.state is RunState.DONE for run in self.seeds(attempt.index))
            again = replace(attempt.run, force=attempt.run.force and has_old_result)
            self.waiting.appendleft(_Attempt(attempt.index, again))
            return
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
        reason = f"the worker process {how} (attempt {deaths} of {self.config.retries + 1}); its output is in {log}"
        self.report(attempt.index, mark_failed(attempt.run, reason))


def make_slots(runs: list[RunConfig], config: PoolConfig) -> list[Slot]:
    """The slots for ``runs`` on this machine, never more than there are runs."""
    import torch

    wants_gpu = any(run.trainer.accelerator != "cpu" for run in runs)
    gpus = visible_gpus(os.environ, torch.cuda.device_count()) if wants_gpu and torch.cuda.is_available() else []
    return divide(config, len(runs), count_cores(), max((run.trainer.threads or 0 for run in runs), default=0), gpus)


def divide(config: PoolConfig, num_runs: int, cores: int, threads: int, gpus: list[str]) -> list[Slot]:
    """Divide cores and GPUs among workers.

    Args:
        config: the options of the pool.
        num_runs: an upper bound of the number of slots.
        cores: of the machine.
        threads: per worker; 0 for an equal share of the cores.
        gpus: names of the GPUs; empty for runs on the CPU.

    >>> divide(PoolConfig(), 9, 8, 2, [])
    [Slot(number=0, threads=2, gpu=None), Slot(number=1, threads=2, gpu=None), Slot(number=2, threads=2, gpu=None), \
Slot(number=3, threads=2, gpu=None)]
    >>> [slot.gpu for slot in divide(PoolConfig(runs_per_gpu=2), 9, 8, 0, ["0", "3"])]
    ['0', '3', '0', '3']
    """
    if gpus:
        most = len(gpus) * config.runs_per_gpu
        count = min(most, config.workers or most)
    else:
        count = config.workers or max(1, cores // max(1, threads))
    count = min(count, num_runs)
    share = threads or max(1, cores // count)
    return [Slot(number, share, gpus[number % len(gpus)] if gpus else None) for number in range(count)]


def visible_gpus(environment: Mapping[str, str], count: int) -> list[str]:
    """The names of this process's GPUs, as ``CUDA_VISIBLE_DEVICES`` of another process takes them.

    >>> visible_gpus({}, 2), visible_gpus({"CUDA_VISIBLE_DEVICES": "2,5"}, 2)
    (['0', '1'], ['2', '5'])
    """
    named = [name.strip() for name in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    return (named or [str(number) for number in range(count)])[:count]


def count_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
