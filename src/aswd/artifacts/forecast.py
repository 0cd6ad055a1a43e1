"""Estimates how long the missing runs of an artifact will take, from similar runs in the store."""

from __future__ import annotations

from pathlib import Path

import pandas

from aswd.artifacts.cells import Cell
from aswd.runs import records
from aswd.utils.tables import table


def forecast(cells: list[Cell], output_dir: Path) -> str:
    """A table of the cells with their missing runs and the time that they need, as far as similar runs are in the store."""
    known = records(output_dir)
    rows, total, unknown = [], 0.0, 0
    for cell in cells:
        missing = len(cell.config.seeds) - (0 if cell.config.force else len(cell.done))
        seconds = _seconds_per_seed(cell, known) if missing else 0.0
        unknown += seconds is None
        total += missing * (seconds or 0.0)
        time = "?" if seconds is None else f"{missing * seconds:.0f} s"
        rows.append((cell.data, cell.label, f"{len(cell.done)}/{len(cell.config.seeds)}", time))
    rest = f", and {unknown} cells without similar runs in the store" if unknown else ""
    return table(("data", "series", "done", "time"), rows) + f"\nabout {total / 60:.0f} minutes{rest}"


def _seconds_per_seed(cell: Cell, known: pandas.DataFrame) -> float | None:
    """From runs of the same task and distance with the same numbers of directions and samples and the same network size, on any data."""
    config = cell.config
    similar = {"state": "done", "task": config.task.name, "distance": config.distance_name}
    if hasattr(config.data, "num_samples"):
        similar["data.num_samples"] = config.data.num_samples
    similar |= {f"task.{name}": getattr(config.task, name) for name in ("batch_size", "width") if hasattr(config.task, name)}
    if "num_projections" in config.distance:
        similar["distance.num_projections"] = config.distance["num_projections"]
    for column, value in similar.items():
        known = known[known[column] == value] if column in known else known[:0]
    if known.empty:
        return None
    pace = known["wall_time"] / known["replicas"] / known["steps"]
    steps = getattr(config.task, "iterations", None) or float(known["steps"].mean())
    return float(pace.mean()) * min(steps, config.trainer.max_steps or steps)
