"""``aswd reproduce``: run what is missing of an artifact, draw what is there, judge the claims."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas

from aswd.artifacts import tables
from aswd.artifacts.cells import Cell, cells
from aswd.artifacts.claims import judge
from aswd.artifacts.declaration import load
from aswd.artifacts.forecast import forecast
from aswd.artifacts.kinds import kind, needs_no_runs
from aswd.artifacts.page import Page
from aswd.config.run import RunConfig
from aswd.distances import READINGS
from aswd.launchers.launch import launch
from aswd.runs.execution import Outcome
from aswd.runs.provenance import provenance
from aswd.runs.signals import StopRequest
from aswd.runs.store import Run
from aswd.tasks.registry import task_class
from aswd.tracking.naming import label_of
from aswd.utils.errors import UserError
from aswd.utils.files import check_writable
from aswd.utils.statistics import mean_and_band


def reproduce(name: str, scale: str, reading: str, output_dir: Path, overrides: list[str], dry_run: bool) -> int:
    """Make an artifact; the exit code is 0, 1 where a run failed, 128 + n where it was stopped by signal n.

    Raises:
        UserError: no such artifact, scale or option.
    """
    page = Page(load(name), scale, reading, overrides, Path(output_dir))
    if needs_no_runs(page.artifact.draw):
        return _measure(page, dry_run)
    found = cells(page.artifact, scale, reading, str(output_dir), overrides)
    if dry_run:
        print(forecast(found, output_dir))
        return 0
    check_writable(output_dir)
    code = _run(page.artifact.name, found)
    frame = tables.table(page.artifact, found)
    if not frame["n"].any():
        print(f"aswd reproduce: nothing of {name} is done yet, so there is nothing to draw", file=sys.stderr)
        return code or int(getattr(found[0].spec.launcher, "wait", True))  # who does not wait for jobs has what was asked for
    _say_what_is_missing(found, page.artifact.metric)
    figure = kind(page.artifact.draw).draw(page.artifact, found, page.heading)
    page.write(figure, frame, _curves(found, page.artifact.metric), judge(page.artifact.claims, found, page.artifact.metric), _facts(found))
    return code


def _measure(page: Page, dry_run: bool) -> int:
    """An artifact that is measured on the distances themselves."""
    if page.reading not in READINGS:
        raise UserError(f"reading must be one of {', '.join(map(repr, READINGS))}; got {page.reading!r}")
    scale = page.artifact.scale(page.scale)
    if page.overrides:
        raise UserError(f"{page.overrides[0]} must be left out: {page.artifact.name} has no runs that it could change")
    if dry_run:
        labels = ", ".join(series.label for series in page.artifact.series)
        print(f"{scale.seeds} seeds of {labels}, measured without runs in the store")
        return 0
    check_writable(page.output_dir)
    start = time.perf_counter()
    found = kind(page.artifact.draw).measure(page.artifact, scale, page.reading, page.heading)
    facts = {"wall_time": time.perf_counter() - start, **provenance(), "settings": asdict(scale)}
    page.write(found.figure, found.table, found.curves, found.verdicts, facts)
    return 0


def _run(name: str, found: list[Cell]) -> int:
    """Run the cells that are not done, with the launcher that their overrides name."""
    missing = [cell for cell in found if cell.spec.force or len(cell.done) < len(cell.spec.seeds)]
    print(f"{len(found) - len(missing)} of {len(found)} cells are done; {len(missing)} to run", flush=True)
    request, ended = StopRequest(), []
    runs = [(cell, spec) for cell in missing for spec in _runs(name, cell)]

    def tell(place: int, outcomes: list[Outcome]) -> None:
        ended.extend(outcomes)
        (cell, spec), words = runs[place], [one.word for one in outcomes]
        counted = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
        print(f"[{place + 1}/{len(runs)}] {cell.data}, {cell.label}, {spec.seeds_text}: {counted}", flush=True)
        for one in outcomes:
            if one.word == "failed":
                print(f"failed: {one.run.folder}: {one.text} (the traceback is in its error.txt)", file=sys.stderr)

    launch([spec for _, spec in runs], request, tell)
    if request.number is not None:
        print("stopped as asked; the same command goes on from the checkpoint", file=sys.stderr)
        return 128 + request.number
    return 1 if any(one.word == "failed" for one in ended) else 0


def _runs(name: str, cell: Cell) -> list[RunConfig]:
    """What a launcher is to start for a cell: its seeds together where the task makes one batch of them, else one by one."""
    spec, logger = cell.spec, cell.spec.logger
    labelled = replace(logger, tags=[*logger.tags, name], labels={**logger.labels, label_of(name): cell.label})
    # Fifty pictures of single cells are looked at by nobody: the artifact has its own.
    spec = replace(spec, task=replace(spec.task, pictures=False), logger=labelled)
    return [spec] if task_class(spec.task.name).batches_seeds else [spec.with_seeds([seed]) for seed in spec.seeds]


def _say_what_is_missing(found: list[Cell], metric: str) -> None:
    """A picture of a part says that it is one."""
    wanted, done = sum(len(cell.spec.seeds) for cell in found), sum(len(cell.done) for cell in found)
    strange = done - sum(len(cell.finals(metric)) for cell in found)
    if strange:
        why = "they were run without it, or by another version"
        print(f"aswd: {strange} runs have no {metric} and are left out of it: {why} (force=true runs them again)", file=sys.stderr)
    if done < wanted:
        print(f"aswd: drawn with {done} of {wanted} runs; the same command runs the rest that no other process is at", file=sys.stderr)


def _facts(found: list[Cell]) -> dict[str, Any]:
    """Under what provenance the runs were made."""
    done = [Run.of(cell.spec, seed).result for cell in found for seed in cell.done]
    return {
        "wall_time": sum(result["wall_time"] / result["replicas"] for result in done),
        "devices": sorted({result["device"] for result in done}),
        "revisions": sorted({str(result["revision"]) for result in done}),
        "versions": done[-1]["versions"],
        "settings": {cell.label: cell.spec.plain() for cell in found if cell.data == found[0].data},
    }


def _curves(found: list[Cell], metric: str) -> pandas.DataFrame:
    """Mean and band of the metric at every step of every cell that is there."""
    parts = []
    for cell in found:
        curves = cell.curves(metric)
        if curves is not None:
            steps, values = curves
            mean, low, high = mean_and_band(values, axis=1)
            columns = {"step": steps, "mean": mean, "low": low, "high": high, "n": values.shape[1]}
            parts.append(pandas.DataFrame({"data": cell.data, "label": cell.label, **columns}))
    return pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame()
