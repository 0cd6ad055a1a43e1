"""What only all sections of a run together can say: whether the distance, the task, the data and the trainer fit."""

from __future__ import annotations

from typing import Any

from aswd.config.run import RunConfig
from aswd.data.registry import DATA, data_config
from aswd.distances import build, distance_info, options
from aswd.tasks.registry import task_class
from aswd.utils.errors import UserError


def check_kind(task: Any, data: Any) -> None:
    """A flow has no use for photographs; parts from outside that say nothing are taken as they are."""
    wanted, kind = getattr(task, "data_kind", None), getattr(data, "kind", None)
    if wanted is not None and kind is not None and kind != wanted:
        fitting = [name for name in DATA if getattr(data_config(name), "kind", wanted) == wanted]
        raise UserError(f"data must be one of {', '.join(fitting)} for task={task.name}; got {data.name!r}")


def check_together(run: RunConfig) -> None:
    """What only all sections together can say: the distance's own checks, the task's, Lightning's."""
    try:
        distance = build(run.distance_name, **run.distance)
    except (TypeError, ValueError) as error:
        known = options(run.distance_name)
        raise UserError(f"distance.{error}" if str(error).split(" ")[0] in known else f"distance: {error}") from None
    try:
        run.trainer.check_with_lightning()
    except ValueError as error:
        raise UserError(f"trainer: {error}") from None
    for part, info in run.code.items():
        if info["digest"] is None:
            raise UserError(f"{part} must come from a source file, whose digest tells its results apart; {info['module']} has none")
    task = task_class(run.task.name)
    _check_devices(run, task)
    _check_optimisation(run, task)
    _check_batches(run)
    if hasattr(task, "check"):
        try:
            task.check(run.task, run.data, distance)
        except ValueError as error:
            raise UserError(f"{error}") from None
    _try_distance(run, task, distance)


def _try_distance(run: RunConfig, task: type, distance: Any) -> None:
    """Check the dimension that the task has; call a distance from outside once, on some samples of that dimension."""
    count, n, m, dim = task.problem(run.task, run.data) if hasattr(task, "problem") else (0, 0, 0, 0)
    if not count:
        return
    try:
        getattr(distance, "check_dim", lambda _: None)(dim)
    except ValueError as error:
        raise UserError(f"distance: {error}") from None
    if dim > 10**6 or distance_info(run.distance_name) is None:
        return
    import torch

    with torch.random.fork_rng(devices=[]):
        x, y = torch.rand(1, min(n, 64), dim, requires_grad=True), torch.rand(1, min(m, 64), dim)
        try:
            distance(x, y)
        except UserError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {(str(error).splitlines() or ['no message'])[0]}"
            given = "" if isinstance(error, ValueError) else f" {run.distance_name!r} fails for x {list(x.shape)} and y {list(y.shape)}:"
            raise UserError(f"distance:{given} {error if isinstance(error, ValueError) else reason}") from None


def _check_optimisation(run: RunConfig, task: type) -> None:
    """Lightning clips and accumulates gradients of tasks with automatic optimisation only."""
    for name, default in (("gradient_clip_val", None), ("accumulate_grad_batches", 1)):
        value = getattr(run.trainer, name)
        if value != default and getattr(task, "optimises_manually", False):
            instead = "; use task.clip_grad_norm" if name == "gradient_clip_val" and hasattr(run.task, "clip_grad_norm") else ""
            allowed = "null" if default is None else default
            reason = f"for task={run.task.name}, which takes its own optimiser steps"
            raise UserError(f"trainer.{name} must be {allowed} {reason}; got {value}{instead}")


def _check_batches(run: RunConfig) -> None:
    """A fraction of the batches must be at least one of them; Lightning checks that only when a run has started."""
    batch_size = getattr(run.task, "batch_size", 1)
    counts = getattr(run.data, "num_batches", lambda _: None)(batch_size)
    if counts is None:
        return
    if counts[0] == 0:
        raise UserError(f"task.batch_size must be at most the number of training images, {run.data.num_train}; got {batch_size}")
    limits = {"limit_train_batches": counts[0], "limit_val_batches": counts[1], "overfit_batches": counts[0]}
    for name, count in limits.items():
        limit = getattr(run.trainer, name)
        if isinstance(limit, float) and limit not in (0.0, 1.0):
            if count is None:
                raise UserError(f"trainer.{name} must be a whole number for data={run.data.name}, one batch without end; got {limit}")
            if limit * count < 1:
                raise UserError(f"trainer.{name} must leave at least one of {count} batches, 1/{count} of them; got {limit}")


def _check_devices(run: RunConfig, task: type) -> None:
    """Several devices share a batch in equal parts."""
    devices = run.trainer.devices
    if devices == 1 or not hasattr(task, "several_devices"):
        return
    if not task.several_devices:
        raise UserError(f"trainer.devices must be 1 for task={run.task.name}, whose batches are not shared; got {devices}")
    if isinstance(devices, int) and devices > 1 and run.task.batch_size % devices:
        raise UserError(f"task.batch_size must be a multiple of trainer.devices, {devices}; got {run.task.batch_size}")
