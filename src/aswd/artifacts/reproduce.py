"""``aswd reproduce``: run what is missing of an artifact, draw it from the runs that are done, judge its claims."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pandas

from aswd.artifacts import tables
from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import load
from aswd.artifacts.forecast import forecast
from aswd.artifacts.reproduction import Reproduction
from aswd.config.run import RunConfig
from aswd.launchers.base import exit_code, launch
from aswd.runs.execution import RunResult
from aswd.runs.provenance import provenance
from aswd.runs.signals import StopRequest
from aswd.tasks.registry import task_class
from aswd.tracking.naming import label_of
from aswd.utils.files import check_writable
from aswd.utils.secrets import mask_options
from aswd.utils.statistics import mean_and_band


def reproduce(
    name: str,
    scale: str,
    reading: str,
    overrides: Sequence[str] = (),
    dry_run: bool = False,
    config_dirs: Sequence[str] = (),
    only: Sequence[str] = (),
) -> int:
    """Reproduce an artifact.

    Args:
        name: of the artifact.
        scale: one of its scales.
        reading: of the paper.
        overrides: for all runs; ``paths.output_dir=DIR`` is the folder of all results.
        dry_run: run nothing, and print what is missing with an estimate of the time.
        config_dirs: folders with artifacts and other configurations of the user's.
        only: series and data sets whose runs are started; all that is done is drawn. Default: all.

    Returns:
        The exit code: 0; 1 if a run failed; 3 if another process executes one; 128 + n if it was stopped by signal n.

    Raises:
        UserError: there is no such artifact, scale or option; before anything is run.
    """
    reproduction = Reproduction(load(name, config_dirs), scale, reading, overrides, config_dirs, tuple(only))
    reproduction.check()
    if reproduction.drawing.reproduce is not None:
        return reproduction.drawing.reproduce(reproduction, dry_run)
    if reproduction.drawing.measure is not None:
        return _measure(reproduction, dry_run)
    if dry_run:
        print(forecast(reproduction.artifact, reproduction.chosen, reproduction.output_dir))
        return 0
    check_writable(reproduction.output_dir)
    return _run_and_draw(reproduction)


def _run_and_draw(reproduction: Reproduction) -> int:
    artifact, cells = reproduction.artifact, reproduction.cells
    code = run_cells(artifact.name, reproduction.chosen)
    frame = tables.table(artifact, cells)
    if not frame["n"].any():
        print(f"aswd reproduce: no run of {artifact.name} is done yet, so nothing is drawn", file=sys.stderr)
        return code or int(getattr(cells[0].config.launcher, "wait", True))  # with wait=false, submitting was all that was requested
    _report_missing(cells, artifact.metric)
    note = tables.damage_note(frame[frame["metric"] == artifact.metric])
    figure = reproduction.drawing.draw(artifact, cells, "\n".join(filter(None, [reproduction.heading, note])))
    views = reproduction.drawing.views(artifact, cells)
    reproduction.write(figure, _curves(cells, artifact.metric), views, cells, facts(cells))
    return code


def _measure(reproduction: Reproduction, dry_run: bool) -> int:
    """An artifact that is measured on the distances themselves."""
    artifact, scale = reproduction.artifact, reproduction.artifact.scale(reproduction.scale)
    if dry_run:
        labels = ", ".join(series.label for series in artifact.series)
        print(f"{scale.seeds} seeds of {labels}, measured without runs in the store")
        return 0
    check_writable(reproduction.output_dir)
    start = time.perf_counter()
    measurement = reproduction.drawing.measure(artifact, scale, reproduction.reading, reproduction.heading)
    facts = {"wall_time": time.perf_counter() - start, **provenance(), "settings": asdict(scale)}
    reproduction.write(measurement.figure, measurement.curves, measurement.views, measurement.cells, facts)
    return 0


def run_cells(name: str, cells: list[Cell]) -> int:
    """Run the cells that are not done, with the launcher of their configurations; the exit code."""
    missing = [cell for cell in cells if cell.config.force or len(cell.done) < len(cell.config.seeds)]
    print(f"{len(cells) - len(missing)} of {len(cells)} cells are done; {len(missing)} to run", flush=True)
    request, ended = StopRequest(), []
    runs = [(cell, config) for cell in missing for config in _configs(name, cell)]

    def on_result(index: int, outcomes: list[RunResult]) -> None:
        ended.extend(outcomes)
        (cell, config), words = runs[index], [outcome.status for outcome in outcomes]
        counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
        print(f"[{index + 1}/{len(runs)}] {cell.data}, {cell.label}, {config.seeds_text}: {counts}", flush=True)
        for outcome in outcomes:
            if outcome.status == "failed":
                print(f"failed: {outcome.run.folder}: {outcome.text} (traceback in error.txt)", file=sys.stderr)

    launch([config for _, config in runs], request, on_result)
    if request.number is not None:
        print("stopped on request; the same command resumes from the checkpoints", file=sys.stderr)
        return 128 + request.number
    return exit_code(ended)


def _configs(name: str, cell: Cell) -> list[RunConfig]:
    """The runs of a cell, as a launcher starts them: all seeds as one batch if task and distance can, else one by one."""
    config = cell.config
    if isinstance(getattr(config.task, "images", None), bool):  # of fifty cells nobody looks at each: the artifact has its own figure
        config = replace(config, task=replace(config.task, images=False))
    wandb = config.loggers.get("wandb")
    if hasattr(wandb, "labels"):
        wandb = replace(wandb, tags=[*wandb.tags, name], labels={**wandb.labels, label_of(name): cell.label})
        config = replace(config, loggers={**config.loggers, "wandb": wandb})
    batch = getattr(task_class(config.task.name), "batches_seeds", False) and _takes_all_seeds(config)
    return [config] if batch else [config.with_seeds([seed]) for seed in config.seeds]


def _takes_all_seeds(config: RunConfig) -> bool:
    """Whether the distance evaluates a batch of replicas; one from outside may take a single seed."""
    try:
        config.build_distance()
    except ValueError:
        return False
    return True


def _report_missing(cells: list[Cell], metric: str) -> None:
    """Say on stderr if the figure is drawn from a part of the runs."""
    for run, damage in ((cell.runs[seed], damage) for cell in cells for seed, damage in cell.damages().items()):
        print(f"aswd: the record in {run.folder} is damaged ({damage}) and left out", file=sys.stderr)
    wanted, done = sum(len(cell.config.seeds) for cell in cells), sum(len(cell.done) for cell in cells)
    without = done - sum(len(cell.values(metric)) for cell in cells)
    if without:
        why = "they were run without it, or by another version"
        print(f"aswd: {without} runs have no {metric} and are left out: {why} (force=true runs them again)", file=sys.stderr)
    if done < wanted:
        print(f"aswd: drawn with {done} of {wanted} runs; the same command runs the rest, unless another process does", file=sys.stderr)


def facts(cells: list[Cell]) -> dict[str, Any]:
    """Time, devices, revisions, versions and settings of the runs."""
    done = [cell.runs[seed].result for cell in cells for seed in cell.done]
    return {
        "wall_time": sum(result["wall_time"] / result["replicas"] for result in done),
        "devices": sorted({result["device"] for result in done}),
        "revisions": sorted({str(result["revision"]) for result in done}),
        "versions": done[-1]["versions"],
        "settings": {cell.label: mask_options(cell.config.plain()) for cell in cells if cell.data == cells[0].data},
    }


def _curves(cells: list[Cell], metric: str) -> pandas.DataFrame:
    """Mean and band of the metric at every step of every cell."""
    parts = []
    for cell in cells:
        curves = cell.curves(metric)
        if curves is not None:
            steps, values = curves
            mean, low, high = mean_and_band(values, axis=1)
            columns = {"step": steps, "mean": mean, "low": low, "high": high, "n": values.shape[1]}
            parts.append(pandas.DataFrame({"data": cell.data, "label": cell.label, **columns}))
    return pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame()
