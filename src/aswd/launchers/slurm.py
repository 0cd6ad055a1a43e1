"""Jobs of a SLURM cluster, written and submitted by submitit.

(hydra-submitit-launcher, which builds on submitit too, starts Hydra in every job, serves sweeps of Hydra only and not artifacts, and polls
sacct, which not every cluster has: its accounts are optional.)
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from aswd.launchers.job import Job
from aswd.launchers.queue import GONE, JobState, QueueConfig, QueueLauncher
from aswd.utils.checks import check_at_least
from aswd.utils.errors import UserError

if TYPE_CHECKING:
    from aswd.config.run import RunConfig

ENDED = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "REVOKED", "TIMEOUT"}


@dataclass
class SlurmConfig(QueueConfig):
    """Jobs of a SLURM cluster, submitted as an array.

    Args:
        partition, account: default: the cluster's.
        mem_gb: memory per job. Default: the cluster's.
        gpus: GPUs per job.
        jobs: maximum number of jobs that run at the same time.
        signal_seconds: time before the limit at which a job gets a signal and saves a checkpoint.
        setup: shell lines that precede the job, such as ``module load cuda``.
        python: the interpreter of the jobs, also a container, as in ``apptainer exec --nv aswd.sif python``. Default: this one.
        sbatch: further options of sbatch, such as ``{qos: long}``.
    """

    name: str = "slurm"
    partition: str | None = None
    account: str | None = None
    mem_gb: float | None = None
    gpus: int = 0
    jobs: int = 256
    signal_seconds: int = 90
    setup: list[str] = field(default_factory=list)
    python: str | None = None
    sbatch: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("jobs", "signal_seconds"):
            check_at_least(name, getattr(self, name), 1, whole=True)
        check_at_least("gpus", self.gpus, 0, whole=True)
        if self.mem_gb is not None:
            check_at_least("mem_gb", self.mem_gb, 0, strictly=True)
        if self.signal_seconds >= self.timeout_min * 60:
            allowed = f"less than timeout_min, which is {self.timeout_min * 60} seconds"
            raise ValueError(f"signal_seconds must be {allowed}; got {self.signal_seconds}")
        for option in self.sbatch:
            if not re.fullmatch(r"[a-z][a-z_-]*", option):
                raise ValueError(f"sbatch must have option names without leading dashes, such as qos; got {option!r}")


class SlurmLauncher(QueueLauncher):
    """Submits runs to SLURM."""

    config: SlurmConfig
    system = "SLURM"
    array_size = 1000  # SLURM's default limit is 1001

    def check(self) -> None:
        """Raise :class:`~aswd.utils.errors.UserError` where no jobs can be submitted."""
        for command in ("sbatch", "squeue", "srun"):
            if shutil.which(command) is None:
                raise UserError(f"launcher=slurm must be used on a machine that submits jobs to SLURM: the command {command} was not found")
        if find_spec("submitit") is None:
            raise UserError("launcher=slurm needs the package submitit: pip install 'aswd[slurm]'")

    def submit(self, jobs: list[list[RunConfig]]) -> list[str]:
        """Submit ``jobs`` as one array; see :meth:`QueueLauncher.submit`."""
        from submitit import SlurmExecutor
        from submitit.core.utils import FailedJobError

        config = self.config
        executor = SlurmExecutor(self.record.folder.absolute() / "logs", python=config.python)
        parameters = {
            "job_name": "aswd",
            "partition": config.partition,
            "account": config.account,
            "time": config.timeout_min,
            "mem": None if config.mem_gb is None else f"{round(config.mem_gb * 1024)}MB",
            "cpus_per_task": config.cpus,
            "gpus_per_node": config.gpus or None,
            "array_parallelism": config.jobs,
            "signal_delay_s": config.signal_seconds,
            "setup": config.setup or None,
            "additional_parameters": {"requeue": True, **config.sbatch},
        }
        executor.update_parameters(**{name: value for name, value in parameters.items() if value is not None})
        try:
            submitted = executor.submit_array([SlurmJob(runs, config.requeues) for runs in jobs])
        except FailedJobError as error:
            raise UserError(f"SLURM rejected the jobs: {_error_line(error)}") from None
        return [job.job_id for job in submitted]

    @staticmethod
    def poll(jobs: list[str]) -> dict[str, JobState] | None:
        """The states of ``jobs`` (``12`` or ``12_3``) according to squeue; see :meth:`QueueLauncher.poll`."""
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

    @staticmethod
    def cancel_command(jobs: list[str]) -> str:
        """The scancel command for the arrays of ``jobs``."""
        return " ".join(["scancel", *sorted({job_number(job) for job in jobs})])


def _error_line(error: Exception) -> str:
    """The line of sbatch's output that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if "error" in line.lower()]
    return (lines or str(error).splitlines())[-1].removeprefix("sbatch: ").removeprefix("error: ")


def job_number(job: str) -> str:
    """The number of a job or of the array that it is part of.

    >>> job_number("12"), job_number("12_3")
    ('12', '12')
    """
    return job.partition("_")[0]


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
