"""Task, data and trainer arguments of a run, and the threads and messages of its processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from pytorch_lightning import LightningDataModule, LightningModule, seed_everything
from pytorch_lightning.plugins.environments import LightningEnvironment

from aswd.config.run import RunConfig
from aswd.distances.workers import workers
from aswd.runs.devices import SpawnedDDP, has_several
from aswd.tasks.registry import task_class


def build(spec: RunConfig) -> tuple[LightningModule, LightningDataModule]:
    """Task and data of a run."""
    seed_everything(spec.seeds[0], verbose=False)  # for code from outside that draws from the global random state
    return spec.build_task(), spec.build_data()


def trainer_arguments(spec: RunConfig, task: LightningModule) -> dict[str, Any]:
    """Arguments of the trainer: those that the task has for a whole run, and over them those of the run."""
    defaults: dict[str, Any] = getattr(task, "trainer_defaults", dict)()
    arguments = {"num_sanity_val_steps": 0, **defaults, **spec.trainer.arguments()}
    if defaults.get("max_steps", -1) >= 0:
        arguments["max_steps"] = min(arguments["max_steps"], defaults["max_steps"])
    if isinstance(arguments.get("val_check_interval"), float):  # a part of an epoch
        arguments["check_val_every_n_epoch"] = spec.trainer.check_val_every_n_epoch or 1
    arguments.pop("enable_checkpointing", None)  # a run of the store has checkpoints
    if has_several(spec.trainer.devices) and spec.trainer.num_nodes == 1 and spec.trainer.strategy in ("auto", "ddp", "ddp_spawn"):
        arguments["strategy"] = SpawnedDDP(spec)  # any other strategy is Lightning's, as given
    # Lightning's own processes, also inside a SLURM job, whose tasks it would take for its processes.
    return {"plugins": [LightningEnvironment()], **arguments}


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
