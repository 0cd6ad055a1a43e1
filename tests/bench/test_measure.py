"""What the benchmark measures with."""

import os
import time

import torch

from aswd.bench.measure import gain_of_two_processes, interleaved_medians, peak_memory


def allocate(mebibytes, small):
    torch.ones(1 if small else mebibytes * 2**18)


def test_peak_memory_is_the_child_s_own():
    """Also where this process itself had more before."""
    torch.ones(300 * 2**18)
    assert 95 <= peak_memory(allocate, 100) / 2**20 <= 110


def test_medians():
    medians = interleaved_medians({"short": lambda: time.sleep(0.01), "long": lambda: time.sleep(0.04)}, rounds=3)
    (short, rounds), (long, _) = medians["short"], medians["long"]
    assert rounds == 3
    assert 3 < long / short < 5


def test_what_takes_too_long_is_run_less_often():
    assert interleaved_medians({"long": lambda: time.sleep(0.05)}, rounds=8, budget=0.1)["long"][1] == 3


def sleeping(seconds):
    return lambda: time.sleep(seconds)


def shared(seconds, folder):
    """What takes longer the more processes do it."""

    def call():
        (folder / str(os.getpid())).touch()
        time.sleep(seconds * len(list(folder.iterdir())))

    return call


def test_two_processes_gain_what_they_do_not_share(tmp_path):
    assert gain_of_two_processes(sleeping, 0.02, seconds=0.5) > 1.8
    assert gain_of_two_processes(shared, 0.02, tmp_path, seconds=0.5) < 1.2
