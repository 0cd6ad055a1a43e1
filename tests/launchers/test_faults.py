"""Some faults with few runs; ``make test-faults`` injects all of them into many runs."""

import random

import pytest

from aswd.cli.main import main
from tests.launchers import faults
from tests.launchers.stores import SHORT, differing, lost

RUNS = 3


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults") / "expected"
    assert main(["train", "-m", *SHORT, f"seed=range(0,{RUNS})", f"paths.output_dir={folder}"]) == 0
    return folder


@pytest.mark.slow
def test_a_full_disk_costs_only_what_came_after_it(expected, tmp_path):
    faults.full_disk(tmp_path / "store", RUNS, "pool", expected)


@pytest.mark.slow
def test_workers_whose_sweep_was_killed_exit_and_the_next_start_completes_the_rest(expected, tmp_path):
    faults.killed_sweeps(tmp_path / "store", RUNS, 1, "pool", random.Random(0))
    assert not lost(tmp_path / "store", expected)
    assert not differing(tmp_path / "store", expected)


@pytest.mark.slow
def test_two_sweeps_at_once(expected, tmp_path):
    faults.two_at_once(tmp_path / "store", RUNS)
    assert not lost(tmp_path / "store", expected)
    assert not differing(tmp_path / "store", expected)
