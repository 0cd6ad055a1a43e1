"""The benchmark of the GAN: seconds of an iteration, and what they are above those of its convolutions and its distance alone."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import softplus

from aswd.bench.measure import timed
from aswd.config.composition import CommandLine, plan_runs
from aswd.config.run import RunConfig
from aswd.nets.dcgan import SIZE, Features, Generator, Head
from aswd.runs.execution import execute_run
from aswd.runs.processes import threads
from aswd.utils.tables import table

BAR = 1.2  # an iteration to convolutions + distance, at most


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    distance: str
    num_projections: int
    batch_size: int = 512
    width: int = 64

    @property
    def title(self) -> str:
        return f"{self.distance} L={self.num_projections}"

    def spec(self, folder: Path) -> RunConfig:
        """A run of two iterations on synthetic images, each of them timed."""
        fixed = ["task=gan", "data=synthetic", "task.iterations=2", "task.evaluate_every=1", "task.fid=false", "task.images=false"]
        quiet = ["task.num_samples=1", "task.pretraining_steps=0", "trainer.enable_progress_bar=false", "trainer.checkpoint_seconds=3600"]
        own = [f"distance={self.distance}", f"distance.num_projections={self.num_projections}", f"task.width={self.width}"]
        size = [f"task.batch_size={self.batch_size}", f"data.num_train={self.batch_size}", "data.num_test=2"]
        (spec,) = plan_runs(CommandLine([*fixed, *quiet, *own, *size, f"paths.output_dir={folder}"]))
        return spec


CASES = [Case(distance, count) for distance in ("swd", "gswd_circular", "dswd", "aswd") for count in (10, 100, 1000)]


def iteration(case: Case, folder: Path) -> float:
    """Seconds of the second iteration in a run with all that belongs to it."""
    (outcome,) = execute_run(replace(case.spec(folder), force=True))
    if outcome.status != "done":
        raise RuntimeError(f"{case.title} {outcome.status}: {outcome.text}")
    rows = np.genfromtxt(outcome.run.folder / "metrics.csv", delimiter=",", names=True)
    return float(rows["seconds_per_iteration"][1])


def convolutions(case: Case, folder: Path) -> float:
    """Seconds of the same iteration in plain torch, with the difference of the mean features in place of a distance."""
    spec = case.spec(folder)
    features, head = Features(case.width), Head(case.width)
    generator = Generator(spec.task.latent_dim, spec.task.last_relu, case.width)
    judge = [*features.parameters(), *head.parameters()]
    generator_adam, judge_adam = (torch.optim.Adam(list(p), lr=1e-9) for p in (generator.parameters(), judge))
    real, noise = torch.rand(case.batch_size, 3, SIZE, SIZE), torch.randn(case.batch_size, spec.task.latent_dim)

    def step() -> None:
        fake = generator(noise)
        for images, sign in ((real, -1), (fake.detach(), 1)):
            judge_adam.zero_grad()
            softplus(sign * head(features(images))).mean().backward()
            judge_adam.step()
        features.requires_grad_(False)
        generator_adam.zero_grad()
        (features(real).mean(0) - features(fake).mean(0)).square().sum().backward()
        generator_adam.step()
        features.requires_grad_(True)

    with threads(spec):
        return _second_call(step)


def distance_alone(case: Case, folder: Path) -> float:
    """Seconds of the distance between features, and of its gradient."""
    spec = case.spec(folder)
    distance, dim = spec.build_distance(), 8 * case.width * 16
    real, fake = torch.randn(1, case.batch_size, dim).tanh(), torch.randn(1, case.batch_size, dim).tanh().requires_grad_()
    with threads(spec):
        return _second_call(lambda: distance(real, fake).sum().backward())


def _second_call(run: Callable[[], None]) -> float:
    """Seconds of a call, the first one, which sets things up, left out."""
    run()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _parts(case: Case, folder: Path) -> list[float]:
    return [measure(case, folder) for measure in (iteration, convolutions, distance_alone)]


def run(output: Path, rounds: int = 7, only: str | None = None, cases: list[Case] = CASES) -> None:
    """Run the benchmark, print its table and write it as JSON. Iterations take many seconds on a CPU: each is measured three times."""
    rows, found, rounds = [], [], min(rounds, 3)
    with tempfile.TemporaryDirectory() as folder:
        for case, times, (whole, networks, distance) in timed(cases, rounds, only, lambda case: _parts(case, Path(folder))):
            ratio = whole / (networks + distance)
            verdict = f"at most {BAR:g}", "ok" if ratio <= BAR else "MISSED"
            rows.append((case.title, f"{whole:.2f} s", f"{networks:.2f} s", f"{distance:.2f} s", f"{ratio:.2f}", *verdict))
            found.append({**asdict(case), "title": case.title, "seconds": times, "ratio": ratio, "bar": BAR})
    print(table(("case", "iteration", "convolutions", "distance", "iteration to both", "goal", ""), rows))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"cases": found, "torch": torch.__version__, "threads": torch.get_num_threads()}, indent=2))
    print(f"\nAll times are in {output}. Batch {CASES[0].batch_size}, {torch.get_num_threads()} threads, medians of {rounds}.")
