"""What an artifact came to: our numbers beside the published ones, as a frame, Markdown and LaTeX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact
from aswd.utils.statistics import mean_and_band

COLUMNS = ["data", "label", "metric", "n", "of", "failed", "mean", "standard_error", "low", "high", "published", "folder"]


def table(artifact: Artifact, found: list[Cell]) -> pandas.DataFrame:
    """One row a cell and metric: seeds done, mean, standard error, 95 % interval of the final value, the published one, the difference."""
    return _frame(
        [
            _row(cell.data, cell.label, metric, cell.finals(metric), len(cell.spec.seeds))
            | {
                "failed": len(cell.failures()),
                "published": artifact.published_value(cell.data, cell.label, metric),
                "folder": str(cell.spec.folder),
            }
            for metric in (artifact.metric, *artifact.also)
            for cell in found
        ]
    )


def rows(data: str, finals: dict[str, dict[int, float]], of: int, metric: str) -> pandas.DataFrame:
    """The same from the values of every seed under each label, where the store has no runs of it."""
    return _frame([_row(data, label, metric, values, of) | {"failed": 0} for label, values in finals.items()])


def _row(data: str, label: str, metric: str, finals: dict[int, float], of: int) -> dict[str, Any]:
    values = np.array(list(finals.values()))
    row = {"data": data, "label": label, "metric": metric, "n": len(values), "of": of}
    if len(values):
        mean, low, high = (float(value) for value in mean_and_band(values))
        error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
        row |= {"mean": mean, "standard_error": error, "low": low, "high": high}
    return row


def _frame(content: list[dict[str, Any]]) -> pandas.DataFrame:
    frame = pandas.DataFrame(content).reindex(columns=COLUMNS)
    frame["difference"] = frame["mean"] - pandas.to_numeric(frame["published"])
    return frame


def markdown(frame: pandas.DataFrame) -> str:
    """For every metric a table with one row a series and one column a data set: ours, n and the published value."""
    parts = []
    for metric, part in frame.groupby("metric", sort=False):
        data = list(dict.fromkeys(part["data"]))
        lines = [f"| {metric} | " + " | ".join(data) + " |", "|---" * (len(data) + 1) + "|"]
        lines += [f"| {label} | " + " | ".join(entries) + " |" for label, entries in _entries(part, data)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def latex(frame: pandas.DataFrame, caption: str) -> str:
    """The same with ``booktabs``."""
    parts = []
    for metric, part in frame.groupby("metric", sort=False):
        data = list(dict.fromkeys(part["data"]))
        lines = [r"\begin{table}", rf"\caption{{{escaped(caption)}}}", rf"\begin{{tabular}}{{l{'r' * len(data)}}}", r"\toprule"]
        lines += [" & ".join(map(escaped, [metric, *data])) + r" \\", r"\midrule"]
        lines += [" & ".join(map(escaped, [label, *entries])) + r" \\" for label, entries in _entries(part, data)]
        parts.append("\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n")
    return "\n".join(parts)


def _entries(part: pandas.DataFrame, data: list[str]) -> list[tuple[str, list[str]]]:
    found = []
    for label, group in part.groupby("label", sort=False):
        entries = group.set_index("data")
        found.append((str(label), [entry(entries.loc[name]) if name in entries.index else "" for name in data]))
    return found


def entry(row: pandas.Series) -> str:
    """Mean, standard error, n, and the published value in brackets."""
    if not row["n"]:
        return "failed" if row["failed"] else "-"
    error = f" ± {row['standard_error']:.2f}" if row["n"] > 1 else ""
    published = f" [{row['published']:g}]" if pandas.notna(row["published"]) else ""
    return f"{row['mean']:.2f}{error} (n={row['n']}){published}"


def escaped(text: str) -> str:
    """For LaTeX."""
    for plain, replacement in (("\\", r"\textbackslash{}"), ("_", r"\_"), ("%", r"\%"), ("&", r"\&"), ("±", r"$\pm$")):
        text = text.replace(plain, replacement)
    return text
