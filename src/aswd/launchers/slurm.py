"""Jobs of a SLURM cluster, written and submitted by submitit; the queue and the store say what became of them.

The jobs bring nothing back: their runs write the store, as any run does. So it does not matter whether the one who submitted them is still
there, and the next start of the same command waits for the jobs that are still in the queue instead of submitting them again.
(hydra-submitit-launcher, which stands on submitit too, starts Hydra in every job, serves sweeps of Hydra only and not artifacts, and waits
by sacct, which not every cluster has.)
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from aswd.config.run import RunConfig
from aswd.launchers.configs import SlurmConfig
from aswd.launchers.giving_up import mark_failed
from aswd.launchers.slurm_job import Job
from aswd.launchers.slurm_queue import GONE, is_ended, job_states
from aswd.launchers.sweep import SweepRecord, sweeps
from aswd.runs.checkpoints import remove_checkpoints
from aswd.runs.execution import Outcome
from aswd.runs.locks import SILENCE, Locks
from aswd.runs.signals import StopRequest
from aswd.runs.store import Run, RunState
from aswd.utils.errors import UserError

ARRAY = 1000  # jobs in one array: as many as SLURM takes unless told otherwise


def check_slurm() -> None:
    """Refuse where there is no SLURM, before any work.

    Raises:
        UserError: with what is missing.
    """
    for command in ("sbatch", "squeue", "srun"):
        if shutil.which(command) is None:
            raise UserError(f"launcher=slurm needs a machine from which jobs can be submitted: there is no {command} here")
    if find_spec("submitit") is None:
        raise UserError("launcher=slurm needs the package submitit: pip install 'aswd[slurm]'")


def execute_on_slurm(
    specs: list[RunConfig], settings: SlurmConfig, request: StopRequest, tell: Callable[[int, list[Outcome]], None], record: SweepRecord
) -> None:
    """Submit what is not done and not in the queue already, and tell what came of each."""
    _Cluster(specs, settings, request, tell, record).work()


class _Cluster:
    def __init__(self, specs: list[RunConfig], settings: SlurmConfig, request: StopRequest, tell: Callable, record: SweepRecord) -> None:
        self.specs, self.settings, self.request, self.tell, self.record = specs, settings, request, tell, record
        self.jobs: dict[str, list[int]] = {}  # jobs that have not ended, and the runs of each
        self.submitted: dict[str, list[int]] = {}  # all jobs of this sweep
        self.left: set[int] = set()  # places of which nothing was told yet
        self.before: set[Path] = set()  # runs that were done before
        self.attempts = dict.fromkeys(range(len(specs)), 0)
        self.limbo: dict[int, tuple[str, str, float]] = {}  # places whose job has ended but whose lock has not been seen to be dead yet

    def work(self) -> None:
        """Until something was told of every place, or it is asked to stop."""
        self._skip()
        self._adopt()
        named: set[Path] = {run.folder for places in self.jobs.values() for place in places for run in self._runs(place)}
        waiting = []
        for place in sorted(self.left - {place for places in self.jobs.values() for place in places}):
            folders = {run.folder for run in self._runs(place)}
            if not folders <= named:  # a sweep may name a run twice
                waiting.append(place)
            named |= folders
        self._submit(waiting)
        is_reached = True
        while self.left and self.settings.wait and self.request.number is None:
            states = job_states(list(self.jobs))
            if states is None and is_reached:
                print("aswd: SLURM does not answer; waiting for it", file=sys.stderr)
            is_reached = states is not None
            self._look(states or {})
            if self.left:
                self._sleep()
        self._leave()

    def _runs(self, place: int) -> list[Run]:
        return [self.specs[place].run(seed) for seed in self.specs[place].seeds]

    def _skip(self) -> None:
        """Tell of what was done before."""
        for place, spec in enumerate(self.specs):
            if spec.force:
                _forget(spec)
            done = [run for run in self._runs(place) if run.state is RunState.DONE and run.damage() is None]
            self.before |= {run.folder for run in done}
            if len(done) == len(spec.seeds):
                self.tell(place, [Outcome("skipped", run) for run in done])
            else:
                self.left.add(place)

    def _adopt(self) -> None:
        """Wait for jobs of earlier starts that are still in the queue."""
        wanted = {run.folder.absolute(): place for place in self.left for run in self._runs(place)}
        found: dict[str, list[int]] = {}
        for sweep in sweeps(self.specs[0].paths.output_dir):
            planned = sweep.planned
            for job, places in sweep.jobs.items():
                ours = {wanted.get(run.folder.absolute()) for place in places for run in planned[place].runs} - {None}
                if ours:
                    found[job] = sorted(ours)
        states = job_states(list(found)) or {}
        self.jobs = {job: found[job] for job, state in states.items() if not is_ended(state)}
        self.submitted |= self.jobs
        if self.jobs:
            print(f"{len(self.jobs)} jobs of an earlier start are still in the queue and are waited for", flush=True)

    def _submit(self, places: list[int]) -> None:
        from submitit import SlurmExecutor
        from submitit.core.utils import FailedJobError

        if not places:
            return
        chosen = self.settings
        size = chosen.runs_per_job
        groups = [places[start : start + size] for start in range(0, len(places), size)]
        executor = SlurmExecutor(self.record.folder.absolute() / "logs", python=chosen.python)
        given = {
            "job_name": "aswd",
            "partition": chosen.partition,
            "account": chosen.account,
            "time": chosen.timeout_min,
            "mem": None if chosen.mem_gb is None else f"{round(chosen.mem_gb * 1024)}MB",
            "cpus_per_task": chosen.cpus,
            "gpus_per_node": chosen.gpus or None,
            "array_parallelism": chosen.jobs,
            "signal_delay_s": chosen.signal_seconds,
            "setup": chosen.setup or None,
            "additional_parameters": {"requeue": True, **chosen.sbatch},
        }
        executor.update_parameters(**{name: value for name, value in given.items() if value is not None})
        for start in range(0, len(groups), ARRAY):
            part = groups[start : start + ARRAY]
            jobs = [Job([self._for_job(place) for place in group], chosen.requeues) for group in part]
            try:
                submitted = executor.submit_array(jobs)
            except FailedJobError as error:
                raise UserError(f"SLURM refuses the jobs: {_sentence(error)}") from None
            self.jobs |= {job.job_id: group for job, group in zip(submitted, part, strict=True)}
            self.submitted |= {job.job_id: group for job, group in zip(submitted, part, strict=True)}
            self.record.update(jobs=self.submitted)

    def _for_job(self, place: int) -> RunConfig:
        spec = self.specs[place]
        trainer = replace(spec.trainer, progress=False, threads=spec.trainer.threads or self.settings.cpus)
        return replace(spec, trainer=trainer, force=False)  # what is to be made again was forgotten before

    def _look(self, states: dict[str, str]) -> None:
        """Tell of what is done, and see to what jobs have left undone."""
        now = time.monotonic()
        for place in sorted(self.left):
            if all(run.state is RunState.DONE for run in self._runs(place)):
                self._told(place, [self._done(run) for run in self._runs(place)])
        for job, state in states.items():
            if is_ended(state):
                for place in self.jobs.pop(job):
                    if place in self.left:
                        self.limbo[place] = (job, state, now)
        again = []
        for place, (job, state, since) in list(self.limbo.items()):
            # The lock of a node that died is seen to be dead only after a while; until then a new job would leave the run to it.
            if place in self.left and (now - since > 1.5 * SILENCE or all(run.state is not RunState.RUNNING for run in self._runs(place))):
                del self.limbo[place]
                if self._ended(place, job, state):
                    again.append(place)
        covered = {place for places in self.jobs.values() for place in places} | set(self.limbo) | set(again)
        again += sorted(self.left - covered)  # named twice, and not done by the other's job
        for place in again:
            self.attempts[place] += 1
        self._submit(again)

    def _ended(self, place: int, job: str, state: str) -> bool:
        """A job ended without its runs being done: tell why; ``True`` where it is to be submitted again."""
        unfinished = [run for run in self._runs(place) if run.state in (RunState.CUT_OFF, RunState.NEW)]
        if unfinished and state not in ("CANCELLED", GONE):
            if self.attempts[place] < self.settings.retries:
                return True
            spec = self.specs[place].of_seeds([run.seed for run in unfinished])
            mark_failed(spec, f"job {job} ended as {state} and left it undone; what it said is in {self.record.folder / 'logs'}")
        self._told(place, [self._outcome(run, job, state) for run in self._runs(place)])
        return False

    def _outcome(self, run: Run, job: str, state: str) -> Outcome:
        if run.state is RunState.DONE:
            return self._done(run)
        if run.state is RunState.FAILED:
            return Outcome("failed", run, run.status["reason"])
        if run.state is RunState.RUNNING:
            return Outcome("running", run)
        why = f"job {job} was cancelled" if state == "CANCELLED" else f"job {job} is not known to SLURM any more"
        return Outcome("interrupted", run, f"{why}; the same command goes on")

    def _done(self, run: Run) -> Outcome:
        if run.folder in self.before:
            return Outcome("skipped", run)
        shown = [f"{name} {value:.4g}" for name, value in run.result.get("final", {}).items() if name.startswith("log10_")]
        return Outcome("done", run, "".join(shown[:1]))

    def _told(self, place: int, outcomes: list[Outcome]) -> None:
        self.left.discard(place)
        self.limbo.pop(place, None)
        self.tell(place, outcomes)

    def _sleep(self) -> None:
        """Until it is time to look again, or it is asked to stop."""
        end = time.monotonic() + self.settings.poll_seconds
        while self.request.number is None and (rest := end - time.monotonic()) > 0:
            time.sleep(min(rest, 0.2))

    def _leave(self) -> None:
        """Not waiting any more: the jobs stay in the queue."""
        where = {place: job for job, places in self.jobs.items() for place in places if place in self.left}
        for place, job in sorted(where.items()):
            self._told(place, [Outcome("running", run, f"in the queue as job {job}") for run in self._runs(place)])
        if where:
            numbers = " ".join(sorted({job.partition("_")[0] for job in where.values()}))
            print(f"the jobs stay in the queue: aswd status shows them, scancel {numbers} ends them, the same command waits for them")


def _forget(spec: RunConfig) -> None:
    """Before runs are made again: take away what says that they are done, unless someone is at them."""
    for seed in spec.seeds:
        run, locks = spec.run(seed), Locks()
        try:
            if locks.acquire(run.lock):
                run.forget_outcome()
                remove_checkpoints(run.folder / "checkpoints")
        finally:
            locks.release()
    for folder in spec.folder.glob("seeds=*/checkpoints"):
        remove_checkpoints(folder)


def _sentence(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if "error" in line.lower()]
    return (lines or str(error).splitlines())[-1].removeprefix("sbatch: ").removeprefix("error: ")
