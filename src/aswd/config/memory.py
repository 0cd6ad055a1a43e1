"""The least memory that runs need, compared with what there is, before any of it is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aswd.config.run import RunConfig
from aswd.distances import Wasserstein, build
from aswd.tasks.registry import task_class
from aswd.utils.errors import UserError

PER_RUN = 4096  # bytes that the plan of a sweep takes per run, and per seed


def check_memory(run: RunConfig) -> None:
    """Refuse a run that does not fit into the memory of the machine that executes it.

    A batch system executes it on another machine: of that only ``launcher.mem_gb`` is known, where it is given. On a GPU the data alone
    are compared, which pass through the memory of the host.

    Raises:
        UserError: with the sizes.
    """
    requested = getattr(run.launcher, "mem_gb", None)
    if not getattr(run.launcher, "is_remote", False):
        check_fits(f"{run.title}, {run.seeds_text},", needed_memory(run))
    elif requested is not None:
        check_fits(f"{run.title}, {run.seeds_text},", needed_memory(run), int(requested * 2**30), "of launcher.mem_gb")


def check_fits(what: str, needed: dict[str, int], available: int | None = None, where: str = "available") -> None:
    """Compare sizes in bytes, by part, with the memory that there is; default: what is available here.

    Raises:
        UserError: they are larger.
    """
    available = available_memory() if available is None else available
    if available is not None and sum(needed.values()) > available:
        parts = ", ".join(f"{part} {size_text(size)}" for part, size in needed.items() if size)
        total = size_text(sum(needed.values()))
        raise UserError(f"{what} needs at least {total} of memory ({parts}), more than the {size_text(available)} {where}")


def needed_memory(run: RunConfig) -> dict[str, int]:
    """The least memory of a run in bytes, by section; nothing for parts from outside that do not say."""
    task, distance = task_class(run.task.name), build(run.distance_name, **run.distance)
    seeds = len(run.seeds) if getattr(task, "batches_seeds", False) else 1
    needed = {"data": getattr(run.data, "num_bytes", lambda _: 0)(seeds)}
    if not _is_on_gpu(run) and hasattr(task, "num_bytes"):
        needed["task"] = task.num_bytes(run.task, run.data, distance, seeds)
        needed["distance"] = _distance_bytes(distance, seeds, *task.problem(run.task, run.data))
    return needed


def _distance_bytes(distance: Any, seeds: int, problems: int, n: int, m: int, dim: int) -> int:
    """Directions and gradients of ``problems`` pairs of n and m samples per seed; of the exact distance the costs of one."""
    if isinstance(distance, Wasserstein):
        return 16 * n * m
    if not problems or not hasattr(getattr(distance, "projection", None), "direction_dim"):
        return 0
    features, directions = distance.projection.direction_dim(dim), getattr(distance.directions, "num_projections", 1)
    return 4 * features * seeds * (2 * directions + problems * 2 * (n + m))


def _is_on_gpu(run: RunConfig) -> bool:
    import torch

    return run.trainer.accelerator in ("gpu", "cuda") or (run.trainer.accelerator == "auto" and torch.cuda.is_available())


def available_memory() -> int | None:
    """Bytes that this process can take without swapping; ``None`` where that is not known."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        return None
    for limit, used in (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")):
        try:  # of the container; its caches can be dropped
            folder = Path("/sys/fs/cgroup")
            statistics = dict(line.split() for line in (folder / limit).with_name("memory.stat").read_text().splitlines())
            free.append(int((folder / limit).read_text()) - int((folder / used).read_text()) + int(statistics.get("inactive_file", 0)))
        except (OSError, ValueError):  # no such limit
            continue
    return max(0, min(free)) if free else None


def size_text(size: int) -> str:
    """Bytes in words.

    >>> size_text(1_500_000), size_text(2 * 10**12)
    ('1.5 MB', '2.0 TB')
    """
    units = ("B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB")
    power = min(max(0, (len(str(size)) - 1) // 3), len(units) - 1)
    return f"{size / 1000**power:,.1f} {units[power]}" if power else f"{size} B"
