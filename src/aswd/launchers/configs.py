"""How the runs of a sweep are started: the options of every launcher."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from aswd.utils.checks import check_at_least, check_choice


@dataclass
class LocalConfig:
    """One run after the other, in this process."""

    name: str = "local"

    def __post_init__(self) -> None:
        check_choice("name", self.name, ["local"])


@dataclass
class PoolConfig:
    """Several processes on this machine.

    Args:
        workers: processes at a time. If nothing is said, one a GPU, or without GPUs one for every ``trainer.threads`` cores.
        runs_per_gpu: runs that share a GPU.
        retries: how often a run whose process was killed is tried again.
    """

    name: str = "pool"
    workers: int | None = None
    runs_per_gpu: int = 1
    retries: int = 1

    def __post_init__(self) -> None:
        check_choice("name", self.name, ["pool"])
        if self.workers is not None:
            check_at_least("workers", self.workers, 1, whole=True)
        check_at_least("runs_per_gpu", self.runs_per_gpu, 1, whole=True)
        check_at_least("retries", self.retries, 0, whole=True)


@dataclass
class SlurmConfig:
    """Jobs of a SLURM cluster, as one array.

    Args:
        partition, account: the cluster's default, if nothing is said.
        timeout_min: minutes that a job may take; a run that needs more goes on in the next.
        mem_gb, cpus, gpus: of a job; memory and cores are the cluster's default, if nothing is said.
        jobs: that run at a time.
        runs_per_job: runs that a job does one after the other.
        signal_seconds: before its end a job is told, and saves where it stands.
        requeues: how often a job whose time is over goes back into the queue.
        retries: how often runs whose job was killed are submitted again.
        setup: lines of the shell before the job, such as ``module load cuda``.
        python: the interpreter, if it is not this one; also a container, as in ``apptainer exec --nv aswd.sif python``.
        sbatch: more options of sbatch, such as ``{qos: long}``.
        wait: stay until all jobs have ended.
        poll_seconds: between two looks at the queue.
    """

    name: str = "slurm"
    partition: str | None = None
    account: str | None = None
    timeout_min: int = 60
    mem_gb: float | None = None
    cpus: int | None = None
    gpus: int = 0
    jobs: int = 256
    runs_per_job: int = 1
    signal_seconds: int = 90
    requeues: int = 100
    retries: int = 1
    setup: list[str] = field(default_factory=list)
    python: str | None = None
    sbatch: dict[str, Any] = field(default_factory=dict)
    wait: bool = True
    poll_seconds: float = 5.0

    def __post_init__(self) -> None:
        check_choice("name", self.name, ["slurm"])
        for name in ("timeout_min", "jobs", "runs_per_job", "signal_seconds"):
            check_at_least(name, getattr(self, name), 1, whole=True)
        for name in ("gpus", "requeues", "retries"):
            check_at_least(name, getattr(self, name), 0, whole=True)
        if self.cpus is not None:
            check_at_least("cpus", self.cpus, 1, whole=True)
        if self.mem_gb is not None:
            check_at_least("mem_gb", self.mem_gb, 0, strictly=True)
        check_at_least("poll_seconds", self.poll_seconds, 0, strictly=True)
        if self.signal_seconds >= self.timeout_min * 60:
            allowed = f"less than timeout_min, which is {self.timeout_min * 60} seconds"
            raise ValueError(f"signal_seconds must be {allowed}; got {self.signal_seconds}")
        for option in self.sbatch:
            if not re.fullmatch(r"[a-z][a-z_-]*", option):
                raise ValueError(f"sbatch must have names of options without dashes before them, such as qos; got {option!r}")


LauncherConfig = LocalConfig | PoolConfig | SlurmConfig
LAUNCHERS: dict[str, type] = {"local": LocalConfig, "pool": PoolConfig, "slurm": SlurmConfig}
