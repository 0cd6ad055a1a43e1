"""States of jobs in SLURM's queue, from squeue: not every cluster keeps the accounts that sacct needs."""

from __future__ import annotations

import subprocess

from aswd.launchers.queue import GONE, JobState

ENDED = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "REVOKED", "TIMEOUT"}


def poll_jobs(jobs: list[str]) -> dict[str, JobState] | None:
    """The state of every job (``12`` or ``12_3``), :data:`GONE` where SLURM has forgotten it; ``None`` where SLURM does not respond."""
    if not jobs:
        return {}
    numbers = sorted({job_number(job) for job in jobs})
    command = ["squeue", "--noheader", "--array", "--states=all", "--format=%i %T", f"--jobs={','.join(numbers)}"]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if process.returncode and "Invalid job id" not in process.stderr:
        return None
    names = dict(line.split()[:2] for line in process.stdout.splitlines() if len(line.split()) >= 2)
    return {job: JobState(names[job], names[job] in ENDED) if job in names else GONE for job in jobs}


def job_number(job: str) -> str:
    """The number of a job or of the array that it is part of.

    >>> job_number("12"), job_number("12_3")
    ('12', '12')
    """
    return job.partition("_")[0]
