"""What an artifact came to: our numbers beside the published ones, as a frame, Markdown and LaTeX."""

from __future__ import annotations

import numpy as np
import pandas

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact
from aswd.results.statistics import mean_and_band


def table(artifact: Artifact, found: list[Cell]) -> pandas.DataFrame:
    """One row a cell: seeds done, mean, standard error, 95 % interval of the final metric, the published value, and the difference."""
    rows = []
    for cell in found:
        finals = np.array(list(cell.finals(artifact.metric).values()))
        published = artifact.published_value(cell.data, cell.label)
        row = {"data": cell.data, "label": cell.label, "n": len(finals), "of": len(cell.spec.seeds), "failed": len(cell.failures())}
        if len(finals):
            mean, low, high = (float(value) for value in mean_and_band(finals))
            error = float(finals.std(ddof=1) / np.sqrt(len(finals))) if len(finals) > 1 else np.nan
            row |= {"mean": mean, "standard_error": error, "low": low, "high": high}
        rows.append(row | {"published": published, "folder": str(cell.spec.folder)})
    frame = pandas.DataFrame(rows).reindex(
        columns=["data", "label", "n", "of", "failed", "mean", "standard_error", "low", "high", "published", "folder"]
    )
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
