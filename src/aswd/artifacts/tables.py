"""The final values of an artifact beside the published ones, as a frame, Markdown and LaTeX."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact
from aswd.utils.statistics import mean_and_band

COLUMNS = ["data", "label", "metric", "n", "of", "failed", "damaged", "mean", "standard_error", "low", "high", "published", "folder"]


def table(artifact: Artifact, cells: list[Cell]) -> pandas.DataFrame:
    """One row per cell and metric: seeds done, mean, standard error, 95 % interval of the final value, published value, difference."""
    return _frame(
        [
            _row(cell.data, cell.label, metric, cell.finals(metric), len(cell.config.seeds))
            | {
                "failed": len(cell.failures()),
                "damaged": len(cell.damages()),
                "published": artifact.published_value(cell.data, cell.label, metric),
                "folder": str(cell.config.folder),
            }
            for metric in (artifact.metric, *artifact.also)
            for cell in cells
        ]
    )


def rows(data: str, finals: dict[str, dict[int, float]], of: int, metric: str) -> pandas.DataFrame:
    """The same for an artifact without runs, from the values of every seed by label."""
    return _frame([_row(data, label, metric, values, of) | {"failed": 0, "damaged": 0} for label, values in finals.items()])


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
    """One table per metric, with one row per series and one column per data set: our value, n and the published value."""
    parts = []
    for metric, part in frame.groupby("metric", sort=False):
        data = list(dict.fromkeys(part["data"]))
        lines = ["| " + " | ".join(map(escape_markdown, [metric, *data])) + " |", "|---" * (len(data) + 1) + "|"]
        lines += ["| " + " | ".join([escape_markdown(label), *entries]) + " |" for label, entries in _entries(part, data)]
        parts.append("\n".join([*lines, *(["", note] if (note := damage_note(part)) else [])]) + "\n")
    return "\n".join(parts)


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
    """Mean, standard error, n, and the published value in brackets."""
    if not row["n"]:
        return "failed" if row["failed"] else "damaged" if row["damaged"] else "-"
    error = f" ± {number(row['standard_error'], row['mean'])}" if row["n"] > 1 else ""
    published = f" [{row['published']:g}]" if pandas.notna(row["published"]) else ""
    seeds = f"n={row['n']} of {row['of']}, {row['damaged']} damaged" if row["damaged"] else f"n={row['n']}"
    return f"{number(row['mean'])}{error} ({seeds}){published}"


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
