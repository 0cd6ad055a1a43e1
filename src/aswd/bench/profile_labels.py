"""Labels on the parts of a run, put there from outside while it is profiled: a run that is not pays nothing for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from inspect import isfunction
from typing import Any

import torch
from torch.profiler import record_function

from aswd.config.run import RunConfig
from aswd.data.images import Order
from aswd.data.registry import data_module
from aswd.distances.maximiser import Maximiser
from aswd.runs.checkpoints import Checkpoints
from aswd.tasks.registry import task_class

PREFIX = "aswd: "
OPTIMISER = "Optimizer.step#"  # torch's own label
PARTS = ("data", "forward", "distance", "inner loop", "backward", "optimiser", "evaluation", "frames", "checkpoint")
WHOLE = ("evaluation", "frames", "checkpoint")  # whatever happens inside belongs to them


def part_of(event: str) -> str | None:
    """The part of a run that an event of the profiler stands for."""
    if event.startswith(OPTIMISER):
        return "optimiser"
    return event.removeprefix(PREFIX) if event.startswith(PREFIX) else None


@contextmanager
def labelled(spec: RunConfig) -> Iterator[None]:
    """Label the methods that make up a run of ``spec``."""
    task, data, distance = task_class(spec.task.name), data_module(spec.data.name), type(spec.build_distance())
    reading = [name for name, member in vars(data).items() if isfunction(member) and not name.startswith("_")]
    places: list[tuple[type, Sequence[str], str]] = [
        (data, reading, "data"),
        (Order, ["batch"], "data"),
        (task, ["training_step"], "forward"),
        (distance, ["forward"], "distance"),
        (Maximiser, ["ascend"], "inner loop"),
        (torch.Tensor, ["backward"], "backward"),
        (task, ["validation_step"], "evaluation"),
        (task, ["_keep_frame"] if hasattr(task, "_keep_frame") else [], "frames"),
        (Checkpoints, ["save"], "checkpoint"),
    ]
    with ExitStack() as stack:
        for owner, names, part in places:
            for name in names:
                stack.enter_context(replaced(owner, name, _labelled(getattr(owner, name), part)))
        yield


@contextmanager
def replaced(owner: type, name: str, method: Callable) -> Iterator[None]:
    """Put another method in the place of one, for a while."""
    own = name in vars(owner)
    former = vars(owner).get(name)
    setattr(owner, name, method)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, former)
        else:
            delattr(owner, name)


def _labelled(method: Callable, part: str) -> Callable:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        _wait()  # a GPU works behind the back of the clock
        with record_function(PREFIX + part):
            result = method(*args, **kwargs)
            _wait()
        return result

    return call


def _wait() -> None:
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
