"""``aswd reproduce``: run what is missing of an artifact, draw what is there, judge the claims."""

from __future__ import annotations

import hashlib
import shlex
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas
from matplotlib.figure import Figure

from aswd.artifacts import drawing, outcome, projections
from aswd.artifacts.cells import Cell, cells
from aswd.artifacts.claims import Verdict, judge, p1
from aswd.artifacts.declaration import Artifact, load
from aswd.distances import READINGS
from aswd.errors import UserError
from aswd.launching.launch import launch
from aswd.paths import check_writable
from aswd.results import records
from aswd.results.files import write_json, write_text
from aswd.results.statistics import mean_and_band
from aswd.tables import table
from aswd.training.circumstances import circumstances
from aswd.training.run import Outcome
from aswd.training.signals import StopRequest


def reproduce(name: str, scale: str, reading: str, output_dir: Path, overrides: list[str], dry_run: bool) -> int:
    """Make an artifact; the exit code is 0, 1 where a run failed, 128 + n where it was stopped by signal n.

    Raises:
        UserError: no such artifact, scale or option.
    """
    artifact = load(name)
    if artifact.draw == "projections":
        return _reproduce_projections(artifact, scale, reading, output_dir, overrides, dry_run)
    found = cells(artifact, scale, reading, str(output_dir), overrides)
    if dry_run:
        print(_forecast(found, output_dir))
        return 0
    check_writable(output_dir)
    code = _run(found)
    frame = outcome.table(artifact, found)
    if not frame["n"].any():
        print(f"aswd reproduce: nothing of {name} is done yet, so there is nothing to draw", file=sys.stderr)
        return code or 1
    done = [cell.spec.run(seed).result for cell in found for seed in cell.done]
    facts = {
        "wall_time": sum(result["wall_time"] / result["replicas"] for result in done),
        "devices": sorted({result["device"] for result in done}),
        "revisions": sorted({str(result["revision"]) for result in done}),
        "versions": done[-1]["versions"],
        "settings": {cell.label: cell.spec.plain() for cell in found if cell.data == found[0].data},
    }
    page = _Page(artifact, scale, reading, overrides, Path(output_dir))
    figure = drawing.KINDS[artifact.draw](artifact, found, page.heading)
    page.write(figure, frame, _curves(found), judge(artifact.claims, found, artifact.metric), facts)
    return code


def _reproduce_projections(artifact: Artifact, scale: str, reading: str, output_dir: Path, overrides: list[str], dry_run: bool) -> int:
    """The first figure, which is measured on the distances themselves."""
    if reading not in READINGS:
        raise UserError(f"reading must be one of {', '.join(map(repr, READINGS))}; got {reading!r}")
    size = artifact.scale(scale)
    if overrides:
        raise UserError(f"{overrides[0]} must be left out: {artifact.name} has no runs that it could change")
    if dry_run:
        print(f"{size.seeds} seeds of {', '.join(projections.LABELS)}, measured without runs in the store")
        return 0
    check_writable(output_dir)
    start = time.perf_counter()
    views = projections.measure(size, reading)
    shares = {label: projections.overlapping(found) for label, found in views.items()}
    page = _Page(artifact, scale, reading, overrides, Path(output_dir))
    figure = projections.draw(artifact, size, reading, views, page.heading)
    curves = pandas.DataFrame(
        [
            {"label": label, "seed": seed, "direction": place, "distance": distance, "separation": separation}
            for label, found in views.items()
            for seed, view in enumerate(found)
            for place, (distance, separation) in enumerate(zip(view.distances, view.separation, strict=True))
        ]
    )
    facts = {"wall_time": time.perf_counter() - start, **circumstances(), "settings": asdict(size)}
    page.write(figure, outcome.rows("gaussians_100d", shares, size.seeds), curves, [p1(shares)], facts)
    return 0


def _run(found: list[Cell]) -> int:
    request = StopRequest()
    missing = [cell for cell in found if len(cell.done) < len(cell.spec.seeds)]
    print(f"{len(found) - len(missing)} of {len(found)} cells are done; {len(missing)} to run", flush=True)
    # Fifty pictures of single cells are looked at by nobody: the artifact has its own.
    specs = [replace(cell.spec, task=replace(cell.spec.task, pictures=False)) for cell in missing]
    told: list[list[Outcome]] = []

    def tell(place: int, outcomes: list[Outcome]) -> None:
        words = [one.word for one in outcomes]
        counted = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
        print(f"[{len(told) + 1}/{len(missing)}] {missing[place].data}, {missing[place].label}: {counted}", flush=True)
        told.append(outcomes)
        for one in outcomes:
            if one.word == "failed":
                print(f"failed: {one.run.folder}: {one.text} (the traceback is in its error.txt)", file=sys.stderr)

    outcomes = launch(specs, request, tell)
    if request.number is not None:
        print("stopped as asked; the same command goes on from the checkpoint", file=sys.stderr)
        return 128 + request.number
    return int(any(one.word == "failed" for one in outcomes))


@dataclass(frozen=True)
class _Page:
    """The folder of an artifact at one reading and scale, and what is written there."""

    artifact: Artifact
    scale: str
    reading: str
    overrides: list[str]
    output_dir: Path

    @property
    def heading(self) -> str:
        """Above the figure: a picture says what it is of."""
        changed = f", {' '.join(self.changes)}" if self.changes else ""
        return f"{self.artifact.number}: {self.artifact.title} (reading {self.reading}, scale {self.scale}{changed})"

    @property
    def changes(self) -> list[str]:
        """The overrides that change the numbers, and so make another artifact of it."""
        neutral = ("trainer=", "trainer.", "logger", "launcher", "paths")
        return [one for one in self.overrides if one.startswith("trainer.max_steps") or not one.startswith(neutral)]

    @property
    def folder(self) -> Path:
        """One for every reading, scale and set of changes: they are never mixed."""
        mark = "-" + hashlib.sha256(" ".join(sorted(self.changes)).encode()).hexdigest()[:6] if self.changes else ""
        return self.output_dir / "artifacts" / self.artifact.name / f"{self.reading}-{self.scale}{mark}"

    def write(self, figure: Figure, frame: pandas.DataFrame, curves: pandas.DataFrame, verdicts: list[Verdict], facts: dict) -> None:
        """Figure, data and verdicts."""
        folder = self.folder
        drawing.save(figure, folder)
        write_text(folder / "table.csv", frame.to_csv(index=False))
        write_text(folder / "curves.csv", curves.to_csv(index=False))
        write_text(folder / "table.md", outcome.markdown(frame))
        write_text(folder / "table.tex", outcome.latex(frame, self.heading))
        own = {name: getattr(self.artifact, name) for name in ("title", "number", "about", "metric")}
        arguments = [self.artifact.name, "--scale", self.scale, "--reading", self.reading, *self.overrides]
        content = {"artifact": self.artifact.name, **own, "reading": self.reading, "scale": self.scale, "changes": self.changes}
        content |= {"command": shlex.join(["aswd", "reproduce", *arguments]), "verdicts": [asdict(verdict) for verdict in verdicts]}
        content |= {"runs": int(frame["n"].sum()), "of": int(frame["of"].sum()), **facts}
        write_json(folder / "outcome.json", content)
        print(table(("claim", "verdict", "numbers"), [(v.claim, v.verdict, v.numbers) for v in verdicts]))
        print(f"Figure, tables and verdicts: {folder}")


def _curves(found: list[Cell]) -> pandas.DataFrame:
    """Mean and band of log10 W2 at every step of every cell that is there."""
    parts = []
    for cell in found:
        curves = cell.curves("w2")
        if curves is not None:
            steps, values = curves
            mean, low, high = mean_and_band(np.log10(np.maximum(values, np.finfo(float).tiny)), axis=1)
            columns = {"step": steps, "mean": mean, "low": low, "high": high, "n": values.shape[1]}
            parts.append(pandas.DataFrame({"data": cell.data, "label": cell.label, **columns}))
    return pandas.concat(parts, ignore_index=True)


def _forecast(found: list[Cell], output_dir: Path) -> str:
    """The cells with what is missing, and the time that it takes by what similar runs in the store took."""
    known = records(output_dir)
    rows, total, unknown = [], 0.0, 0
    for cell in found:
        missing = len(cell.spec.seeds) - len(cell.done)
        seconds = _seconds_per_seed(cell, known) if missing else 0.0
        unknown += seconds is None
        total += missing * (seconds or 0.0)
        time = "?" if seconds is None else f"{missing * seconds:.0f} s"
        rows.append((cell.data, cell.label, f"{len(cell.done)}/{len(cell.spec.seeds)}", time))
    rest = f", and {unknown} cells of which the store knows nothing like" if unknown else ""
    return table(("data", "series", "done", "time"), rows) + f"\nabout {total / 60:.0f} minutes{rest}"


def _seconds_per_seed(cell: Cell, known: pandas.DataFrame) -> float | None:
    """By runs of the same distance with as many directions and samples, whatever their data."""
    spec = cell.spec
    alike = {"state": "done", "distance": spec.distance_name, "data.num_samples": spec.data.num_samples}
    if "num_projections" in spec.distance:
        alike["distance.num_projections"] = spec.distance["num_projections"]
    for column, value in alike.items():
        known = known[known[column] == value] if column in known else known[:0]
    if known.empty:
        return None
    pace = known["wall_time"] / known["replicas"] / known["steps"]
    return float(pace.mean()) * min(spec.task.iterations, spec.trainer.max_steps or spec.task.iterations)
