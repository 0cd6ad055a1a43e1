"""An artifact as it is reproduced: its cells, what the user changed in them, and the folder of its figure, tables and verdicts."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas
from matplotlib.figure import Figure

from aswd.artifacts import tables
from aswd.artifacts.cells import Cell, cells
from aswd.artifacts.claims import MIN_SEEDS, NONE, Evidence, Verdict, judge, load_claim
from aswd.artifacts.declaration import Artifact
from aswd.artifacts.drawing import Drawing, load_drawing
from aswd.artifacts.groups import Runs
from aswd.artifacts.results import SUFFIX, Numbers, numbers, write_results
from aswd.artifacts.views import View
from aswd.config.changes import differing_options, options_text
from aswd.config.composition import CommandLine, plan_runs, register_plugins
from aswd.config.schemas import TrainerConfig
from aswd.distances import READINGS
from aswd.utils.checks import nearest
from aswd.utils.errors import UserError
from aswd.utils.files import digests, write_atomically, write_json, write_text
from aswd.utils.tables import table

FILES = ("figure.png", "table.csv", "table.md", "table.tex", "views.json", "summary.json")  # what the report reads, with digests in DIGESTS
DIGESTS = "digests.json"
_NO_CHANGE = ("paths.output_dir", "plugins")  # options that never change a run of an artifact, but may be needed to compose it
_PRIVATE = ("paths", "launcher", "logger", "plugins", "force")  # sections of settings that concern one machine
_NEUTRAL = frozenset(each.name for each in fields(TrainerConfig) if each.metadata.get("neutral", False))  # of the trainer


@dataclass(frozen=True)
class Reproduction:
    """An artifact at one reading and scale, with overrides of the user's.

    Args:
        artifact: what is declared.
        scale: one of its scales.
        reading: of the paper.
        overrides: for all runs; ``paths.output_dir=DIR`` among them is the folder of all results.
        config_dirs: folders with further configurations.
        only: series and data sets whose runs are wanted now; default: all.
    """

    artifact: Artifact
    scale: str
    reading: str
    overrides: Sequence[str] = ()
    config_dirs: Sequence[str] = ()
    only: Sequence[str] = ()

    def check(self) -> None:
        """Check everything that can be checked before any run.

        Raises:
            UserError: the scale, an override or an entry of the artifact's file is not valid.
        """
        self.artifact.scale(self.scale)
        register_plugins(CommandLine(list(self.overrides)))  # which may bring drawings and claims
        self._check_only()
        if self.drawing.reproduce is not None:
            return  # which checks its own
        for name in self.artifact.claims:
            load_claim(name, str(self.artifact.file))
        if self.drawing.measure is None:
            self.cells  # noqa: B018  composes and checks them
            return
        if self.reading not in READINGS:
            raise UserError(f"reading must be one of {', '.join(map(repr, READINGS))}; got {self.reading!r}")
        for override in self.overrides:
            if _option(override) not in _NO_CHANGE:
                raise UserError(f"{override} must be left out: {self.artifact.name} has no runs that it could change")

    def _check_only(self) -> None:
        if self.only and self.drawing.draw is None:
            raise UserError(f"--only must be left out: {self.artifact.name} has no runs to choose from")
        known = {*(series.label for series in self.artifact.series), *self.artifact.data}
        for name in self.only:
            if name not in known:
                raise UserError(f"--only must name series or data sets of {self.artifact.name}; got {name!r}: {nearest(name, known)}")

    @cached_property
    def chosen(self) -> list[Cell]:
        """The cells whose runs are wanted now."""
        labels, data = ({getattr(cell, kind) for cell in self.cells} & set(self.only) for kind in ("label", "data"))
        return [cell for cell in self.cells if (not labels or cell.label in labels) and (not data or cell.data in data)]

    @cached_property
    def drawing(self) -> Drawing:
        """How it is drawn or measured."""
        return load_drawing(self.artifact.draw, str(self.artifact.file))

    @cached_property
    def cells(self) -> list[Cell]:
        """Its runs; none for an artifact that is measured on the distances themselves."""
        return [] if self.drawing.draw is None else cells(self.artifact, self.scale, self.reading, self.overrides, self.config_dirs)

    @cached_property
    def output_dir(self) -> Path:
        """The folder of all results."""
        config = (
            self.cells[0].config if self.cells else plan_runs(CommandLine(list(self.overrides), config_dirs=tuple(self.config_dirs)))[0]
        )
        return Path(config.paths.output_dir)

    @cached_property
    def _own_cells(self) -> list[Cell] | None:
        """The cells without overrides; ``None`` where the artifact is not complete without them."""
        if all(map(_is_neutral, self.overrides)):
            return self.cells
        needed = [override for override in self.overrides if _option(override) in _NO_CHANGE]
        try:
            return cells(self.artifact, self.scale, self.reading, needed, self.config_dirs)
        except UserError:
            return None

    @cached_property
    def changes(self) -> dict[str, Any]:
        """The options in which the runs differ from the artifact's own: ``{"task.lr": 0.01}``; a list where cells have different values."""
        if self._own_cells is None:
            return dict(override.partition("=")[::2] for override in self.overrides if _option(override) not in _NO_CHANGE)
        values: dict[str, list[Any]] = {}
        for own, changed in zip(self._own_cells, self.cells, strict=True):
            before, after = differing_options([own.config.identity, changed.config.identity])
            for option in {**before, **after}:
                if not option.startswith("code.") and after.get(option) not in values.setdefault(option, []):
                    values[option].append(after.get(option))
        return {option: each[0] if len(each) == 1 else each for option, each in values.items()}

    @property
    def folder(self) -> Path:
        """``artifacts/<name>/<reading>-<scale>``, with a hash of the runs' keys where they are not the artifact's own."""
        keys, own = ([cell.config.key for cell in found or []] for found in (self.cells, self._own_cells))
        mark = "" if keys == own else f"-{hashlib.sha256(' '.join(keys).encode()).hexdigest()[:8]}"
        return self.output_dir / "artifacts" / self.artifact.name / f"{self.reading}-{self.scale}{mark}"

    @property
    def setting(self) -> str:
        """Reading, scale and changes, where people read them."""
        return ", ".join(part for part in (f"reading {self.reading}", f"scale {self.scale}", options_text(self.changes)) if part)

    @property
    def heading(self) -> str:
        """What is written above the figure."""
        return f"{self.artifact.caption} ({self.setting})"

    @property
    def command(self) -> str:
        """The command line that reproduces it."""
        folders = [argument for folder in self.config_dirs for argument in ("--config-dir", folder)]
        arguments = [self.artifact.name, "--scale", self.scale, "--reading", self.reading, *folders, *self.overrides]
        return shlex.join(["aswd", "reproduce", *arguments])

    def write(
        self, figure: Figure, curves: pandas.DataFrame, views: list[View], cells: Sequence[Runs | Numbers], facts: dict[str, Any]
    ) -> None:
        """Judge the claims; write figure, data, tables, the numbers of every seed and ``summary.json``, and print means and verdicts.

        Args:
            figure: as PNG and PDF.
            curves: the data behind the figure.
            views: what the page shows.
            cells: the runs, or what was measured instead.
            facts: time, devices, versions and settings of the runs.
        """
        verdicts, quantities = judgement(self.artifact, self.scale, cells)
        summary = self.save(figure, curves, views, cells, tables.table(self.artifact, cells), verdicts, facts)
        write_results(self.folder / f"results{SUFFIX}", _public(summary), numbers(cells, quantities))

    def save(
        self,
        figure: Figure,
        curves: pandas.DataFrame,
        views: list[View],
        cells: Sequence[Runs | Numbers],
        frame: pandas.DataFrame,
        verdicts: list[Verdict],
        facts: dict[str, Any],
    ) -> dict[str, Any]:
        """Write figure, data, tables and ``summary.json``, and print the verdicts.

        Args:
            figure: as PNG and PDF.
            curves: the data behind the figure.
            views: what the page shows.
            cells: the runs, or what was measured instead.
            frame: the table.
            verdicts: on the claims.
            facts: time, devices, versions and settings of the runs.

        Returns:
            The part of the summary that does not follow from the numbers.
        """
        folder, artifact = self.folder, self.artifact
        for name in ("figure.png", "figure.pdf"):
            write_atomically(folder / name, lambda partial: figure.savefig(partial, dpi=110))
        write_text(folder / "table.csv", frame.to_csv(index=False))
        write_text(folder / "curves.csv", curves.to_csv(index=False))
        write_text(folder / "views.json", json.dumps(views, separators=(",", ":"), allow_nan=False))
        write_text(folder / "table.md", tables.markdown(frame))
        write_text(folder / "table.tex", self.drawing.latex(frame, self.heading))
        about = {name: getattr(artifact, name) for name in ("title", "number", "caption", "about", "task", "metric")}
        setting = {name: getattr(self, name) for name in ("reading", "scale", "changes", "heading", "command")}
        paper = None if artifact.paper is None else asdict(artifact.paper)
        summary = {"artifact": artifact.name, **about, "paper": paper, **setting, **facts}
        write_json(folder / "summary.json", {**summary, **outcome(artifact, self.scale, cells, frame, verdicts)})
        write_json(folder / DIGESTS, digests(folder, FILES))
        print(f"\n{tables.summary(frame)}\n")
        if verdicts:
            print(table(("claim", "verdict", "numbers"), [(v.claim, v.verdict, v.numbers) for v in verdicts]))
        print(f"Figure, tables and verdicts: {folder}")
        return summary


def judgement(artifact: Artifact, scale: str, cells: Sequence[Runs | Numbers]) -> tuple[list[Verdict], list[str]]:
    """The verdicts on the claims of an artifact, and the quantities that they and its tables are made of."""
    evidence = Evidence(cells, artifact.metric, artifact.published)
    verdicts = judge(artifact.claims, evidence, str(artifact.file))
    return withhold(artifact, scale, cells, verdicts), list(dict.fromkeys([artifact.metric, *artifact.also, *evidence.asked]))


def outcome(
    artifact: Artifact, scale: str, cells: Sequence[Runs | Numbers], frame: pandas.DataFrame, verdicts: list[Verdict]
) -> dict[str, Any]:
    """The part of a summary that follows from the numbers."""
    rows = frame[frame["metric"] == artifact.metric]
    return {
        "verdicts": [asdict(verdict) for verdict in verdicts],
        "no_verdict": _no_verdict(artifact, scale, cells),
        "runs": int(rows["n"].sum()),
        "of": int(rows["of"].sum()),
    }


def withhold(artifact: Artifact, scale: str, cells: Sequence[Runs | Numbers], verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts, or why there are none."""
    reasons = [_no_verdict(artifact, scale, cells, verdict.claim) for verdict in verdicts]
    return [replace(each, verdict=NONE, numbers=why) if why else each for each, why in zip(verdicts, reasons, strict=True)]


def _no_verdict(artifact: Artifact, scale: str, cells: Sequence[Runs | Numbers], claim: str | None = None) -> str | None:
    """Why a claim (default: any claim) is not judged; ``None`` where it is."""
    judges = artifact.scale(scale).judges
    if not judges:
        return f"the scale {scale} checks that everything runs, and cannot judge"
    if isinstance(judges, tuple) and claim is not None and claim not in judges:
        return f"the scale {scale} judges {', '.join(judges)} only"
    seeds = min((len(cell.seeds) for cell in cells), default=0)
    return f"{seeds} seeds; claims are judged on at least {MIN_SEEDS}" if seeds < MIN_SEEDS else None


def _public(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary without what concerns this machine alone: folders, launchers and the like."""
    words = [word for word in shlex.split(summary["command"]) if _option(word) != "paths.output_dir"]
    settings = {
        label: {section: value for section, value in content.items() if section not in _PRIVATE} if isinstance(content, dict) else content
        for label, content in summary["settings"].items()
    }
    return {**summary, "command": shlex.join(words), "settings": settings}


def _is_neutral(override: str) -> bool:
    """Whether an override changes only where and how the runs are made."""
    option = _option(override)
    section, _, name = option.partition(".")
    return option in _NO_CHANGE or section == "launcher" or (section == "trainer" and name in _NEUTRAL)


def _option(override: str) -> str:
    return override.lstrip("+~").partition("=")[0]
