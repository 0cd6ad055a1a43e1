"""``aswd demo``: the paper's first experiment in two or three minutes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas

from aswd.composition import Call, checked_plan
from aswd.configuration import PathSettings, RunSpec
from aswd.paths import check_writable
from aswd.results.statistics import mean_and_band
from aswd.results.store import Metrics
from aswd.tables import table
from aswd.tasks import flow_pictures
from aswd.training.run import carry_out

DISTANCES = ("swd", "aswd")
SEEDS = 3
# Half of the paper's 500 points: what takes longest is sorting them.
OVERRIDES = ["task=flow", "data=swiss_roll", "data.num_samples=250", "distance.num_projections=100", f"replicas={SEEDS}"]


def run(output_dir: Path) -> int:
    """Run the flow to the swiss roll with each distance, draw both, and say where everything is; the exit code."""
    check_writable(output_dir)
    print(f"The swiss roll: {SEEDS} seeds, 250 particles, 100 directions, 2000 iterations of the flow, reading 'reference'.", flush=True)
    metrics, rows = {}, []
    for name in DISTANCES:
        (spec,) = checked_plan(Call([*OVERRIDES, f"distance={name}"]))
        spec = replace(spec, paths=PathSettings(str(output_dir)))
        outcomes = carry_out(spec)
        unfinished = [outcome for outcome in outcomes if outcome.word not in ("done", "skipped")]
        if unfinished:
            print(f"aswd demo: {spec.title} {unfinished[0].word}: {unfinished[0].text}", file=sys.stderr)
            return 128 + unfinished[0].signal if unfinished[0].signal else 1
        metrics[name] = _stored_metrics(spec)
        logs = np.log10(metrics[name].values["w2"])
        mean, low, high = mean_and_band(logs[-1])
        pace = np.mean([spec.run(seed).result["wall_time"] for seed in spec.seeds])
        rows.append((name, f"{logs[0].mean():.2f}", f"{mean:.2f}", f"{low:.2f} .. {high:.2f}", f"{pace:.0f} s"))
    folder = Path(output_dir, "demo")
    picture = flow_pictures.curves(folder / "swiss_roll.png", metrics, "swiss roll: log10 W2 to the target")
    print(table(("distance", "log10 W2 at the start", "at the end", "95 % band of the mean", "time"), rows))
    print(f"Picture: {picture}\nPictures of the particles, animations and all numbers: {Path(output_dir, 'runs/flow/swiss_roll')}")
    return 0


def _stored_metrics(spec: RunSpec) -> Metrics:
    """The W2 of all seeds of a run, from the store."""
    metrics = Metrics(spec.seeds)
    frames = [pandas.read_csv(spec.run(seed).folder / "metrics.csv") for seed in spec.seeds]
    for turn, step in enumerate(frames[0]["step"]):
        metrics.add(step, {"w2": [frame["w2"][turn] for frame in frames]})
    return metrics
