"""What all launchers share."""

import subprocess
import sys

import numpy as np
import pytest

from aswd.launchers.base import mark_failed
from aswd.launchers.registry import LAUNCHERS
from aswd.runs import Run, RunState
from aswd.runs.locks import Locks
from aswd.utils.metric_history import MetricHistory
from tests.runs.small import small_spec


@pytest.mark.parametrize("name", LAUNCHERS)
def test_the_registry_names_a_class_and_its_options(name):
    config = LAUNCHERS.config(name)()
    assert config.name == name
    assert LAUNCHERS.target(name)(config).config is config
    with pytest.raises(ValueError, match=f"name must be one of '{name}'; got 'other'"):
        LAUNCHERS.config(name)(name="other")


def test_options_are_checked_without_importing_what_executes_runs():
    names = "['torch', 'pytorch_lightning', 'aswd.runs.execution', 'submitit']"
    code = f"""
import sys
from aswd.launchers.registry import LAUNCHERS
for name in LAUNCHERS:
    LAUNCHERS.config(name)()
print([name for name in {names} if name in sys.modules])
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_only_seeds_that_are_neither_done_nor_running_elsewhere_are_marked_failed(tmp_path):
    run, locks = small_spec(tmp_path, "replicas=3"), Locks()
    metrics = MetricHistory([0])
    metrics.add(30, {"w2": [0.5]})
    Run.of(run, 0).write_config("seeds: [0]\n")
    Run.of(run, 0).finish(metrics, {"particles": np.zeros(3)}, {"seed": 0, "final": {"w2": 0.5}, "wall_time": 1.0})
    locks.acquire(Run.of(run, 1).lock)
    try:
        outcomes = mark_failed(run, "the worker process was killed")
    finally:
        locks.release()
    assert [outcome.status for outcome in outcomes] == ["done", "running", "failed"]
    assert [Run.of(run, seed).state for seed in range(3)] == [RunState.DONE, RunState.NEW, RunState.FAILED]
    assert Run.of(run, 2).status["reason"] == "the worker process was killed"


def test_a_failure_that_cannot_be_recorded_is_reported_once(tmp_path):
    run = small_spec(tmp_path)
    run.folder.mkdir(parents=True)
    Run.of(run, 0).folder.write_text("a file where a folder should be\n")
    (outcome,) = mark_failed(run, "the worker process was killed")
    assert (outcome.status, outcome.text) == ("failed", "the worker process was killed (File exists)")
