"""The fault test with few runs; ``make test-faults`` has many."""

import random

import pytest

from tests.launching import faults
from tests.launching.stores import differing, lost

RUNS = 4


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults") / "expected"
    faults.reference(folder, RUNS)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["local", "pool"])
@pytest.mark.parametrize("fault", ["killed", "full disk", "unreadable", "clock"])
def test_nothing_is_lost_and_one_more_start_completes_the_rest(launcher, fault, expected, tmp_path):
    store, rng = tmp_path / "store", random.Random(0)
    if fault == "full disk":
        faults.full_disk(store, RUNS, launcher, expected)
        return
    if fault == "killed":
        faults.killed_sweeps(store, RUNS, 1, launcher, rng)
    elif fault == "unreadable":
        faults.unreadable_folder(store, RUNS, launcher)
    else:
        faults.jumping_clock(store, RUNS, launcher, rng)
    assert not lost(store, expected)
    assert not differing(store, expected)


@pytest.mark.slow
def test_workers_killed_at_random(expected, tmp_path):
    kills, _ = faults.killed_workers(tmp_path / "store", RUNS, 2, random.Random(1))
    assert kills == 2
    assert not lost(tmp_path / "store", expected)
    assert not differing(tmp_path / "store", expected)


@pytest.mark.slow
def test_two_sweeps_at_once(expected, tmp_path):
    faults.two_at_once(tmp_path / "store", RUNS)
    assert not lost(tmp_path / "store", expected)
    assert not differing(tmp_path / "store", expected)
