"""``aswd list``: what there is to choose from, and what there is in the store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from aswd.utils.tables import table

if TYPE_CHECKING:
    from pandas import DataFrame


def distances() -> str:
    """Names of the distances and what they are, from the first line of their configurations."""
    from aswd.distances import available

    rows = [(name, _comment("distance", name)) for name in available()]
    return table(("distance", "what it is"), rows)


def data() -> str:
    """Names of the data."""
    from aswd.data.registry import DATA

    return table(("data", "what it is"), [(name, _comment("data", name)) for name in DATA])


def tasks() -> str:
    """Names of the tasks."""
    from aswd.tasks.registry import TASKS

    return table(("task", "what it is"), [(name, _comment("task", name)) for name in TASKS])


def artifacts() -> str:
    """Names of the artifacts, and what they are in the paper."""
    from aswd.artifacts.declaration import artifacts as declared

    rows = [(a.name, a.number, f"{len(a.data)} x {len(a.series)}", a.about) for a in declared()]
    return table(("artifact", "in the paper", "cells", "what it shows"), rows)


def runs(output_dir: Path, failed: bool = False) -> str:
    """The runs in the store with their states and final metrics; seeds of one key in one line where they share a state."""
    from aswd.runs import records

    frame = records(output_dir)
    if frame.empty:
        return f"no runs in {output_dir}: aswd train makes some"
    if failed:
        return _failures(frame[frame["state"].isin(["failed", "damaged"])])
    shown = [name for name in frame.columns if name.startswith("log10_")]
    rows = []
    for (task, name, distance, key, state), group in frame.groupby(["task", "data", "distance", "key", "state"], sort=True):
        finals = [f"{group[c].mean():.2f}" if group[c].notna().any() else "-" for c in shown]
        reasons = group["reason"].dropna().unique()
        rows.append((task, name, distance, key, state, _ranges(group["seed"]), *finals, "; ".join(reasons[:2])))
    return table(("task", "data", "distance", "key", "state", "seeds", *(f"mean {c}" for c in shown), "reason"), rows)


def _failures(frame: DataFrame) -> str:
    """Runs that failed or are damaged, one in a line, with the reason and the folder, where the traceback is."""
    if frame.empty:
        return "no run has failed"
    rows = [(row.task, row.data, row.distance, row.seed, row.state, row.folder, row.reason) for row in frame.itertuples()]
    return table(("task", "data", "distance", "seed", "state", "folder", "reason"), rows)


def _ranges(seeds: Iterable[int]) -> str:
    """0-4, 7 for 0, 1, 2, 3, 4, 7."""
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and seed == parts[-1][1] + 1:
            parts[-1][1] = seed
        else:
            parts.append([seed, seed])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)


def _comment(group: str, name: str) -> str:
    """The first comment of a configuration file."""
    from aswd.config.paths import config_dir

    path = config_dir() / group / f"{name}.yaml"
    if not path.exists():
        return "registered by another package"
    lines = [line.removeprefix("#").strip() for line in path.read_text().splitlines() if line.startswith("#") and "@package" not in line]
    return lines[0].split(" null: ")[0] if lines else yaml.safe_load(path.read_text())["name"]
