"""Several processes on one machine, each with a slot of its own.

A process takes runs one after the other, since to start one costs as much as a short run; it is replaced after a run that failed,
which may have spoilt its GPU, and after one that was long, where a fresh process costs nothing. One that is killed costs its own run only:
its pipe ends, the run is tried again from its last checkpoint, and another process takes the slot. (A pool of joblib or of the standard
library is broken as a whole by one killed process, and submitit's local executor starts a process for every run and knows no slots.)
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Pipe, wait
from pathlib import Path

from aswd.config.run import RunConfig
from aswd.launchers.configs import PoolConfig
from aswd.launchers.giving_up import mark_failed
from aswd.launchers.slots import Slot, slots
from aswd.launchers.sweep import SweepRecord
from aswd.runs.execution import Outcome
from aswd.runs.signals import StopRequest
from aswd.runs.store import RunState

Tell = Callable[[int, list[Outcome]], None]

LONG = 60.0  # seconds after which a process is not used again
PATIENCE = 0.2  # seconds between two looks at processes and signals


@dataclass
class _Attempt:
    place: int
    spec: RunConfig
    deaths: int = 0

    @property
    def folders(self) -> set[Path]:
        return {self.spec.run(seed).folder for seed in self.spec.seeds}


@dataclass
class _Worker:
    """A process, the run that it is at, and our end of the pipe to it."""

    slot: Slot
    log: Path
    attempt: _Attempt | None = None
    since: float = 0.0
    process: subprocess.Popen = field(init=False)

    def __post_init__(self) -> None:
        self.pipe, theirs = Pipe()
        command = [sys.executable, "-m", "aswd.launchers.worker", str(theirs.fileno())]
        with self.log.open("ab") as log:
            # In a session of its own a process is not told of Ctrl-C by the terminal, but by us.
            self.process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                env=self.slot.environment(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        theirs.close()

    def take(self, attempt: _Attempt) -> None:
        """Start a run."""
        self.attempt, self.since = attempt, time.monotonic()
        trainer = replace(attempt.spec.trainer, progress=False, threads=self.slot.threads)
        self.send(replace(attempt.spec, trainer=trainer))

    def send(self, message: object) -> None:
        """Say something to a process, which may be dead: then that is noticed when it does not answer."""
        with suppress(OSError):
            self.pipe.send(message)

    def answer(self) -> list[Outcome] | None:
        """What came of the run; ``None`` where the process died over it."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            return None

    def has_answered(self) -> bool:
        """Whether there is an answer, or will never be one."""
        return self.pipe.poll() or self.process.poll() is not None

    def end(self, at_once: bool = False) -> int:
        """Let the process leave; how it left."""
        self.pipe.close()
        if at_once:
            self.process.kill()
        return self.process.wait()


def execute_in_pool(specs: list[RunConfig], settings: PoolConfig, request: StopRequest, tell: Tell, record: SweepRecord) -> None:
    """Carry out ``specs`` in several processes, and tell what came of each."""
    pool = _Pool(settings, request, tell, record)
    waiting = deque(_Attempt(place, spec) for place, spec in enumerate(specs))
    pool.work(waiting, slots(specs, settings))


class _Pool:
    def __init__(self, settings: PoolConfig, request: StopRequest, tell: Tell, record: SweepRecord) -> None:
        self.settings, self.request, self.tell, self.record = settings, request, tell, record
        self.idle: list[_Worker] = []
        self.busy: list[_Worker] = []

    def work(self, waiting: deque[_Attempt], free: list[Slot]) -> None:
        """Until nothing waits and nobody is busy."""
        is_told = False
        try:
            while waiting or self.busy:
                if self.request.number is not None and not is_told:
                    is_told = True
                    waiting.clear()
                    for worker in self.busy:
                        worker.send(self.request.number)
                while (free or self.idle) and (attempt := self._next(waiting)) is not None:
                    worker = self.idle.pop() if self.idle else _Worker(slot := free.pop(0), self._log(slot))
                    self.busy.append(worker)
                    worker.take(attempt)
                wait([worker.pipe for worker in self.busy], PATIENCE)
                for worker in [worker for worker in self.busy if worker.has_answered()]:
                    self.busy.remove(worker)
                    if not self._heard(worker, waiting):
                        free.append(worker.slot)
            for worker in self.idle:
                worker.end()
        finally:  # a second Ctrl-C: nobody is waited for
            for worker in self.busy:
                worker.end(at_once=True)

    def _next(self, waiting: deque[_Attempt]) -> _Attempt | None:
        """The first run that nobody of the pool is at: a sweep may name one twice."""
        taken = set().union(*(worker.attempt.folders for worker in self.busy))
        for attempt in waiting:
            if not attempt.folders & taken:
                waiting.remove(attempt)
                return attempt
        return None

    def _heard(self, worker: _Worker, waiting: deque[_Attempt]) -> bool:
        """Take an answer; ``False`` where the process is not to be used again."""
        attempt, outcomes = worker.attempt, worker.answer()
        is_over = self.request.number is not None
        if outcomes is None:
            self._died(attempt, worker.end(), worker.log, waiting, is_over)
            return False
        if any(outcome.word == "interrupted" for outcome in outcomes) and not is_over and attempt.deaths < self.settings.retries:
            worker.end()  # someone has stopped this process, but not the sweep
            waiting.appendleft(replace(attempt, deaths=attempt.deaths + 1))
            return False
        if attempt.deaths:  # a process that was killed may have written the record before
            outcomes = [replace(outcome, word="done") if outcome.word == "skipped" else outcome for outcome in outcomes]
        if outcomes:
            self.tell(attempt.place, outcomes)
        if is_over or any(outcome.word in ("failed", "interrupted") for outcome in outcomes) or time.monotonic() - worker.since > LONG:
            worker.end()
            return False
        worker.attempt = None
        self.idle.append(worker)
        return True

    def _died(self, attempt: _Attempt, code: int, log: Path, waiting: deque[_Attempt], is_over: bool) -> None:
        """A process died over a run: it is tried again, or said to have failed."""
        if attempt.deaths < self.settings.retries and not is_over:
            done = any(attempt.spec.run(seed).state is RunState.DONE for seed in attempt.spec.seeds)
            again = replace(attempt.spec, force=attempt.spec.force and done)  # what was forced once goes on from its checkpoint
            waiting.appendleft(_Attempt(attempt.place, again, attempt.deaths + 1))
            return
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"left with code {code}"
        times = "" if attempt.deaths == 0 else f" for the {_ordinal(attempt.deaths + 1)} time"
        self.tell(attempt.place, mark_failed(attempt.spec, f"the process of the run {how}{times}; what it said is in {log}"))

    def _log(self, slot: Slot) -> Path:
        return self.record.log(f"worker-{slot.number}.log")


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")
