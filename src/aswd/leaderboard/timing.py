"""What a step of each method costs: seconds, of all methods in turns in one process and one thread, and 1-D sorts."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from aswd.config.run import RunConfig
from aswd.distances.workers import workers
from aswd.leaderboard.planning import Choice, Plan, at
from aswd.runs.provenance import device_name
from aswd.tasks.registry import task_class
from aswd.utils.files import read_json, write_json
from aswd.utils.timing import time_rounds

ROUNDS, BURST = 5, 0.02  # turns of every method, and seconds of each


def costs(plans: list[Plan], choices: list[dict[str, Choice]], file: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Seconds and 1-D sorts of a step of one seed, by discipline and method, on the first setting that the method can be run on.

    A step is a call of the distance with its backward pass; evaluations and the optimiser, which all methods share, are left out. Times
    are kept in ``file``, by machine, and are measured only where they are missing: all methods of a discipline in turns, so that a slow
    spell of the machine affects all of them.
    """
    machine = f"{platform.node()}, {device_name(torch.device('cpu'))}"
    kept = read_json(file) or {}
    times = kept.setdefault(machine, {})
    result: dict[tuple[str, str], dict[str, Any]] = {}
    for made, chosen in zip(plans, choices, strict=True):
        first: dict[str, RunConfig] = {}
        for (method, _), config in made.configs.items():
            first.setdefault(method, at(config, chosen[method].point, [0]))
        missing = {config.key: config for config in first.values() if config.key not in times}
        if missing:
            times |= _measured(missing, made.discipline.name)
            write_json(file, kept)
        for method, config in first.items():
            sorts = getattr(config.build_distance(), "sorts_per_call", None)
            result[made.discipline.name, method] = {"seconds": times[config.key], "sorts": sorts, "machine": machine}
    return result


def _measured(configs: dict[str, RunConfig], title: str) -> dict[str, float]:
    """Seconds of a step in the fastest of all turns, which other work on the machine disturbs least, by key."""
    steps = {key: _step(config) for key, config in configs.items()}
    former = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with workers(1), tqdm(total=ROUNDS, desc=f"timing {title}", unit="round", leave=False, disable=None) as bar:
            rounds = time_rounds(steps, ROUNDS, budget=2.0, burst=BURST, on_round=bar.update)
    finally:
        torch.set_num_threads(former)
    return {key: min(times) for key, times in rounds.items()}


def _step(config: RunConfig) -> Any:
    """A call with its backward pass, on samples of the size that the task has."""
    _, n, m, dim = task_class(config.task.name).problem(config.task, config.data)
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(1, count, dim, generator=generator) for count in (n, m))
    x.requires_grad_()
    distance = config.build_distance()

    def step() -> None:
        x.grad = None
        distance(x, y).sum().backward()

    return step
