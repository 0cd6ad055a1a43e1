"""``aswd list``: what there is to choose from, and the runs of the store."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from aswd.utils.errors import UserError
from aswd.utils.tables import table

if TYPE_CHECKING:
    from pandas import DataFrame

    from aswd.utils.registry import Registry


def distances(config_dirs: tuple[str, ...] = ()) -> str:
    """Names of the distances, what they are, and the point of each on the five axes."""
    from aswd.distances import about, available, axes

    heading = ("distance", "description", "projection", "directions", "maximised", "aggregation", "slice cost")
    return table(heading, [(name, about(name), *axes(name)) for name in available()])


def data(config_dirs: tuple[str, ...] = ()) -> str:
    """Names of the data sets, and what they are."""
    from aswd.data.registry import DATA

    return _named(DATA, "data", config_dirs)


def tasks(config_dirs: tuple[str, ...] = ()) -> str:
    """Names of the tasks, and what they are."""
    from aswd.tasks.registry import TASKS

    return _named(TASKS, "task", config_dirs)


def artifacts(config_dirs: tuple[str, ...] = ()) -> str:
    """Names of the artifacts, by papers, and what they are in their paper."""
    from aswd.artifacts.declaration import artifacts as declared

    parts = []
    for paper, group in groupby(declared(config_dirs), key=lambda artifact: artifact.paper):
        rows = [(a.name, a.number, f"{len(a.data)} x {len(a.series)}", a.about) for a in group]
        listed = table(("artifact", "in the paper" if paper else "number", "cells", "description"), rows)
        parts.append(f"{paper.line}\n{listed}" if paper else listed)
    return "\n\n".join(parts)


def runs(output_dir: Path, failed: bool = False) -> str:
    """The runs in the store with their status, final metrics and the options in which runs of the same names differ; seeds of one
    configuration in one line where they share a status.
    """
    from aswd.runs import records

    frame = records(output_dir)
    if frame.empty:
        return f"no runs in {output_dir}: aswd train makes some"
    if failed:
        return _failures(frame[frame["state"].isin(["failed", "damaged"])])
    shown = [name for name in frame.columns if name.startswith("log10_")]
    rows = []
    for (task, name, distance), alike in frame.groupby(["task", "data", "distance"], sort=True):
        options = _options(alike)
        for (key, state), group in alike.groupby(["key", "state"], sort=True):
            finals = [f"{group[c].mean():.2f}" if group[c].notna().any() else "-" for c in shown]
            reasons = group["reason"].dropna().unique()
            rows.append((task, name, distance, key, options.get(key, ""), state, _ranges(group["seed"]), *finals, "; ".join(reasons[:2])))
    header = ("task", "data", "distance", "key", "options", "status", "seeds", *(f"mean {c}" for c in shown), "reason")
    return table(header, rows)


def _options(frame: DataFrame) -> dict[str, str]:
    """For every key the options in which its runs differ from the others of the frame; unknown for runs that are not done."""
    from aswd.config.changes import differing_options, options_text

    done = frame[frame["state"] == "done"]
    identities = dict(zip(done["key"], done["identity"], strict=True)) if "identity" in done else {}
    return dict(zip(identities, map(options_text, differing_options(identities.values())), strict=True))


def _named(registry: Registry, group: str, folders: tuple[str, ...]) -> str:
    """The names of a registry, and those of files in folders of plug-ins and of the user."""
    from aswd.utils.plugins import config_dirs

    rows = {name: registry[name].about or f"registered by {registry[name].module}" for name in registry}
    for path in (path for folder in (*config_dirs(), *folders) for path in sorted(Path(folder, group).glob("*.yaml"))):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        comments = [line.lstrip("# ").strip() for line in lines if line.startswith("#")]
        rows[path.stem] = next((line for line in comments if not line.startswith("@package")), str(path))
    return table((group, "description"), rows.items())


def _failures(frame: DataFrame) -> str:
    """Runs that failed or are damaged, one per line, with the reason and the folder, where the traceback is."""
    if frame.empty:
        return "no run has failed"
    rows = [(row.task, row.data, row.distance, row.seed, row.state, row.folder, row.reason) for row in frame.itertuples()]
    return table(("task", "data", "distance", "seed", "status", "folder", "reason"), rows)


def _ranges(seeds: Iterable[int]) -> str:
    """0-4, 7 for 0, 1, 2, 3, 4, 7."""
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and seed == parts[-1][1] + 1:
            parts[-1][1] = seed
        else:
            parts.append([seed, seed])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)
