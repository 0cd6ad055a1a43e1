"""``aswd leaderboard``: tune every method, run what counts, time the steps, rank, draw and judge."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any

import pandas

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import load
from aswd.artifacts.forecast import amount
from aswd.artifacts.reproduce import facts, run_cells
from aswd.artifacts.reproduction import Reproduction, withhold
from aswd.artifacts.views import figure_pixels, images
from aswd.config.composition import CommandLine, register_plugins
from aswd.distances import READINGS
from aswd.leaderboard import drawing, planning, tables, timing
from aswd.leaderboard.planning import Choice, Plan
from aswd.leaderboard.protocol import Protocol, protocol
from aswd.leaderboard.ranking import collect, judge, rank
from aswd.runs import records
from aswd.utils.errors import UserError
from aswd.utils.files import check_writable, write_atomically, write_text

OPTIONS = ("launcher", "logger", "trainer", "paths", "plugins", "force")  # sections whose options mean the same for all runs
NAME = "leaderboard"


@dataclass(frozen=True)
class Leaderboard(Reproduction):
    """The leaderboard at one reading and scale.

    Args:
        only: the methods that are compared; default: all.
        tasks: what they are compared on; default: everything.
    """

    only: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    def check(self) -> None:
        self.artifact.scale(self.scale)
        for override in self.overrides:
            if override.lstrip("+~").partition("=")[0].partition(".")[0] not in OPTIONS:
                raise UserError(
                    f"{override} must be left out: the leaderboard takes options of {', '.join(OPTIONS)}; its file has the rest"
                )
        if self.reading not in READINGS:
            raise UserError(f"reading must be one of {', '.join(map(repr, READINGS))}; got {self.reading!r}")
        register_plugins(CommandLine(list(self.overrides)))
        planning.check(self.protocol, self.reading, self.overrides, self.config_dirs)

    @cached_property
    def protocol(self) -> Protocol:
        """Who is compared, and on what."""
        return protocol(self.artifact, self.scale, self.only, self.tasks, self.config_dirs)

    @property
    def cells(self) -> list[Cell]:
        return []

    @property
    def changes(self) -> dict[str, Any]:
        return {name: list(given) for name in ("only", "tasks") if (given := getattr(self, name))}

    @property
    def folder(self) -> Path:
        mark = f"-{hashlib.sha256(repr(self.changes).encode()).hexdigest()[:8]}" if self.changes else ""
        return self.output_dir / "artifacts" / self.artifact.name / f"{self.reading}-{self.scale}{mark}"

    @property
    def heading(self) -> str:
        counts = f"{len(self.protocol.methods)} methods, {len(self.protocol.disciplines)} tasks"
        return f"{self.artifact.caption} (reading {self.reading}, scale {self.scale}, {counts})"

    @property
    def command(self) -> str:
        folders = [argument for folder in self.config_dirs for argument in ("--config-dir", folder)]
        chosen = [argument for name, given in self.changes.items() for argument in (f"--{name}", ",".join(given))]
        return shlex.join(["aswd", NAME, "--scale", self.scale, "--reading", self.reading, *chosen, *folders, *self.overrides])


def leaderboard(
    scale: str,
    reading: str,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    tasks: Sequence[str] = (),
    dry_run: bool = False,
    config_dirs: Sequence[str] = (),
) -> int:
    """Compare distances on equal terms.

    Args:
        scale: smoke, laptop or paper.
        reading: of the ASWD paper.
        overrides: of :data:`OPTIONS`, for all runs.
        only: the distances that are compared; default: all.
        tasks: what they are compared on; default: everything.
        dry_run: run nothing, and print what is missing with an estimate of the time.
        config_dirs: folders with distances and other configurations of the user's.

    Returns:
        The exit code: 0; 1 if a run failed; 3 if another process executes one; 128 + n if it was stopped by signal n.

    Raises:
        UserError: a mistake in the arguments, before anything is run.
    """
    board = Leaderboard(load(NAME, config_dirs), scale, reading, overrides, config_dirs, tuple(only), tuple(tasks))
    board.check()
    return _execute(board, dry_run)


def reproduce(reproduction: Reproduction, dry_run: bool) -> int:
    """``aswd reproduce leaderboard``."""
    board = Leaderboard(*(getattr(reproduction, name) for name in ("artifact", "scale", "reading", "overrides", "config_dirs")))
    board.check()
    return _execute(board, dry_run)


def _execute(board: Leaderboard, dry_run: bool) -> int:
    plans = planning.plan(board.protocol, board.reading, board.overrides, board.config_dirs)
    if dry_run:
        print(_forecast(board, plans))
        return 0
    check_writable(board.output_dir)
    codes: list[int] = []
    for made in plans:
        codes += _run(board.protocol, made)
        if codes[-1] >= 128:
            return codes[-1]
    _write(board, plans, [planning.choose(board.protocol, made) for made in plans])
    return next((code for code in (1, 3) if code in codes), 0)


def _run(protocol: Protocol, made: Plan) -> list[int]:
    """Tune the methods on a discipline, and run them at what was chosen; the exit codes."""
    codes, name = [], made.discipline.name
    tuning = [cell for runs in planning.tuning_cells(protocol, made).values() for cell in runs]
    if tuning:
        print(f"{name}: tuning {_count(made.methods(), 'method')}", flush=True)
        codes.append(run_cells(NAME, tuning))
        if codes[-1] >= 128:
            return codes
    cells = planning.counting_cells(protocol, made, planning.choose(protocol, made))
    print(f"{name}: {_count(made.methods(), 'method')} on {_count(protocol.settings[name], 'setting')}", flush=True)
    return [*codes, run_cells(NAME, list(cells.values()))]


def _count(things: Sized, what: str) -> str:
    return f"{len(things)} {what}{'' if len(things) == 1 else 's'}"


def _write(board: Leaderboard, plans: list[Plan], choices: list[dict[str, Choice]]) -> None:
    """Rank, draw and judge what is done."""
    cells = [planning.counting_cells(board.protocol, made, chosen) for made, chosen in zip(plans, choices, strict=True)]
    results = [
        collect(made.discipline, runs, [setting.name for setting in board.protocol.settings[made.discipline.name]])
        for made, runs in zip(plans, cells, strict=True)
    ]
    missing = [each.discipline.name for each in results if not each.curves]
    if missing:
        print(f"aswd leaderboard: no run of {', '.join(missing)} is done yet; the same command runs the rest", file=sys.stderr)
    there = [bool(each.curves) for each in results]
    plans, choices, cells, results = (list(compress(each, there)) for each in (plans, choices, cells, results))
    if not any(each.discipline.is_ranked for each in results):
        return
    costs = timing.costs(plans, choices, board.output_dir / NAME / "timing.json")
    ranks = rank(results)
    verdicts = [
        judge(claim, results, costs) for claim in board.protocol.claims if not board.only or {claim.better, claim.worse} <= set(board.only)
    ]
    figure = drawing.draw_ranks(ranks, results, costs, board.heading)
    frame, curves = tables.rank_table(ranks, results), pandas.concat([tables.curve_table(each) for each in results], ignore_index=True)
    counting = [cell for runs in cells for cell in runs.values()]
    verdicts = withhold(board.artifact, board.scale, counting, verdicts)
    further = {f"curves_{each.discipline.name}": drawing.draw(each, ranks, costs, board.heading) for each in results}
    for name, other in further.items():
        write_atomically(board.folder / f"{name}.png", lambda partial, other=other: other.savefig(partial, dpi=80))
    views = images("On three axes", {name: figure_pixels(other) for name, other in further.items()})
    board.save(figure, curves, views, counting, frame, verdicts, _facts(counting))
    written = {
        "methods": tables.method_table(ranks, results, costs, choices),
        "settings": tables.setting_table(results, plans),
        "tuning": tables.tuning_table(plans, choices),
        "finals": tables.final_table(results),
    }
    for name, table in written.items():
        write_text(board.folder / f"{name}.csv", table.to_csv(index=False, float_format="%.4g"))
    write_text(board.folder / "overview.md", tables.overview(ranks, results, costs, choices, verdicts))


def _facts(cells: list[Cell]) -> dict[str, Any]:
    """Of all runs that count, with the settings of the first of every distance."""
    first = {cell.label: cell for cell in reversed(cells)}
    return {**facts(cells), "settings": {label: cell.config.plain() for label, cell in first.items()}}


def _forecast(board: Leaderboard, plans: list[Plan]) -> str:
    """How many runs are missing, and about how long they take, by similar runs in the store."""
    lines, total, unknown = [], 0.0, 0
    known = records(board.output_dir)
    known = known[known["state"] == "done"]
    for made in plans:
        chosen = planning.choose(board.protocol, made)
        tuning = [cell for runs in planning.tuning_cells(board.protocol, made).values() for cell in runs]
        counting = list(planning.counting_cells(board.protocol, made, chosen).values())
        missing = [cell for cell in (*tuning, *counting) if len(cell.done) < len(cell.config.seeds)]
        lines.append(
            f"{made.discipline.name}: {len(made.methods())} methods, {len(tuning)} runs to tune and {len(counting)} that count, "
            f"{len(missing)} of them missing"
        )
        for cell in missing:
            seconds = _seconds(cell, known)
            unknown += seconds is None
            total += seconds or 0.0
    lines.append(
        f"about {amount(total)} of one thread by runs of the same distance and task in the store"
        if total
        else "no similar runs in the store"
    )
    if unknown:
        lines.append(f"unknown: the time of {unknown} runs whose distance has not been run on this task")
    return "\n".join(lines)


def _seconds(cell: Cell, known: pandas.DataFrame) -> float | None:
    """The mean time of runs with the same task and distance, per step and in proportion to nothing else; ``None`` without such."""
    alike = known[(known["task"] == cell.config.task.name) & (known["distance"] == cell.config.distance_name)]
    if alike.empty:
        return None
    batches = alike.drop_duplicates(["key", "replicas", "wall_time"])
    return float((batches["wall_time"] / batches["steps"]).mean()) * cell.config.task.iterations
