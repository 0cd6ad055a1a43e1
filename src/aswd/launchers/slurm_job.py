"""A job on a node of a SLURM cluster."""

from __future__ import annotations

import os
import signal
import subprocess

from aswd.launchers.job import Job


class SlurmJob(Job):
    """Executes its runs; requeues itself when SLURM signals that the time limit is near."""

    warning = signal.SIGUSR2

    def count_restarts(self) -> int:
        """How often SLURM has restarted this job."""
        return int(os.environ.get("SLURM_RESTART_COUNT", 0))

    def requeue(self) -> None:
        """Put this job back into the queue, which ends it."""
        array, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
        job = f"{array}_{task}" if array else os.environ["SLURM_JOB_ID"]
        print(f"job {job} reaches its time limit and is requeued", flush=True)
        try:
            subprocess.run(["scontrol", "requeue", job], check=True, timeout=60)
        except (OSError, subprocess.SubprocessError) as error:  # in a container there may be no scontrol
            print(f"job {job} could not be requeued ({error}); start the same command again to resume", flush=True)
