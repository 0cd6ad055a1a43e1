"""What an artifact came to: our numbers beside the published ones, as a frame, Markdown and LaTeX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact
from aswd.results.statistics import mean_and_band


def table(artifact: Artifact, found: list[Cell]) -> pandas.DataFrame:
    """One row a cell: seeds done, mean, standard error, 95 % interval of the final metric, the published value, and the difference."""
    return _frame(
        [
            _row(cell.data, cell.label, cell.finals(artifact.metric), len(cell.spec.seeds))
            | {
                "failed": len(cell.failures()),
                "published": artifact.published_value(cell.data, cell.label),
                "folder": str(cell.spec.folder),
            }
            for cell in found
        ]
    )


def rows(data: str, finals: dict[str, dict[int, float]], of: int) -> pandas.DataFrame:
    """The same from the values of every seed under each label, where the store has no runs of it."""
    return _frame([_row(data, label, values, of) | {"failed": 0} for label, values in finals.items()])


def _row(data: str, label: str, finals: dict[int, float], of: int) -> dict[str, Any]:
    values = np.array(list(finals.values()))
    row = {"data": data, "label": label, "n": len(values), "of": of}
    if len(values):
        mean, low, high = (float(value) for value in mean_and_band(values))
        error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
        row |= {"mean": mean, "standard_error": error, "low": low, "high": high}
    return row


def _frame(content: list[dict[str, Any]]) -> pandas.DataFrame:
    columns = ["data", "label", "n", "of", "failed", "mean", "standard_error", "low", "high", "published", "folder"]
    frame = pandas.DataFrame(content).reindex(columns=columns)
    frame["difference"] = frame["mean"] - pandas.to_numeric(frame["published"])
    return frame


def markdown(frame: pandas.DataFrame) -> str:
    """The table with one row a series and one column a data set: ours, n and the published value."""
    data = list(dict.fromkeys(frame["data"]))
    lines = ["| | " + " | ".join(data) + " |", "|---" * (len(data) + 1) + "|"]
    for label, group in frame.groupby("label", sort=False):
        entries = group.set_index("data")
        lines.append(f"| {label} | " + " | ".join(_entry(entries.loc[name]) for name in data) + " |")
    return "\n".join(lines) + "\n"


def latex(frame: pandas.DataFrame, caption: str) -> str:
    """The same with ``booktabs``."""
    data = list(dict.fromkeys(frame["data"]))
    lines = [r"\begin{table}", rf"\caption{{{_escaped(caption)}}}", rf"\begin{{tabular}}{{l{'r' * len(data)}}}", r"\toprule"]
    lines += [" & ".join(["", *map(_escaped, data)]) + r" \\", r"\midrule"]
    for label, group in frame.groupby("label", sort=False):
        entries = group.set_index("data")
        lines.append(" & ".join([_escaped(label), *(_escaped(_entry(entries.loc[name])) for name in data)]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def _entry(row: pandas.Series) -> str:
    if not row["n"]:
        return "failed" if row["failed"] else "-"
    error = f" ± {row['standard_error']:.2f}" if row["n"] > 1 else ""
    published = f" [{row['published']:g}]" if pandas.notna(row["published"]) else ""
    return f"{row['mean']:.2f}{error} (n={row['n']}){published}"


def _escaped(text: str) -> str:
    for plain, escaped in (("\\", r"\textbackslash{}"), ("_", r"\_"), ("%", r"\%"), ("&", r"\&"), ("±", r"$\pm$")):
        text = text.replace(plain, escaped)
    return text
