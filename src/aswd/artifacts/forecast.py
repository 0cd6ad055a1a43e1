"""How long the rest of an artifact will take, by what similar runs in the store took."""

from __future__ import annotations

from pathlib import Path

import pandas

from aswd.artifacts.cells import Cell
from aswd.runs import records
from aswd.utils.tables import table


def forecast(found: list[Cell], output_dir: Path) -> str:
    """The cells with what is missing, and the time that it takes by what similar runs in the store took."""
    known = records(output_dir)
    rows, total, unknown = [], 0.0, 0
    for cell in found:
        missing = len(cell.spec.seeds) - len(cell.done)
        seconds = _seconds_per_seed(cell, known) if missing else 0.0
        unknown += seconds is None
        total += missing * (seconds or 0.0)
        time = "?" if seconds is None else f"{missing * seconds:.0f} s"
        rows.append((cell.data, cell.label, f"{len(cell.done)}/{len(cell.spec.seeds)}", time))
    rest = f", and {unknown} cells of which the store knows nothing like" if unknown else ""
    return table(("data", "series", "done", "time"), rows) + f"\nabout {total / 60:.0f} minutes{rest}"


def _seconds_per_seed(cell: Cell, known: pandas.DataFrame) -> float | None:
    """By runs of the same task and distance with as many directions and samples and networks of the same size, whatever their data."""
    spec = cell.spec
    alike = {"state": "done", "task": spec.task.name, "distance": spec.distance_name}
    if hasattr(spec.data, "num_samples"):
        alike["data.num_samples"] = spec.data.num_samples
    alike |= {f"task.{name}": getattr(spec.task, name) for name in ("batch_size", "width") if hasattr(spec.task, name)}
    if "num_projections" in spec.distance:
        alike["distance.num_projections"] = spec.distance["num_projections"]
    for column, value in alike.items():
        known = known[known[column] == value] if column in known else known[:0]
    if known.empty:
        return None
    pace = known["wall_time"] / known["replicas"] / known["steps"]
    steps = getattr(spec.task, "iterations", None) or float(known["steps"].mean())
    return float(pace.mean()) * min(steps, spec.trainer.max_steps or steps)
