"""Slots of this machine: a GPU or some cores for each worker of the pool."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from aswd.config.run import RunConfig
from aswd.launchers.pool import PoolConfig


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


def make_slots(runs: list[RunConfig], config: PoolConfig) -> list[Slot]:
    """The slots for ``runs`` on this machine, never more than there are runs."""
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
