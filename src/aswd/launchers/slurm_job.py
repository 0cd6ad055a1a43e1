"""What a job of a cluster does."""

from __future__ import annotations

import os
import signal
import subprocess

from aswd.config.run import RunConfig
from aswd.runs.execution import execute_run
from aswd.runs.signals import StopRequest


class Job:
    """What a job does: the runs that it was given, one after the other."""

    def __init__(self, specs: list[RunConfig], requeues: int) -> None:
        self.specs, self.requeues = specs, requeues

    def __call__(self) -> list[str]:
        """Carry them out. Told that its time is over, the job goes back into the queue and begins anew: what is done by then is skipped."""
        request, words = StopRequest(signal.SIGUSR2), []
        with request.listening():
            for spec in self.specs:
                if request.number is None:
                    words += [f"{outcome.run.folder}: {outcome.word} {outcome.text}" for outcome in execute_run(spec, request)]
            if request.number == signal.SIGUSR2 and int(os.environ.get("SLURM_RESTART_COUNT", 0)) < self.requeues:
                _requeue()
        print(*words, sep="\n", flush=True)
        return words


def _requeue() -> None:
    """Put this job back into the queue, which ends it."""
    array, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    job = f"{array}_{task}" if array else os.environ["SLURM_JOB_ID"]
    print(f"the time of job {job} is over; it goes back into the queue", flush=True)
    try:
        subprocess.run(["scontrol", "requeue", job], check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:  # in a container there may be no scontrol
        print(f"job {job} could not be put back into the queue ({error}); the next start of the command goes on", flush=True)
