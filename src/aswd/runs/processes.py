"""Several processes at one run: the first does all that a single one would, the others follow it step by step.

Each has the whole task on a device of its own and takes its share of every batch; what they tell each other is in
:mod:`aswd.tasks.parallel`. Lightning sees a single device in each of them, so that locks, records, checkpoints and signals stay with it.
"""

from __future__ import annotations

import logging
import signal
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing
from pytorch_lightning import LightningDataModule, LightningModule, Trainer, seed_everything
from pytorch_lightning.plugins.environments import LightningEnvironment

from aswd.config.run import RunConfig
from aswd.data.images import ImageData
from aswd.distances.workers import workers
from aswd.tasks.registry import task_class

_PATIENCE = timedelta(days=1)  # the others wait while the first one evaluates


def build(spec: RunConfig) -> tuple[LightningModule, LightningDataModule]:
    """Task and data of a run."""
    seed_everything(spec.seeds[0], verbose=False)  # for code from outside that draws from the global random state
    task, data = spec.build_task(), spec.build_data()
    if isinstance(data, ImageData) and hasattr(spec.task, "batch_size"):
        data.batch_size = spec.task.batch_size
    return task, data


def trainer_arguments(spec: RunConfig, task: LightningModule) -> dict[str, Any]:
    """Arguments of the trainer: those that the task has for a whole run, and over them those of the run."""
    defaults: dict[str, Any] = getattr(task, "trainer_defaults", dict)()
    arguments = {"num_sanity_val_steps": 0, **defaults, **spec.trainer.arguments()}
    if defaults.get("max_steps", -1) >= 0:
        arguments["max_steps"] = min(arguments["max_steps"], defaults["max_steps"])
    arguments.pop("enable_checkpointing", None)  # a run of the store has checkpoints
    # One process as far as Lightning knows, also inside a SLURM job.
    return {"plugins": [LightningEnvironment()], **arguments, "devices": 1}


@contextmanager
def threads(spec: RunConfig) -> Iterator[None]:
    """The threads that the run may use, torch's own among them only where they pay."""
    before = torch.get_num_threads()
    devices = spec.trainer.devices if isinstance(spec.trainer.devices, int) else 1
    count = max(1, (spec.trainer.threads or before) // max(devices, 1))
    torch.set_num_threads(1 if getattr(task_class(spec.task.name), "small_tensors", False) else count)
    try:
        with workers(count):
            yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def quiet() -> Iterator[None]:
    """Without what Lightning says about itself, but for the report of a profiler."""
    chatter = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in chatter]
    for logger in chatter:
        logger.setLevel(logging.ERROR)
    logging.getLogger("pytorch_lightning.profilers").setLevel(logging.INFO)  # the report of trainer.profiler
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(pytorch_lightning|lightning|lightning_fabric|torch)\..*")
        try:
            yield
        finally:
            for logger, level in zip(chatter, levels, strict=True):
                logger.setLevel(level)


@contextmanager
def followers(spec: RunConfig, checkpoint: Path | None) -> Iterator[None]:
    """Have as many processes at the run as it asks for, this one the first; those who follow end with it."""
    if spec.trainer.devices == 1:
        yield
        return
    address = f"tcp://127.0.0.1:{_free_port()}"
    context = torch.multiprocessing.get_context("spawn")
    arguments = [(spec, checkpoint, rank, address) for rank in range(1, spec.trainer.devices)]
    processes = [context.Process(target=_follow, args=one, daemon=True) for one in arguments]
    try:
        for process in processes:
            process.start()
        _join(spec, 0, address)
        yield
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
        for process in processes:
            if process.pid is not None:
                process.kill()  # it has nothing to save, and may wait for one who is gone
                process.join()


def _follow(spec: RunConfig, checkpoint: Path | None, rank: int, address: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # they are the first one's to answer
        signal.signal(number, signal.SIG_IGN)
    with threads(spec), quiet():
        _join(spec, rank, address)
        task, data = build(spec)
        own = {"devices": [rank] if _on_gpu(spec) else 1, "enable_progress_bar": False, "limit_val_batches": 0}
        trainer = Trainer(**{**trainer_arguments(spec, task), **own}, logger=False, enable_checkpointing=False)
        trainer.fit(task, datamodule=data, ckpt_path=checkpoint)


def _join(spec: RunConfig, rank: int, address: str) -> None:
    if _on_gpu(spec):
        torch.cuda.set_device(rank)
    backend = "nccl" if _on_gpu(spec) else "gloo"
    dist.init_process_group(backend, init_method=address, rank=rank, world_size=spec.trainer.devices, timeout=_PATIENCE)


def _on_gpu(spec: RunConfig) -> bool:
    return spec.trainer.accelerator != "cpu" and torch.cuda.is_available()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
