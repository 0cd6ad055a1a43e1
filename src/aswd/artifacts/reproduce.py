"""``aswd reproduce``: run what is missing of an artifact, draw what is there, judge the claims."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas

from aswd.artifacts import drawing, outcome
from aswd.artifacts.cells import Cell, cells
from aswd.artifacts.claims import judge
from aswd.artifacts.declaration import Artifact, load
from aswd.results import records
from aswd.results.files import write_json, write_text
from aswd.results.statistics import mean_and_band
from aswd.tables import table


def reproduce(name: str, scale: str, reading: str, output_dir: Path, overrides: list[str], dry_run: bool) -> int:
    """Make an artifact; the exit code is 0, 1 where a run failed, 128 + n where it was stopped by signal n.

    Raises:
        UserError: no such artifact, scale or option.
    """
    artifact = load(name)
    found = cells(artifact, scale, reading, str(output_dir), overrides)
    if dry_run:
        print(_forecast(found, output_dir))
        return 0
    code = _run(found)
    folder = write(artifact, found, scale, reading, output_dir, overrides)
    if folder is None:
        print(f"aswd reproduce: nothing of {name} is done yet, so there is nothing to draw", file=sys.stderr)
        return code or 1
    print(f"Figure, tables and verdicts: {folder}")
    return code


def _run(found: list[Cell]) -> int:
    from aswd.training.run import carry_out

    missing = [cell for cell in found if len(cell.done) < len(cell.spec.seeds)]
    print(f"{len(found) - len(missing)} of {len(found)} cells are done; {len(missing)} to run", flush=True)
    code = 0
    for number, cell in enumerate(missing, 1):
        # Fifty pictures of single cells are looked at by nobody: the artifact has its own.
        outcomes = carry_out(replace(cell.spec, task=replace(cell.spec.task, pictures=False)))
        words = [one.word for one in outcomes]
        counted = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
        print(f"[{number}/{len(missing)}] {cell.data}, {cell.label}: {counted}", flush=True)
        for one in outcomes:
            if one.word == "failed":
                code = 1
                print(f"failed: {one.run.folder}: {one.text} (the traceback is in its error.txt)", file=sys.stderr)
            elif one.word == "interrupted":
                print("stopped as asked; the same command goes on from the checkpoint", file=sys.stderr)
                return 128 + one.signal
    return code


def write(artifact: Artifact, found: list[Cell], scale: str, reading: str, output_dir: Path, overrides: list[str]) -> Path | None:
    """Figure, data and verdicts of what is there, in a folder of their own a reading and scale; ``None`` where nothing is."""
    frame = outcome.table(artifact, found)
    if not frame["n"].any():
        return None
    folder = Path(output_dir, "artifacts", artifact.name, f"{reading}-{scale}")
    heading = f"{artifact.number}: {artifact.title} (reading {reading}, scale {scale})"
    drawing.save(drawing.KINDS[artifact.draw](artifact, found, heading), folder)
    write_text(folder / "table.csv", frame.to_csv(index=False))
    write_text(folder / "curves.csv", _curves(found).to_csv(index=False))
    write_text(folder / "table.md", outcome.markdown(frame))
    write_text(folder / "table.tex", outcome.latex(frame, heading))
    verdicts = judge(artifact.claims, found, artifact.metric)
    arguments = [artifact.name, "--scale", scale, "--reading", reading, *overrides]
    done = [cell.spec.run(seed).result for cell in found for seed in cell.done]
    write_json(
        folder / "outcome.json",
        {
            "artifact": artifact.name,
            "title": artifact.title,
            "number": artifact.number,
            "about": artifact.about,
            "reading": reading,
            "scale": scale,
            "command": shlex.join(["aswd", "reproduce", *arguments]),
            "verdicts": [asdict(verdict) for verdict in verdicts],
            "runs": len(done),
            "of": sum(len(cell.spec.seeds) for cell in found),
            "wall_time": sum(result["wall_time"] / result["replicas"] for result in done),
            "devices": sorted({result["device"] for result in done}),
            "revisions": sorted({str(result["revision"]) for result in done}),
            "versions": done[-1]["versions"],
            "settings": {cell.label: cell.spec.plain() for cell in found if cell.data == artifact.data[0]},
        },
    )
    print(table(("claim", "verdict", "numbers"), [(v.claim, v.verdict, v.numbers) for v in verdicts]))
    return folder


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
