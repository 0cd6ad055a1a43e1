"""Memory is estimated before it is taken."""

import time
from pathlib import Path

import pytest

from aswd.cli.main import main
from aswd.config import memory
from aswd.config.composition import CommandLine, plan_runs
from aswd.utils.errors import UserError
from tests.runs.small import SMALL


@pytest.fixture(autouse=True)
def _small_machine(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * 10**9)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            "train replicas=1000000000",
            "replicas=1000000000 needs at least 4.1 TB of memory (records 4.1 TB), more than the 8.0 GB",
        ),
        (
            "train data=knot data.num_samples=100000000000",
            "flow knot aswd, seed 0, needs at least 160.0 ZB of memory (data 2.4 TB",
        ),
        ("train data=knot data.num_samples=100000 distance=swd", "needs at least 160.0 GB of memory (data 2.4 MB, task 160.0 GB"),
        ("train distance.num_projections=1000000000000", "distance 32.0 TB), more than the 8.0 GB available"),
        ("train task.num_frames=1000000000000", "task 16.0 TB"),
        (
            "train task=barycenter task.grid=1000",
            "barycenter shapes aswd, seed 0, needs at least 26.1 GB of memory",
        ),
        ("train task=barycenter task.grid=100000000", "of memory"),
        ("train task=gan data=synthetic task.width=100000", "gan synthetic aswd, seed 0, needs at least"),
        ("train task=generator data=synthetic data.size=1000000 data.channels=1 distance=swd", "data 49.2 PB"),
        ("train task=generator data=synthetic data.num_train=100000000000 distance=swd", "generator synthetic swd, seed 0, needs at least"),
        ("train task=generator task.batch_size=1000000000", "task.batch_size must be at most the number of training images, 60000"),
        ("train task=swae task.batch_size=1000000000", "task.batch_size must be at most the number of training images, 60000"),
        ("train task=color_transfer distance=swd distance.num_projections=1000000000", "task 24.0 TB, distance 24.0 GB"),
        ("train -m seed=range(0,1000000000)", "a sweep of 1,000,000,000 runs needs at least 4.1 TB of memory"),
        ("train -m seed=range(0,1000) distance.penalty=range(0,1,1e-8)", "a sweep of 100,000,000,000 runs needs at least"),
        ("train -m seed=range(0,inf)", "seed=range(0,inf) must be a range between finite numbers"),
        ("search --over distance.penalty=0.1,1 data.num_samples=100000000000", "task 160.0 ZB"),
        ("profile data.num_samples=100000000000", "task 160.0 ZB"),
        ("reproduce flow_main --scale smoke data.num_samples=100000000000", "task 160.0 ZB"),
    ],
)
def test_what_does_not_fit_ends_at_once_in_one_sentence_with_the_sizes(line, sentence, tmp_path, capsys):
    start = time.monotonic()
    assert main([*line.split(), f"paths.output_dir={tmp_path}"]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert time.monotonic() - start < 20
    assert not list(tmp_path.rglob("config.yaml"))


def test_a_finished_run_is_skipped_also_where_it_would_not_fit(tmp_path, capsys, monkeypatch):
    line = ["train", *SMALL, "distance=swd", "data=knot", f"paths.output_dir={tmp_path}"]
    assert main(line) == 0
    monkeypatch.setattr(memory, "available_memory", lambda: 10_000)
    assert main(line) == 0
    assert "skipped" in capsys.readouterr().out
    assert main([*line, "force=true"]) == 2


def test_of_another_machine_only_the_memory_that_was_requested_is_known():
    for launcher, refused in (("local", True), ("pool", True), ("slurm", False), ("slurm launcher.mem_gb=2", True)):
        overrides = ["data.num_samples=100000", "distance=swd", *f"launcher={launcher}".split()]
        (run,) = plan_runs(CommandLine(overrides))
        if not refused:
            memory.check_memory(run)
            continue
        with pytest.raises(UserError, match="2.1 GB of launcher.mem_gb" if "mem_gb" in launcher else "8.0 GB available"):
            memory.check_memory(run)


@pytest.mark.parametrize("task", ["flow", "gan", "generator", "swae", "barycenter", "color_transfer"])
def test_no_run_of_the_paper_is_refused_on_a_machine_of_8_gb(task):
    (run,) = plan_runs(CommandLine([f"task={task}", "distance=aswd"]))
    needed = memory.needed_memory(run)
    assert set(needed) >= {"data"}
    memory.check_memory(run)


@pytest.mark.slow
def test_the_estimate_is_not_above_what_a_run_takes(tmp_path):
    """A run of its own process: the peak of its memory, less that of one with hardly any data, is not below the estimate."""
    import subprocess
    import sys

    peaks = []
    for count in (50, 3000):
        code = f"""
import re, pathlib
from aswd.cli.main import main
main(["train", "distance=swd", "distance.num_projections=20", "data=rectangle", "data.num_samples={count}", "task.iterations=1",
      "task.images=false", "paths.output_dir={tmp_path / str(count)}", "trainer.enable_progress_bar=false"])
print(1024 * int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]))  # ru_maxrss is the parent's at first
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout.splitlines()[-1]))
    (run,) = plan_runs(CommandLine(["distance=swd", "data=rectangle", "data.num_samples=3000"]))
    needed = sum(memory.needed_memory(run).values())
    assert 10**8 < needed <= peaks[1] - peaks[0]


def test_available_memory_is_that_of_the_machine_or_of_its_container(monkeypatch, tmp_path):
    monkeypatch.undo()
    total = int(Path("/proc/meminfo").read_text().split("MemTotal:")[1].split()[0]) * 1024
    assert 0 < memory.available_memory() <= total
