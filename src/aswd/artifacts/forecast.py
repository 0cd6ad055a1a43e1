"""Estimates how long the missing runs of an artifact will take: from runs in the store, from published times, or from steps that are
measured for it, where these are small. Unknown is unknown.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact
from aswd.config.run import RunConfig
from aswd.config.schemas import PathConfig
from aswd.runs import records
from aswd.runs.execution import execute_run
from aswd.tasks.configs import ParticleConfig
from aswd.utils.progress import progress_bar
from aswd.utils.tables import table

TRAIN_IMAGES = {"mnist": 60_000, "fashion_mnist": 60_000, "cifar10": 50_000, "celeba": 162_770}
PACE = "seconds_per_iteration"
MEASURED = "one core, by steps that were measured for this estimate"
PUBLISHED = "a GPU, by the published seconds per iteration, without evaluations"


def forecast(artifact: Artifact, cells: list[Cell], output_dir: Path) -> str:
    """A table of the cells with their missing runs and the time that these need, and the sums."""
    known = records(output_dir)
    known = known[known["state"] == "done"]
    rows, totals, unknown, missing_runs = [], {}, 0, 0
    measured: dict[str, float | None] = {}
    for cell in progress_bar(cells, what="estimating", unit="cell"):
        done = len(cell.done)
        missing = len(cell.config.seeds) - (0 if cell.config.force else done)
        estimate = _estimate(artifact, cell, known, measured) if missing else (0.0, "")
        missing_runs += missing
        if estimate is None:
            unknown += 1
        elif missing:
            totals[estimate[1]] = totals.get(estimate[1], 0.0) + missing * estimate[0]
        time = "unknown" if estimate is None else amount(missing * estimate[0])
        rows.append((cell.data, cell.label, f"{done}/{len(cell.config.seeds)}", time))
    lines = [f"about {amount(seconds)} of {source}".replace("hours of a GPU", "GPU-hours") for source, seconds in totals.items()]
    lines += [f"unknown: the time of {unknown} cells without similar runs in the store or published times"] if unknown else []
    return "\n".join([table(("data", "series", "done", "time"), rows), f"{missing_runs} runs are missing", *lines])


def _estimate(artifact: Artifact, cell: Cell, known: pandas.DataFrame, measured: dict[str, float | None]) -> tuple[float, str] | None:
    """Seconds per seed, and of what; ``None`` where nothing is known. Adds to the paces that were ``measured``."""
    steps = _steps(cell.config)
    pace = _measured_pace(cell.config, known)
    if pace is None:
        published = artifact.published_value(cell.data, cell.label, PACE)
        pace = None if published is None else (published, PUBLISHED)
    if pace is None and isinstance(cell.config.task, ParticleConfig):
        similar = repr((cell.config.task, cell.config.distance_name, cell.config.distance, getattr(cell.config.data, "num_samples", None)))
        if similar not in measured:
            measured[similar] = _short_run(cell.config)
        pace = None if measured[similar] is None else (measured[similar], MEASURED)
    return None if pace is None or steps is None else (steps * pace[0], pace[1])


def _steps(config: RunConfig) -> int | None:
    """Steps of a run: the task's iterations, or its epochs on a data set of known size."""
    steps = getattr(config.task, "iterations", None)
    images = getattr(config.data, "num_train", None) or TRAIN_IMAGES.get(config.data.name)
    if steps is None and images is not None and hasattr(config.task, "epochs"):
        steps = config.task.epochs * max(1, images // config.task.batch_size)
    return min(filter(None, [steps, config.trainer.max_steps]), default=None)


def _measured_pace(config: RunConfig, known: pandas.DataFrame) -> tuple[float, str] | None:
    """Seconds per step and seed, and the device, of runs of the same task, distance, batch and network, on any data.

    Numbers of directions and samples may differ where no run has the same ones: a step costs in proportion to both.
    """
    similar = {"task": config.task.name, "distance": config.distance_name}
    similar |= {f"task.{name}": getattr(config.task, name) for name in ("batch_size", "width") if hasattr(config.task, name)}
    sizes = {"data.num_samples": getattr(config.data, "num_samples", None)}
    sizes["distance.num_projections"] = config.distance.get("num_projections")
    sizes = {column: size for column, size in sizes.items() if size is not None}
    for column, value in similar.items():
        known = known[known[column] == value] if column in known else known[:0]
    if known.empty or not set(sizes) <= set(known.columns):
        return None
    ratio = pandas.Series(1.0, known.index)
    for column, size in sizes.items():
        ratio *= size / pandas.to_numeric(known[column])
    same = ratio == 1 if (ratio == 1).any() else ratio.notna()
    if not same.any():
        return None
    pace = (known["wall_time"] / known["replicas"] / known["steps"] * ratio)[same]
    how = "by similar runs in the store" if (ratio[same] == 1).all() else "by runs in the store with other numbers of directions or samples"
    return float(pace.mean()), f"{known['device'][same].mode()[0]}, {how}"


def _short_run(config: RunConfig) -> float | None:
    """Seconds per step of one seed on one core, evaluations included; ``None`` where the run fails.

    Of some seeds at once, as they will be run. A longer run less a shorter one, after one that warms up: what happens once does not count.
    """
    every, times = config.task.evaluate_every, []
    seeds = config.seeds[:4]
    with TemporaryDirectory() as folder:
        trainer = replace(config.trainer, threads=1, enable_progress_bar=False)
        paths = PathConfig(folder)
        short = replace(config, seeds=seeds, trainer=trainer, paths=paths, loggers={}, callbacks={}, force=True)
        for steps in (every, every, 3 * every):
            spec = replace(short, task=replace(config.task, iterations=steps, images=False))
            start = time.process_time()  # other work on this machine counts for nothing
            words = {outcome.status for outcome in execute_run(spec)}
            if "interrupted" in words:
                raise KeyboardInterrupt
            if words != {"done"}:
                return None
            times.append(time.process_time() - start)
    _, shorter, longer = times
    return (longer - shorter if longer > shorter else longer / 1.5) / (2 * every * len(seeds))


def amount(seconds: float) -> str:
    """
    >>> amount(42), amount(1500), amount(4_000_000)
    ('42 s', '25 minutes', '1,111 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours = seconds / 3600
    return f"{seconds / 60:.0f} minutes" if hours < 1.5 else f"{hours:,.1f} hours" if hours < 100 else f"{hours:,.0f} hours"
