"""Places to run in on this machine: a GPU or some cores for each process of the pool."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from aswd.config.run import RunConfig
from aswd.launchers.configs import PoolConfig


@dataclass(frozen=True)
class Slot:
    """What a process may use."""

    number: int
    threads: int
    gpu: str | None = None

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """The environment of a process in this slot."""
        own = {name: str(self.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        return {**base, **own, **({} if self.gpu is None else {"CUDA_VISIBLE_DEVICES": self.gpu})}


def slots(specs: list[RunConfig], settings: PoolConfig) -> list[Slot]:
    """The slots for these runs: never more than there are runs."""
    wants_gpu = any(spec.trainer.accelerator != "cpu" for spec in specs)
    gpus = visible_gpus(os.environ, torch.cuda.device_count()) if wants_gpu and torch.cuda.is_available() else []
    return divided(settings, len(specs), cores(), max((spec.trainer.threads or 0 for spec in specs), default=0), gpus)


def divided(settings: PoolConfig, runs: int, cores: int, threads: int, gpus: list[str]) -> list[Slot]:
    """Slots for ``runs`` on so many cores and these GPUs.

    >>> divided(PoolConfig(), 9, 8, 2, [])
    [Slot(number=0, threads=2, gpu=None), Slot(number=1, threads=2, gpu=None), Slot(number=2, threads=2, gpu=None), \
Slot(number=3, threads=2, gpu=None)]
    >>> [slot.gpu for slot in divided(PoolConfig(runs_per_gpu=2), 9, 8, 0, ["0", "3"])]
    ['0', '3', '0', '3']
    """
    if gpus:
        most = len(gpus) * settings.runs_per_gpu
        count = min(most, settings.workers or most)
    else:
        count = settings.workers or max(1, cores // max(1, threads))
    count = min(count, runs)
    share = threads or max(1, cores // count)
    return [Slot(number, share, gpus[number % len(gpus)] if gpus else None) for number in range(count)]


def visible_gpus(environment: Mapping[str, str], count: int) -> list[str]:
    """The GPUs of this process by the names under which others are to find them.

    >>> visible_gpus({}, 2), visible_gpus({"CUDA_VISIBLE_DEVICES": "2,5"}, 2)
    (['0', '1'], ['2', '5'])
    """
    named = [name.strip() for name in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    return (named or [str(number) for number in range(count)])[:count]


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
