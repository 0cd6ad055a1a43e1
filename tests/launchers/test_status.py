"""``aswd status``, ``aswd list runs --failed`` and ``aswd clean`` over stores in all states."""

import json
import os
from datetime import timedelta

import numpy as np
import pytest

from aswd.cli.main import main
from aswd.launchers.status import progress
from aswd.launchers.sweep import SweepRecord, sweeps
from aswd.runs import Run, RunState
from aswd.runs.locks import SILENCE, Locks
from aswd.utils.metric_history import MetricHistory
from tests.launchers.stores import digests
from tests.runs.small import small_spec


def finish(run):
    metrics = MetricHistory([run.seed])
    metrics.add(30, {"w2": [0.5]})
    run.write_config("seeds: [0]\n")
    run.finish(metrics, {"particles": np.zeros(3)}, {"seed": run.seed, "final": {"w2": 0.5}, "wall_time": 1.0})


@pytest.fixture
def store(tmp_path):
    """A sweep of six runs: done, half done, failed, interrupted, and two waiting."""
    spec = small_spec(tmp_path)
    specs = [spec.with_seeds([seed]) for seed in range(6)]
    record, locks = SweepRecord(specs), Locks()
    finish(Run.of(spec, 0))
    Run.of(spec, 1).write_config("seeds: [1]\n")
    (Run.of(spec, 1).folder / "metrics.csv").write_text("step,seed,w2\n10,1,0.7\n15,1,0.6\n")
    locks.acquire(Run.of(spec, 1).lock)
    Run.of(spec, 2).fail("RuntimeError: a cosmic ray", "Traceback\n", 3)
    Run.of(spec, 3).write_config("seeds: [3]\n")
    yield tmp_path, spec, record
    locks.release()
    record.close()


def test_status_counts_and_estimates(store, capsys):
    folder, _, _ = store
    assert main(["status", f"paths.output_dir={folder}"]) == 0
    out = capsys.readouterr().out
    assert "6 runs: 1 done, 1 running, 1 failed, 1 cut off, 2 waiting" in out
    assert "step 15 of 30" in out
    assert "RuntimeError: a cosmic ray" in out
    (sweep,) = sweeps(folder)
    current = progress(sweep)
    assert current.is_active
    # 1.5 runs were done in thirty seconds; a half, an interrupted and two new ones are left.
    assert current.seconds_left(sweep.started + timedelta(seconds=30)) == pytest.approx(30 / 1.5 * 3.5)


def test_what_was_done_before_the_sweep_does_not_count_towards_its_speed(tmp_path):
    spec = small_spec(tmp_path)
    for seed, step in ((0, 15), (1, 24)):
        (Run.of(spec, seed).folder / "checkpoints").mkdir(parents=True)
        (Run.of(spec, seed).folder / "checkpoints" / f"step={step:09d}.ckpt").write_text("x")
    record, locks = SweepRecord([spec.with_seeds([seed]) for seed in range(3)]), Locks()
    (Run.of(spec, 0).folder / "metrics.csv").write_text("step,seed,w2\n15,0,0.7\n18,0,0.6\n")
    locks.acquire(Run.of(spec, 0).lock)
    (sweep,) = sweeps(tmp_path)
    try:
        # A tenth of a run was done in thirty seconds; 0.4, 0.2 and 1 are left.
        assert progress(sweep).seconds_left(sweep.started + timedelta(seconds=30)) == pytest.approx(30 / 0.1 * 1.6)
    finally:
        locks.release()
        record.close()


def test_steps_of_a_batch_of_pending_seeds_and_of_seeds_that_run_one_by_one(tmp_path, capsys):
    spec, locks = small_spec(tmp_path, "replicas=3"), Locks()
    record = SweepRecord([spec])
    finish(Run.of(spec, 0))
    batch = spec.folder / "seeds=1-2" / "metrics.csv"
    batch.parent.mkdir()
    batch.write_text("step,seed,w2\n10,1,0.7\n10,2,0.6\n")
    for seed in (1, 2):
        locks.acquire(Run.of(spec, seed).lock)
    try:
        assert main(["status", f"paths.output_dir={tmp_path}"]) == 0
        assert capsys.readouterr().out.count("step 10 of 30") == 2
        batch.unlink()
        (Run.of(spec, 1).folder / "metrics.csv").write_text("step,seed,w2\n20,1,0.7\n")
        assert main(["status", f"paths.output_dir={tmp_path}"]) == 0
        assert capsys.readouterr().out.count("step 20 of 30") == 1
    finally:
        locks.release()
        record.close()


def test_a_terminal_is_overwritten_and_not_cleared(store, capsys, monkeypatch):
    folder, _, record = store
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: os.terminal_size((40, 4)))
    monkeypatch.setattr("time.sleep", lambda _: record.close())
    assert main(["status", "--watch", f"paths.output_dir={folder}"]) == 0
    _, live, last = capsys.readouterr().out.split("\033[H")
    assert live.count("\n") == 3
    assert live.endswith("...\033[K\n\033[J")
    assert all(len(line.removesuffix("\033[K")) <= 40 for line in live.splitlines()[:3])
    assert "RuntimeError: a cosmic ray" in last


def test_status_of_a_sweep_that_is_not_running(store, capsys):
    folder, _, record = store
    record.close()
    assert main(["status", f"paths.output_dir={folder}", "--watch"]) == 0  # nothing to wait for
    assert "not running: the same command resumes it" in capsys.readouterr().out


def test_status_without_a_sweep(tmp_path, capsys):
    assert main(["status", f"paths.output_dir={tmp_path}"]) == 0
    assert "no sweeps in" in capsys.readouterr().out


def test_a_failure_of_an_earlier_sweep_is_waiting_in_this_one(tmp_path):
    spec = small_spec(tmp_path)
    Run.of(spec, 0).fail("RuntimeError: once", "Traceback\n", 3)
    os.utime(Run.of(spec, 0).folder / "status.json", (0, 0))
    record = SweepRecord([spec])
    (sweep,) = sweeps(tmp_path)
    assert progress(sweep).counts == {"waiting": 1}
    record.close()


def test_failed_runs_are_listed_with_their_reasons(store, capsys):
    folder, spec, _ = store
    assert main(["list", "runs", "--failed", f"paths.output_dir={folder}"]) == 0
    header, line = capsys.readouterr().out.splitlines()
    assert header.split() == ["task", "data", "distance", "seed", "status", "folder", "reason"]
    assert "RuntimeError: a cosmic ray" in line
    assert str(Run.of(spec, 2).folder) in line
    assert main(["list", "tasks", "--failed"]) == 2
    assert "--failed must be used with aswd list runs" in capsys.readouterr().err


def test_clean_asks_and_removes_only_what_is_damaged_or_superseded(store, capsys, monkeypatch):
    folder, spec, _ = store
    done = Run.of(spec, 0).folder
    (done / "checkpoints").mkdir()
    (done / "checkpoints" / "step=000000030.ckpt").write_text("x")
    (done / "status.json.damaged-0123ab").write_text("x")
    old, new = done / ".result.0123abcd.partial.json", done / ".metrics.0123abcd.partial.csv"
    for path in (old, new):
        path.write_text("x")
    os.utime(old, (os.stat(old).st_mtime - 2 * SILENCE,) * 2)
    kept = Run.of(spec, 3).folder / "checkpoints" / "step=000000010.ckpt"
    kept.parent.mkdir()
    kept.write_text("x")
    finish(Run.of(spec, 4))
    (Run.of(spec, 4).folder / "metrics.csv").write_text("changed")
    finish(Run.of(spec, 5))
    (Run.of(spec, 5).folder / "lock").write_text(json.dumps({"host": _host(), "pid": 4194304, "birth": "1", "token": "x"}))
    assert Run.of(spec, 5).state is RunState.DONE
    before = digests(folder)

    monkeypatch.setattr("builtins.input", lambda _: "n")
    assert main(["clean", f"paths.output_dir={folder}"]) == 1
    shown = capsys.readouterr().out
    assert "nothing was removed" in shown
    for text in ("failed: RuntimeError: a cosmic ray", "damaged: metrics.csv has changed", "was set aside", "lock of a dead process"):
        assert text in shown
    assert digests(folder) == before
    assert old.exists()

    assert main(["clean", "--yes", f"paths.output_dir={folder}"]) == 0
    capsys.readouterr()
    assert sorted(path.name for path in done.iterdir()) == sorted(
        ["config.yaml", "metrics.csv", "samples.npz", "result.json", "status.json", new.name]
    )
    assert Run(done).damage() is None
    assert not Run.of(spec, 2).folder.exists()
    assert not Run.of(spec, 4).folder.exists()
    assert not (Run.of(spec, 5).folder / "lock").exists()
    assert Run.of(spec, 5).state is RunState.DONE
    assert kept.exists()
    assert Run.of(spec, 1).state is RunState.RUNNING
    assert main(["clean", f"paths.output_dir={folder}"]) == 0
    assert "nothing to clean" in capsys.readouterr().out


def _host():
    from aswd.runs.locks import _host

    return _host()
