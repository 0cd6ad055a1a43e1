"""The store as pandas frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aswd.runs.store import Run, RunState, read_result
from aswd.utils.checks import nearest
from aswd.utils.errors import UserError
from aswd.utils.progress import progress_bar

if TYPE_CHECKING:
    import pandas


def runs(output_dir: str | Path = "outputs") -> Iterator[Run]:
    """All runs of the store in ``output_dir``, in order of their folders."""
    folders = [folder for folder in Path(output_dir, "runs").glob("*/*/*/*/seed=*") if folder.name.removeprefix("seed=").isdecimal()]
    for folder in sorted(folders, key=lambda f: (f.parent, int(f.name.removeprefix("seed=")))):
        yield Run(folder)


def records(output_dir: str | Path = "outputs") -> pandas.DataFrame:
    """One row per run: task, data, distance, key, seed, state, folder, the reason of a failure or what is damaged; for finished runs also
    their final metrics (under their own names), options (``distance.penalty``), all that is in their key (``identity``) and provenance.
    """
    import pandas

    columns = ["task", "data", "distance", "key", "seed", "state", "folder", "reason"]
    frame = pandas.DataFrame([_row(run) for run in progress_bar(list(runs(output_dir)), what="reading records", unit="run")])
    return frame.reindex(columns=[*columns, *(c for c in frame.columns if c not in columns)])


def _row(run: Run) -> dict[str, Any]:
    task, data, distance, key = run.folder.parts[-5:-1]
    record = run.record
    state = RunState.DONE if record == run.folder else run.state
    reason = run.status["reason"] if state is RunState.FAILED else None
    if state is RunState.DAMAGED:
        reason = f"{run.damage()}; the next start executes the run again"
    elif record is not None and state is not RunState.DONE:
        reason = f"finished before; executed again: {state}" + (f", {reason}" if reason else "")
        state = RunState.DONE
    row = {"task": task, "data": data, "distance": distance, "key": key, "seed": run.seed, "state": str(state), "folder": str(run.folder)}
    row["reason"] = reason
    for name, value in read_result(record).items():
        if name == "final":
            row |= value
        elif name == "identity":
            row[name] = value
        elif name == "settings":
            row |= {f"{section}.{option}": content for section, options in value.items() for option, content in options.items()}
        elif isinstance(value, dict):
            row |= {f"{name}.{inner}": content for inner, content in value.items()}
        elif name not in row:
            row[name] = value
    return row


def curves(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The metrics at every step of the finished runs in ``frame`` (rows of :func:`records`), with task, data, distance, key."""
    import pandas

    parts = []
    for row in frame[frame["state"] == "done"].itertuples():
        if (run := Run(Path(row.folder))).record is not None:
            parts.append(run.metrics().assign(task=row.task, data=row.data, distance=row.distance, key=row.key))
    return pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame()


def select(frame: pandas.DataFrame, filters: Iterable[str]) -> pandas.DataFrame:
    """The rows whose columns have one of the given values.

    Args:
        frame: rows of :func:`records`.
        filters: ``COLUMN=VALUE[,VALUE]``.

    Raises:
        UserError: there is no such column.
    """
    for one in filters:
        column, _, values = one.partition("=")
        if column not in frame and not frame.empty:
            raise UserError(f"{column} is not a column of the runs: {nearest(column, list(frame.columns))}")
        wanted = values.split(",")
        frame = frame[frame[column].map(lambda cell, wanted=wanted: _is_one_of(cell, wanted)).astype(bool)]
    return frame


def _is_one_of(cell: Any, wanted: list[str]) -> bool:
    """By the text, or by the number that it stands for."""
    if str(cell).lower() in (value.lower() for value in wanted):
        return True
    return any(number is not None and number == _number(cell) for number in map(_number, wanted))


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
