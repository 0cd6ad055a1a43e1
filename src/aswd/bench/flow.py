"""The benchmark of the flow: replicas against single runs, a run against its bare loop, and the share of its evaluation."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from aswd.bench.measure import timed
from aswd.config.composition import CommandLine, plan_runs
from aswd.config.run import RunConfig
from aswd.metrics import exact_wasserstein
from aswd.runs.execution import execute_run
from aswd.runs.processes import build, threads
from aswd.utils.tables import table


@dataclass(frozen=True)
class Case:
    """One line of the table: seconds of two alternatives, and what their ratio is to be."""

    title: str
    measure: Callable[[Path], tuple[float, float]]
    bar: float
    at_least: bool  # else at most


def _spec(folder: Path, *overrides: str) -> RunConfig:
    fixed = ["task=flow", "data=swiss_roll", "distance=aswd", "trainer.enable_progress_bar=false", "task.num_frames=0"]
    (spec,) = plan_runs(CommandLine([*fixed, *overrides, f"paths.output_dir={folder}"]))
    return spec


def _run(spec: RunConfig) -> float:
    start = time.perf_counter()
    outcomes = execute_run(replace(spec, force=True))
    if any(outcome.status != "done" for outcome in outcomes):
        raise RuntimeError(f"{spec.title} {outcomes[0].status}: {outcomes[0].text}")
    return time.perf_counter() - start


def replicas(folder: Path, num_projections: int, iterations: int, sample: int = 5) -> tuple[float, float]:
    """Fifty single runs (the time of ``sample`` of them, times ten) against one run of fifty replicas."""
    spec = _spec(folder, f"distance.num_projections={num_projections}", f"task.iterations={iterations}", "replicas=50")
    single = sum(_run(spec.with_seeds([seed])) for seed in range(sample)) * 50 / sample
    return single, _run(spec)


def bare_loop(folder: Path, num_projections: int, iterations: int) -> tuple[float, float]:
    """A run with all that belongs to it against the plain loop: distance, backward, Adam, W2 as often."""
    spec = _spec(folder, f"distance.num_projections={num_projections}", f"task.iterations={iterations}")
    task, data = build(spec)
    y = data.samples()
    task.initialise(y)
    x, distance = task.particles, task.distance
    adam = torch.optim.Adam([x], lr=spec.task.lr, betas=tuple(spec.task.betas))
    with threads(spec):  # as the run has them
        start = time.perf_counter()
        for step in range(1, iterations + 1):
            adam.zero_grad()
            distance(x, y).sum().backward()
            adam.step()
            if step == 1 or step % task.evaluate_every == 0:
                exact_wasserstein(x, y)
        bare = time.perf_counter() - start
    return _run(spec), bare


def evaluation(folder: Path, iterations: int) -> tuple[float, float]:
    """All evaluations of W2 in an ASWD run at L = 1000 against the whole run."""
    spec = _spec(folder, "distance.num_projections=1000", f"task.iterations={iterations}")
    whole = _run(spec)
    task, data = build(spec)
    y = data.samples()
    task.initialise(y)
    times = []
    for _ in range(10):
        start = time.perf_counter()
        exact_wasserstein(task.particles, y)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * (iterations // spec.task.evaluate_every + 1), whole


CASES = [
    Case("50 replicas against 50 single runs, L=10", lambda folder: replicas(folder, 10, 100), 4, True),
    Case("50 replicas against 50 single runs, L=100", lambda folder: replicas(folder, 100, 25), 1, True),
    Case("a run against its bare loop, L=100", lambda folder: bare_loop(folder, 100, 300), 1.3, False),
    Case("W2 in a run at L=1000", lambda folder: evaluation(folder, 60), 0.1, False),
]


def run(output: Path, rounds: int = 7, only: str | None = None) -> None:
    """Run the benchmark, print its table and write it as JSON. Cases of many seconds are measured three times."""
    rows, found, rounds = [], [], min(rounds, 3)
    with tempfile.TemporaryDirectory() as folder:
        for case, pairs, (first, second) in timed(CASES, rounds, only, lambda case: case.measure(Path(folder))):
            ratio = first / second
            met = ratio >= case.bar if case.at_least else ratio <= case.bar
            goal = f"at {'least' if case.at_least else 'most'} {case.bar:g}"
            rows.append((case.title, f"{first:.2f} s", f"{second:.2f} s", f"{ratio:.2f}", goal, "ok" if met else "MISSED"))
            found.append({"title": case.title, "seconds": pairs, "ratio": ratio, "bar": case.bar, "met": met})
    print(table(("case", "first", "second", "ratio", "goal", ""), rows))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"cases": found, "torch": torch.__version__, "threads": torch.get_num_threads()}, indent=2))
    print(f"\nAll times are in {output}. N = 500, {torch.get_num_threads()} threads, medians of {rounds}; imports count for neither side.")
