"""The final values of an artifact beside the published ones, as a frame, Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas

from aswd.artifacts.declaration import Artifact
from aswd.artifacts.groups import Runs
from aswd.artifacts.results import Numbers
from aswd.utils.statistics import mean_and_band, stuck
from aswd.utils.tables import table as aligned

STATISTICS = ["mean", "standard_error", "low", "high", "median", "stuck"]
COLUMNS = ["data", "label", "metric", "n", "of", "failed", "damaged", *STATISTICS, "published", "folder"]


def table(artifact: Artifact, cells: Sequence[Runs | Numbers]) -> pandas.DataFrame:
    """One row per cell and metric: what :func:`statistics` says of the final values, published value, difference."""
    rows = [
        {"data": cell.data, "label": cell.label, "metric": metric, "of": len(cell.seeds)}
        | {"failed": len(cell.failures()), "damaged": len(cell.damages()), "folder": cell.folder}
        | {"published": artifact.published_value(cell.data, cell.label, metric)}
        | statistics(list(cell.values(metric).values()), metric)
        for metric in (artifact.metric, *artifact.also)
        for cell in cells
    ]
    frame = pandas.DataFrame(rows).reindex(columns=COLUMNS)
    frame["difference"] = frame["mean"] - pandas.to_numeric(frame["published"])
    return frame


def statistics(values: Sequence[float], metric: str) -> dict[str, Any]:
    """Number, mean, standard error, 95 % t-interval and median; of a logarithm to base ten also how many values are stuck."""
    values = np.array(values, dtype=float)
    row: dict[str, Any] = {"n": len(values)}
    if len(values):
        mean, low, high = (float(value) for value in mean_and_band(values))
        error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
        row |= {"mean": mean, "standard_error": error, "low": low, "high": high, "median": float(np.median(values))}
        row["stuck"] = int(stuck(values).sum()) if metric.startswith("log10_") else np.nan
    return row


def markdown(frame: pandas.DataFrame) -> str:
    """One table per metric, with one row per series and one column per data set: our value, n and the published value."""
    parts = []
    for metric, part in frame.groupby("metric", sort=False):
        data = list(dict.fromkeys(part["data"]))
        lines = ["| " + " | ".join(map(escape_markdown, [metric, *data])) + " |", "|---" * (len(data) + 1) + "|"]
        lines += ["| " + " | ".join([escape_markdown(label), *entries]) + " |" for label, entries in _entries(part, data)]
        parts.append("\n".join([*lines, *(["", note] if (note := damage_note(part)) else [])]) + "\n")
    return "\n".join(parts)


def summary(frame: pandas.DataFrame) -> str:
    """The means of the first metric for a terminal: one row per series, one column per data set."""
    part = frame[frame["metric"] == frame["metric"].iloc[0]]
    data = list(dict.fromkeys(part["data"]))
    rows = [(str(label), *(_mean(group[group["data"] == name]) for name in data)) for label, group in part.groupby("label", sort=False)]
    return aligned((f"mean {part['metric'].iloc[0]}", *data), rows)


def _mean(rows: pandas.DataFrame) -> str:
    return number(rows["mean"].iloc[0]) if len(rows) and rows["n"].iloc[0] else "-"


def latex(frame: pandas.DataFrame, caption: str) -> str:
    """The same with ``booktabs``."""
    parts = []
    for metric, part in frame.groupby("metric", sort=False):
        data = list(dict.fromkeys(part["data"]))
        lines = [r"\begin{table}", rf"\caption{{{escape_latex(caption)}}}", rf"\begin{{tabular}}{{l{'r' * len(data)}}}", r"\toprule"]
        lines += [" & ".join(map(escape_latex, [metric, *data])) + r" \\", r"\midrule"]
        lines += [" & ".join(map(escape_latex, [label, *entries])) + r" \\" for label, entries in _entries(part, data)]
        parts.append("\n".join([*lines, r"\bottomrule", r"\end{tabular}", *filter(None, [damage_note(part)]), r"\end{table}"]) + "\n")
    return "\n".join(parts)


def damage_note(part: pandas.DataFrame) -> str:
    """What is missing in the rows of a metric because records are damaged; nothing if none is."""
    n, of, damaged = (int(part[name].sum()) for name in ("n", "of", "damaged"))
    return f"n = {n} of {of}; {damaged} damaged record{'s' if damaged > 1 else ''} left out" if damaged else ""


def _entries(part: pandas.DataFrame, data: list[str]) -> list[tuple[str, list[str]]]:
    rows = []
    for label, group in part.groupby("label", sort=False):
        entries = group.set_index("data")
        rows.append((str(label), [entry(entries.loc[name]) if name in entries.index else "" for name in data]))
    return rows


def entry(row: pandas.Series) -> str:
    """Mean, standard error, n, how many of them are stuck, and the published value in brackets."""
    if not row["n"]:
        return "failed" if row["failed"] else "damaged" if row["damaged"] else "-"
    error = f" ± {number(row['standard_error'], row['mean'])}" if row["n"] > 1 else ""
    published = f" [{row['published']:g}]" if pandas.notna(row["published"]) else ""
    seeds = f"n={row['n']} of {row['of']}, {row['damaged']} damaged" if row["damaged"] else f"n={row['n']}"
    stuck_seeds = f", {row['stuck']:.0f} stuck" if pandas.notna(row["stuck"]) and row["stuck"] else ""
    return f"{number(row['mean'])}{error} ({seeds}{stuck_seeds}){published}"


def number(value: float, beside: float | None = None) -> str:
    """A number with two decimals, or with three digits if it, or what it stands ``beside``, is smaller than 0.1.

    >>> number(21.456), number(0.00123456), number(0.01, beside=3.0)
    ('21.46', '0.00123', '0.01')
    """
    return f"{value:.2f}" if abs(value if beside is None else beside) >= 0.1 or value == 0 else f"{value:.3g}"


def escape_latex(text: str) -> str:
    """Text for LaTeX.

    >>> escape_latex("50 % of {x_1} ± #2")
    '50 \\\\% of \\\\{x\\\\_1\\\\} $\\\\pm$ \\\\#2'
    """
    special = {"\\": r"\textbackslash{}", "±": r"$\pm$", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(character, f"\\{character}" if character in "_%&#${}" else character) for character in text)


def escape_markdown(text: str) -> str:
    """Text for a line of Markdown or a cell of its tables: no HTML, no link, no heading.

    >>> print(escape_markdown("a|b <i>"), escape_markdown("[x](y)"))
    a\\|b &lt;i&gt; \\[x\\](y)
    """
    line = " ".join(str(text).split())
    return re.sub(r"[\\`*\[\]#|]", r"\\\g<0>", line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def markdown_code(text: str) -> str:
    """Text as a code span, whatever backticks it has.

    >>> markdown_code("a `b`")
    '`` a `b` ``'
    """
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    inner = " ".join(text.split())
    return f"{fence} {inner} {fence}" if "`" in text else f"`{inner}`"
