"""A search, its runs in the store, and how it goes on after a kill."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from aswd.cli.main import main
from aswd.runs import records
from aswd.search import study
from tests.runs.small import SMALL

FEW = [*(one for one in SMALL if "iterations" not in one), "task.iterations=5", "distance=aswd"]
OVER = ["--over", "distance.penalty=log(0.01,1)", "--over", "distance.num_projections=3,5"]


def arguments(folder, trials, *more):
    return ["search", *FEW, *OVER, "--trials", str(trials), "--seeds", "2", f"paths.output_dir={folder}", *more]


def outcome(folder):
    (path,) = folder.glob("search/*/trials.json")
    return json.loads(path.read_text())


def values(folder):
    trials = sorted(outcome(folder)["trials"], key=lambda trial: trial["trial"])
    return [(trial["values"], trial["mean"]) for trial in trials]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    assert main(arguments(folder, 3)) == 0
    return folder


def test_every_trial_is_a_run_of_the_store(whole, capsys):
    frame = records(whole)
    found = outcome(whole)
    assert len(found["trials"]) == 3
    assert found["value"] == "log10_w2"
    for trial in found["trials"]:
        runs = frame[frame["key"] == trial["folder"].split("/")[-1]]
        assert runs["seed"].tolist() == [0, 1]
        assert set(runs["state"]) == {"done"}
        assert trial["mean"] == pytest.approx(runs["log10_w2"].mean())
        assert runs["distance.penalty"].iloc[0] == float(trial["values"]["distance.penalty"])
    assert found["best"]["mean"] == min(trial["mean"] for trial in found["trials"])
    (picture,) = whole.glob("search/*/search.png")
    assert picture.stat().st_size > 5000


def test_the_same_command_finds_everything_done_and_the_best_is_a_command(whole, capsys):
    stamps = {path: path.stat().st_mtime_ns for path in whole.glob("runs/**/status.json")}
    assert main(arguments(whole, 3)) == 0
    said = capsys.readouterr().out
    assert "3 of 3 trials are done; 0 to go" in said
    assert {path: path.stat().st_mtime_ns for path in whole.glob("runs/**/status.json")} == stamps
    (line,) = [line for line in said.splitlines() if line.startswith("best: aswd train ")]
    assert main(line.removeprefix("best: aswd ").split()) == 0  # the run is found again under its key
    assert "2 seeds: finished before, skipped" in capsys.readouterr().out


def test_more_trials_and_a_cut_in_the_middle_of_one_make_no_difference(whole, tmp_path, monkeypatch, capsys):
    assert main(arguments(tmp_path, 1)) == 0

    def cut(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(study, "execute_run", cut)
        assert main(arguments(tmp_path, 3)) == 130
    assert main(arguments(tmp_path, 3)) == 0
    assert values(tmp_path) == values(whole)
    assert [trial["trial"] for trial in sorted(outcome(tmp_path)["trials"], key=lambda t: t["trial"])] == [0, 1, 2]


def test_failed_trials_are_shown_and_passed_over(tmp_path, capsys):
    few = [*FEW, "task.lr=1e30", "distance.num_projections=3"]  # particles fly away
    code = main(["search", *few, "--over", "distance.penalty=0.1,1", "--trials", "1", "--seeds", "1", f"paths.output_dir={tmp_path}"])
    said = capsys.readouterr().out
    assert code == 1
    assert "1 of 1 seeds failed, the loss is not finite" in said
    assert "no trial was successful" in said


def test_without_optuna_it_is_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert main(arguments(tmp_path, 1)) == 2
    said = capsys.readouterr().err
    assert "pip install 'aswd[search]'" in said
    assert said.count("\n") == 1


def test_two_processes_do_not_share_a_search(whole, capsys):
    from aswd.runs.locks import Locks

    (folder,) = whole.glob("search/*")
    locks = Locks()
    assert locks.acquire(folder / "lock")
    try:
        assert main(arguments(whole, 3)) == 2
    finally:
        locks.release()
    assert "this search is running in another process" in capsys.readouterr().err


@pytest.mark.slow
def test_a_search_that_is_killed_goes_on_to_the_same_end(whole, tmp_path):
    command = [sys.executable, "-m", "aswd", *arguments(tmp_path, 3)]
    for wanted in (1, 3):  # records of seeds, after which it is killed
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while len(list(tmp_path.glob("runs/**/status.json"))) < wanted and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert main(arguments(tmp_path, 3)) == 0
    ours, theirs = values(tmp_path), values(whole)
    assert [chosen for chosen, _ in ours] == [chosen for chosen, _ in theirs]
    assert np.allclose([mean for _, mean in ours], [mean for _, mean in theirs], rtol=1e-4)
