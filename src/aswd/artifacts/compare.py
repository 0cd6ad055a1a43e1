"""``aswd compare``: any runs of the store in one figure and one table, also beside the published values of an artifact."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas
from matplotlib.figure import Figure

from aswd.artifacts import tables
from aswd.artifacts.declaration import Artifact, Series, load
from aswd.artifacts.drawing.curves import panels
from aswd.artifacts.groups import RunGroup
from aswd.config.changes import differing_options, options_text
from aswd.runs import Run, records, select
from aswd.utils.checks import nearest
from aswd.utils.errors import UserError
from aswd.utils.files import check_writable, write_atomically, write_text
from aswd.utils.tables import table

_SHOWN = ["n", "mean", "low", "high", "median", "stuck"]


def compare(
    output_dir: Path, filters: Sequence[str], metric: str | None = None, published: str | None = None, config_dirs: Sequence[str] = ()
) -> Path:
    """Write ``figure.png``, ``figure.pdf``, ``table.csv`` and ``table.md`` of the finished runs that pass the filters, and print the table.

    Args:
        output_dir: of the store.
        filters: ``column=value,value`` of the table of records.
        metric: of the runs; default: the headline of their task, or the metric of the artifact.
        published: name of an artifact, beside whose published values the runs are set cell by cell.
        config_dirs: folders with artifacts of the user's.

    Returns:
        The folder of the results, ``compare/<name>``.

    Raises:
        UserError: there are no such runs, they are of several tasks, or have no such metric; the artifact has no published values, or
            none of the runs is of one.
    """
    artifact = None if published is None else load(published, config_dirs)
    filters = [*filters, *([] if artifact is None else [f"task={artifact.task}"])]
    frame = select(records(output_dir), filters)
    frame = frame[frame["state"] == "done"]
    if frame.empty:
        raise UserError(f"there are no finished runs in {output_dir} with {' '.join(filters) or 'any options'}: aswd list runs")
    if (tasks := sorted(set(frame["task"]))) != tasks[:1]:
        raise UserError(f"the runs must be of one task; got {', '.join(tasks)}: add task={tasks[0]}, for example")
    metric = _metric(frame, metric, artifact)
    check_writable(output_dir)
    groups = _groups(frame)
    rows = _rows(groups, frame, metric) if artifact is None else _beside(artifact, groups, frame, metric)
    heading = " ".join([*filters, f"[{metric}]"]) if artifact is None else f"{artifact.caption}: ours and published {metric}"
    figure = panels(list(groups.values()), [metric], heading) if artifact is None else _scatter(rows, metric, heading)
    name = hashlib.sha256(repr((sorted(filters), metric, published)).encode()).hexdigest()[:8]
    folder = Path(output_dir, "compare", name if artifact is None else f"{artifact.name}-{name}")
    for file in ("figure.png", "figure.pdf"):
        write_atomically(folder / file, lambda partial: figure.savefig(partial, dpi=110))
    write_text(folder / "table.csv", rows.to_csv(index=False))
    write_text(folder / "table.md", _markdown(rows))
    print(heading)
    print(table(tuple(rows.columns), _texts(rows)))
    return folder


def _metric(frame: pandas.DataFrame, metric: str | None, artifact: Artifact | None) -> str:
    """The metric, if the runs have it."""
    if metric is None and artifact is not None:
        metric = artifact.metric
    if metric is None:
        headline = str(frame["headline"].iloc[0])
        metric = f"log10_{headline}" if f"log10_{headline}" in frame else headline
    if metric not in frame or not pandas.api.types.is_numeric_dtype(frame[metric]):
        numbers = [name for name in frame.columns if pandas.api.types.is_numeric_dtype(frame[name])]
        raise UserError(f"--metric must be a number that the runs have; got {metric!r}: {nearest(metric, numbers)}")
    return metric


def _groups(frame: pandas.DataFrame) -> dict[tuple[str, str], RunGroup]:
    """The seeds of every configuration, by data set and key, labelled by the distance and the options that differ among its runs."""
    groups = {}
    for (data, distance), alike in frame.groupby(["data", "distance"], sort=True):
        identities = dict(zip(alike["key"], alike["identity"], strict=True))
        options = dict(zip(identities, map(options_text, differing_options(identities.values())), strict=True))
        for key in sorted(options, key=lambda key: options[key]):
            group = alike[alike["key"] == key]
            runs = {row.seed: Run(Path(row.folder)) for row in group.sort_values("seed").itertuples()}
            groups[data, key] = RunGroup(data, f"{distance} {options[key]}".strip(), runs)
    return groups


def _rows(groups: dict[tuple[str, str], RunGroup], frame: pandas.DataFrame, metric: str) -> pandas.DataFrame:
    """One row per configuration."""
    found = [{"data": group.data, "runs": group.label, **_statistics(frame, key, metric)} for (_, key), group in groups.items()]
    return pandas.DataFrame(found).reindex(columns=["data", "runs", *_SHOWN])


def _statistics(frame: pandas.DataFrame, key: str, metric: str) -> dict[str, float]:
    return tables.statistics(frame.loc[frame["key"] == key, metric].dropna().tolist(), metric)


def _beside(artifact: Artifact, groups: dict[tuple[str, str], RunGroup], frame: pandas.DataFrame, metric: str) -> pandas.DataFrame:
    """One row per published value and configuration of its series; of none where there are no such runs."""
    found = []
    for data in artifact.data:
        for series in artifact.series:
            value = artifact.published_value(data, series.label, metric)
            if value is None:
                continue
            keys = _keys_of(series, frame[frame["data"] == data])
            for key in keys or [None]:
                ours = {"runs": "", "n": 0} if key is None else {"runs": groups[data, key].label, **_statistics(frame, key, metric)}
                difference = ours.get("mean", np.nan) - value
                found.append({"data": data, "series": series.label, "published": value, **ours, "difference": difference})
    if not found:
        raise UserError(f"--published must be an artifact with published values of {metric}; {artifact.name} has none")
    if not any(row["n"] for row in found):
        raise UserError(f"no run has the data and the series of a value that is published in {artifact.name}: aswd list runs")
    return pandas.DataFrame(found).reindex(columns=["data", "series", "runs", *_SHOWN, "published", "difference"])


def _keys_of(series: Series, frame: pandas.DataFrame) -> list[str]:
    """The configurations with the distance and the options of a series."""
    options = [override.lstrip("+~") for override in series.overrides]
    if any(option.partition("=")[0] not in frame for option in options):
        return []
    return list(dict.fromkeys(select(frame, [f"distance={series.distance}", *options])["key"]))


def _scatter(rows: pandas.DataFrame, metric: str, heading: str) -> Figure:
    """Ours against published, with 95 % intervals, by series."""
    figure = Figure(figsize=(8.5, 6.5), layout="constrained")
    axes = figure.subplots()
    for index, (label, own) in enumerate(rows[rows["n"] > 0].groupby("series", sort=False)):
        bars = own[["mean", "low", "high"]].diff(axis=1).abs().iloc[:, 1].fillna(0)
        axes.errorbar(own["published"], own["mean"], bars, fmt="os^v"[index // 10 % 4], color=f"C{index % 10}", capsize=2, label=label)
    ends = rows[["published", "mean"]].min().min(), rows[["published", "mean"]].max().max()
    axes.plot(ends, ends, color="0.6", linewidth=0.8, zorder=0)
    axes.set(xlabel=f"published {metric}", ylabel=f"ours (mean, 95 % interval, n = {_range(rows)})", title=heading)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right center", fontsize=9)
    return figure


def _range(rows: pandas.DataFrame) -> str:
    counts = rows.loc[rows["n"] > 0, "n"]
    return f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"


def _texts(rows: pandas.DataFrame) -> list[tuple[str, ...]]:
    """Every entry as people read it."""

    def text(value: object) -> str:
        return value if isinstance(value, str) else "-" if pandas.isna(value) else f"{value:.0f}" if value == int(value) else f"{value:.3g}"

    return [tuple(text(value) for value in row) for row in rows.itertuples(index=False)]


def _markdown(rows: pandas.DataFrame) -> str:
    lines = [tuple(rows.columns), ("---",) * rows.shape[1], *_texts(rows)]
    return "\n".join("| " + " | ".join(map(tables.escape_markdown, line)) + " |" for line in lines) + "\n"
