"""What SLURM's queue says of jobs. Only squeue is asked: not every cluster keeps accounts for sacct."""

from __future__ import annotations

import subprocess

ENDED = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "REVOKED", "TIMEOUT"}
GONE = "GONE"


def job_states(jobs: list[str]) -> dict[str, str] | None:
    """The state of every job (``12`` or ``12_3``), :data:`GONE` where it is forgotten; ``None`` where SLURM does not answer."""
    if not jobs:
        return {}
    numbers = sorted({job.partition("_")[0] for job in jobs})
    command = ["squeue", "--noheader", "--array", "--states=all", "--format=%i %T", f"--jobs={','.join(numbers)}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode and "Invalid job id" not in done.stderr:
        return None
    known = dict(line.split()[:2] for line in done.stdout.splitlines() if len(line.split()) >= 2)
    return {job: known.get(job, GONE) for job in jobs}


def is_ended(state: str) -> bool:
    """Whether a job in this state will do no more."""
    return state in ENDED or state == GONE
