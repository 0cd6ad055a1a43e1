"""What every launcher for a batch system inherits, with a queue of local processes."""

from dataclasses import replace

import pytest

from aswd.cli.main import main
from aswd.launchers.base import launch
from aswd.launchers.registry import LAUNCHERS
from aswd.launchers.sweep import sweeps
from aswd.runs import Run, RunState
from aswd.runs.signals import StopRequest
from aswd.utils.registry import Entry
from tests.launchers.process_queue import EXECUTE, SYSTEM, ProcessQueueConfig
from tests.runs.small import small_spec

DIES = "raise SystemExit(3)"
SLEEPS = "import time; time.sleep(600)"


@pytest.fixture(autouse=True)
def system(monkeypatch):
    module = "tests.launchers.process_queue"
    monkeypatch.setitem(LAUNCHERS._entries, "processes", Entry(f"{module}:ProcessQueueLauncher", f"{module}:ProcessQueueConfig"))
    SYSTEM.__init__()
    yield SYSTEM
    for job in SYSTEM.processes:
        SYSTEM.end(job)


def runs_of(folder, seeds, **options):
    run = replace(small_spec(folder, "trainer.max_steps=2", "task.images=false"), launcher=ProcessQueueConfig(**options))
    return [run.with_seeds([seed]) for seed in seeds]


def results_of(runs):
    """What is reported for each run, by index."""
    results = {}
    launch(runs, StopRequest(), lambda index, outcomes: results.setdefault(index, [(o.status, o.text) for o in outcomes]))
    return results


@pytest.mark.slow
def test_runs_are_done_in_jobs_and_then_skipped(tmp_path, system):
    runs = runs_of(tmp_path, [0, 1, 0], runs_per_job=2)
    system.outages = 1
    assert {index: word for index, [(word, _)] in results_of(runs).items()} == {0: "done", 1: "done", 2: "done"}
    assert len(system.processes) == 1, "a run that is named twice is submitted once"
    (sweep,) = sweeps(tmp_path)
    assert sweep.jobs == {"1": [0, 1]}
    assert results_of(runs) == {index: [("skipped", "")] for index in range(3)}
    assert len(system.processes) == 1


def test_a_queue_that_does_not_respond_is_waited_for(tmp_path, system, capsys):
    system.program, system.outages = DIES, 3
    (run,) = runs_of(tmp_path, [0], retries=0)
    assert results_of([run])[0][0][0] == "failed"
    assert capsys.readouterr().err.count("aswd: the process queue does not respond: waiting for it") == 1


def test_a_job_that_dies_is_submitted_again_and_then_marked_failed(tmp_path, system):
    system.program = DIES
    (run,) = runs_of(tmp_path, [0], retries=2)
    ((word, text),) = results_of([run])[0]
    assert word == "failed"
    assert text.startswith("job 3 ended as FAILED before the run was done; its output is in ")
    assert len(system.processes) == 3
    assert Run.of(run, 0).state is RunState.FAILED
    assert Run.of(run, 0).status["reason"] == text


def test_a_cancelled_job_is_not_submitted_again(tmp_path, system, monkeypatch):
    system.program = SLEEPS
    (run,) = runs_of(tmp_path, [0])
    monkeypatch.setattr("aswd.launchers.base.Launcher.sleep", lambda *_: system.cancel("1"))
    assert results_of([run]) == {0: [("interrupted", "job 1 was cancelled; the same command resumes it")]}
    assert len(system.processes) == 1


@pytest.mark.slow
def test_jobs_that_are_left_in_the_queue_are_adopted_by_the_next_command(tmp_path, system, capsys):
    system.program = f"import time; time.sleep(3); {EXECUTE}"
    runs = runs_of(tmp_path, [0, 1], wait=False)
    assert results_of(runs) == {index: [("queued", f"as job {index + 1}")] for index in range(2)}
    assert "aswd status shows them, kill 1 2 cancels them" in capsys.readouterr().out
    assert main(["status", f"paths.output_dir={tmp_path}"]) == 0
    assert "jobs in the queue: 2 running" in capsys.readouterr().out
    results = results_of(runs_of(tmp_path, [0, 1]))
    assert [word for index in range(2) for word, _ in results[index]] == ["done", "done"]
    assert "2 jobs of an earlier command are still in the queue: waiting for them" in capsys.readouterr().out
    assert len(system.processes) == 2


def test_a_stop_request_leaves_the_jobs_in_the_queue(tmp_path, system, monkeypatch):
    system.program = SLEEPS
    request, results = StopRequest(), []
    monkeypatch.setattr("aswd.launchers.base.Launcher.sleep", lambda *_: setattr(request, "number", 2))
    launch(runs_of(tmp_path, [0]), request, lambda index, outcomes: results.extend(outcomes))
    assert [(outcome.status, outcome.text) for outcome in results] == [("queued", "as job 1")]
    assert system.processes["1"].poll() is None


def test_a_run_that_is_named_twice_is_submitted_again_where_its_first_job_was_cancelled(tmp_path, system, monkeypatch):
    system.program = SLEEPS
    monkeypatch.setattr("aswd.launchers.base.Launcher.sleep", lambda *_: system.cancel(str(len(system.processes))))
    results = results_of(runs_of(tmp_path, [0, 0]))
    assert [results[index][0][1] for index in range(2)] == [f"job {job} was cancelled; the same command resumes it" for job in (1, 2)]
