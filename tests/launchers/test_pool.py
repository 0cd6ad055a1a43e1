"""The pool with real processes: kills, signals, failures."""

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from aswd.cli.main import main
from aswd.runs import Run, RunState, records
from tests.launchers.faults import kill, workers_of
from tests.launchers.stores import SHORT, differing, digests, ended, lost, start

LONG = ["task.iterations=100000", "trainer.checkpoint_seconds=0.2"]


def wait_for(is_so, process):
    end = time.monotonic() + 400
    while not is_so():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def at_work(store):
    """The processes that hold locks of runs with checkpoints and without a record: a run with a record is about to end."""
    workers = set()
    for path in Path(store).glob("runs/*/*/*/*/seed=*/lock"):
        with suppress(FileNotFoundError):  # the run has ended meanwhile
            begun = list(path.parent.glob("checkpoints/*.ckpt")) and not (path.parent / "status.json").exists()
            if begun and Run(path.parent).state is RunState.RUNNING:
                workers.add(json.loads(path.read_text())["pid"])
    return workers


@pytest.mark.slow
def test_a_killed_worker_costs_its_own_run_only_and_that_is_retried(tmp_path):
    assert main(["train", "-m", *SHORT, "seed=range(0,4)", f"paths.output_dir={tmp_path / 'expected'}"]) == 0
    process = start(tmp_path / "pool", "seed=range(0,4)", "launcher=pool", "launcher.workers=2")
    wait_for(lambda: workers_of(process), process)
    wait_for(lambda: list(tmp_path.glob("pool/runs/*/*/*/*/seed=*/lock")), process)
    assert kill(workers_of(process)[0])
    code, counts, text = ended(process)
    assert (code, counts) == (0, {"done": 4}), text
    assert not lost(tmp_path / "pool", tmp_path / "expected")
    assert not differing(tmp_path / "pool", tmp_path / "expected")


@pytest.mark.slow
def test_a_run_whose_worker_is_always_killed_fails_and_does_not_stop_the_sweep(tmp_path):
    process = start(tmp_path, "task.iterations=20,100000", "launcher=pool", "launcher.workers=1", "launcher.retries=1")
    for _ in range(2):
        wait_for(lambda: len(digests(tmp_path)) == 1 and len(at_work(tmp_path)) == 1, process)
        (victim,) = at_work(tmp_path)
        assert kill(victim)
        wait_for(lambda victim=victim: victim not in at_work(tmp_path) or process.poll() is not None, process)
    code, counts, text = ended(process)
    assert (code, counts) == (1, {"done": 1, "failed": 1}), text
    assert "the worker process was killed by SIGKILL (attempt 2 of 2)" in text
    frame = records(tmp_path).set_index("state")
    assert "killed by SIGKILL" in frame.loc["failed", "reason"]


@pytest.mark.slow
def test_after_a_stop_request_the_workers_save_and_exit(tmp_path):
    number = signal.SIGINT
    process = start(tmp_path, *LONG, "seed=range(0,3)", "launcher=pool", "launcher.workers=2")
    wait_for(lambda: len(at_work(tmp_path)) == 2, process)
    there = workers_of(process)
    for worker in there:
        assert b"OMP_NUM_THREADS=1" in Path(f"/proc/{worker}/environ").read_bytes().split(b"\0")
        assert os.getsid(worker) == worker  # a session of its own: it gets Ctrl-C from us, not from the terminal
    process.send_signal(number)
    code, counts, text = ended(process)
    assert (code, counts) == (128 + number, {"interrupted": 2, "not": 1}), text
    assert "the same command resumes from the checkpoint" in text
    assert "Traceback" not in text
    assert not any(Path(f"/proc/{worker}").exists() for worker in there)
    states = [run.state for run in map(Run, tmp_path.glob("runs/*/*/*/*/seed=*"))]
    assert states == [RunState.INTERRUPTED] * 2
    assert len(list(tmp_path.glob("runs/*/*/*/*/seed=*/checkpoints/*.ckpt"))) >= 2
