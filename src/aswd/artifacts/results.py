"""Numbers of every seed of an artifact in one compact file: what tables and verdicts are made of, for whoever does not have the runs."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pandas

from aswd.utils.errors import UserError
from aswd.utils.files import read_bytes, write_atomically

SUFFIX = ".csv.gz"
_IDENTITY = ["data", "label", "seed", "state"]


@dataclass(frozen=True)
class Numbers:
    """The numbers of one series on one data set, in place of its runs; see :class:`~aswd.artifacts.groups.Runs`.

    Args:
        data: the data set.
        label: of the series.
        seeds: all of them.
        table: quantity -> seed -> number.
        failed: seeds that failed.
        damaged: seeds whose record is damaged.
    """

    data: str
    label: str
    seeds: list[int]
    table: dict[str, dict[int, float]]
    failed: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    folder: ClassVar[str] = ""  # of no runs

    def values(self, quantity: str) -> dict[int, float]:
        """One number for every seed that has it.

        Raises:
            KeyError: no seed of the file could have it.
        """
        if quantity not in self.table:
            raise KeyError(f"the results have no {quantity}: aswd reproduce writes them anew from the runs")
        return self.table[quantity]

    def failures(self) -> dict[int, str]:
        """The seeds that failed; why is not in the file."""
        return dict.fromkeys(self.failed, "")

    def damages(self) -> dict[int, str]:
        """The seeds whose record was damaged."""
        return dict.fromkeys(self.damaged, "")


def numbers(cells: Sequence[Any], quantities: Sequence[str]) -> list[Numbers]:
    """The numbers of some cells."""
    return [
        Numbers(
            *(cell.data, cell.label, list(cell.seeds), {quantity: cell.values(quantity) for quantity in quantities}),
            *(list(cell.failures()), list(cell.damages())),
        )
        for cell in cells
    ]


def write_results(path: Path, summary: dict[str, Any], cells: Sequence[Numbers]) -> None:
    """Write a file of results: a line of JSON, and a table with a row per seed; the same results give the same bytes."""
    rows = []
    for cell in cells:
        for seed in cell.seeds:
            state = "failed" if seed in cell.failed else "damaged" if seed in cell.damaged else ""
            found = {quantity: values[seed] for quantity, values in cell.table.items() if seed in values}
            rows.append(dict(zip(_IDENTITY, (cell.data, cell.label, seed, state), strict=True)) | found)
    quantities = list(dict.fromkeys(quantity for cell in cells for quantity in cell.table))
    head = json.dumps({**summary, "cells": [[cell.data, cell.label] for cell in cells]}, sort_keys=True)
    text = f"{head}\n{pandas.DataFrame(rows, columns=[*_IDENTITY, *quantities]).to_csv(index=False)}"
    write_atomically(path, lambda partial: partial.write_bytes(gzip.compress(text.encode(), mtime=0)))


def read_results(path: Path) -> tuple[dict[str, Any], list[Numbers]]:
    """The summary and the numbers of a file of results.

    Raises:
        UserError: it cannot be read.
    """
    try:
        head, _, text = gzip.decompress(read_bytes(path)).decode().partition("\n")
        summary = json.loads(head)
        frame = pandas.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
        quantities = [column for column in frame if column not in _IDENTITY]
        cells = []
        for data, label in summary.pop("cells"):
            rows = frame[(frame["data"] == data) & (frame["label"] == label)].set_index("seed")
            rows.index = rows.index.astype(int)
            table = {name: {seed: float(text) for seed, text in rows[name].items() if text} for name in quantities}
            states = [rows.index[rows["state"] == state].tolist() for state in ("failed", "damaged")]
            cells.append(Numbers(data, label, rows.index.tolist(), table, *states))
    except (OSError, EOFError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise UserError(f"{path} is not a file of results of aswd reproduce: {' '.join(str(error).split())}") from None
    return summary, cells


def merge_results(parts: dict[Path, tuple[dict[str, Any], list[Numbers]]]) -> tuple[dict[str, Any], list[Numbers]]:
    """Files of one artifact at one setting, made by parts: other seeds, series or data sets, on several machines.

    Raises:
        UserError: the parts were made with different options, or have different numbers for the same run.
    """
    (first, (summary, cells)), *others = parts.items()
    summary, merged = dict(summary), {(cell.data, cell.label): cell for cell in cells}
    for path, (other, its_cells) in others:
        for label, settings in other["settings"].items():
            if summary["settings"].get(label, settings) != settings:
                raise UserError(f"{path} must be made with the options of {first}, as both are of {other['artifact']}; {label} has others")
        for cell in its_cells:
            known = merged.get((cell.data, cell.label))
            merged[cell.data, cell.label] = cell if known is None else _joined(known, cell, first, path)
        summary["settings"] = {**other["settings"], **summary["settings"]}
        summary["wall_time"] += other["wall_time"]
        summary |= {name: sorted({*summary[name], *other[name]}) for name in ("devices", "revisions")}
    return summary, list(merged.values())


def _joined(cell: Numbers, other: Numbers, first: Path, path: Path) -> Numbers:
    """The seeds of both; one that only one of them has run has its numbers."""
    table: dict[str, dict[int, float]] = {}
    for quantity in dict.fromkeys([*cell.table, *other.table]):
        one, two = (each.table.get(quantity, {}) for each in (cell, other))
        for seed in one.keys() & two.keys():
            if one[seed] != two[seed]:
                raise UserError(
                    f"{path} and {first} have different {quantity} of {cell.label} on {cell.data} with seed {seed}: leave one of them out"
                )
        table[quantity] = {**one, **two}
    states = ([*dict.fromkeys([*getattr(cell, name), *getattr(other, name)])] for name in ("failed", "damaged"))
    return Numbers(cell.data, cell.label, sorted({*cell.seeds, *other.seeds}), table, *states)
