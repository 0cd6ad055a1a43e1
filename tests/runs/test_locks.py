"""Locks between real processes, and from the dead."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from aswd.runs import locks as lock_module
from aswd.runs.locks import LockLost, Locks, is_held

HOLDER = """
import sys, time
from pathlib import Path
from aswd.runs.locks import Locks

locks = Locks()
print(locks.acquire(Path(sys.argv[1])), flush=True)
time.sleep(60)
"""


def holder(path):
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "True\n"
    return process


def test_the_second_of_two_processes_is_refused_and_the_dead_are_inherited(tmp_path):
    path = tmp_path / "run" / "lock"
    process = holder(path)
    locks = Locks()
    assert is_held(path)
    assert not locks.acquire(path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not is_held(path)
    assert locks.acquire(path)
    locks.release()
    assert [f.name for f in path.parent.iterdir()] == []


def test_another_machine_s_lock_is_judged_by_its_heartbeat(tmp_path):
    path, locks = tmp_path / "lock", Locks()
    path.write_text(json.dumps({"host": "elsewhere", "pid": 1, "birth": "1", "token": "x"}))
    assert not locks.acquire(path)
    old = time.time() - lock_module.SILENCE - 5
    os.utime(path, (old, old))
    assert locks.acquire(path)
    assert json.loads(path.read_text())["token"] != "x"
    locks.release()


def test_a_number_used_again_by_another_process_is_not_the_owner(tmp_path):
    path, locks = tmp_path / "lock", Locks()
    path.write_text(json.dumps({"host": lock_module._host(), "pid": os.getpid(), "birth": "before", "token": "x"}))
    assert locks.acquire(path)
    locks.release()


def test_a_half_written_lock_of_the_dead_is_taken_over_in_time(tmp_path):
    path, locks = tmp_path / "lock", Locks()
    path.write_text('{"host": "el')
    assert not locks.acquire(path)
    old = time.time() - lock_module.SILENCE - 5
    os.utime(path, (old, old))
    assert locks.acquire(path)
    locks.release()


def test_heartbeat_touches_and_notices_a_lost_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(lock_module, "HEARTBEAT", 0.05)
    path, locks = tmp_path / "lock", Locks()
    assert locks.acquire(path)
    os.utime(path, (0, 0))
    wait_until(lambda: path.stat().st_mtime > 0)
    assert locks.lost is None
    held = path.read_text()
    path.write_text("")  # for a moment it cannot be read, as happens on a network
    time.sleep(0.07)
    path.write_text(held)
    time.sleep(0.2)
    assert locks.lost is None
    path.write_text(json.dumps({"host": "elsewhere", "token": "another's"}))
    wait_until(lambda: locks.lost == path)
    locks.release()
    assert path.exists()  # it belongs to someone else now


def test_a_lock_that_stays_away_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(lock_module, "HEARTBEAT", 0.02)
    path, locks = tmp_path / "lock", Locks()
    assert locks.acquire(path)
    path.unlink()
    wait_until(lambda: locks.lost == path)
    with pytest.raises(LockLost, match="taken over"):
        locks.check()
    locks.release()


def test_the_heart_beats_again_after_a_release(tmp_path, monkeypatch):
    monkeypatch.setattr(lock_module, "HEARTBEAT", 0.05)
    first, second, locks = tmp_path / "first", tmp_path / "second", Locks()
    assert locks.acquire(first)
    locks.release([first])
    time.sleep(0.2)
    assert locks.acquire(second)
    os.utime(second, (0, 0))
    wait_until(lambda: second.stat().st_mtime > 0)
    locks.release()


def compete(path, start, wins, index):
    start.wait()
    if Locks().acquire(path):
        wins[index] = 1
        time.sleep(1.0)  # alive, so that nobody may inherit


def test_of_many_who_find_a_dead_lock_one_inherits(tmp_path):
    context = multiprocessing.get_context("fork")
    for attempt in range(3):
        path = tmp_path / f"lock{attempt}"
        path.write_text(json.dumps({"host": lock_module._host(), "pid": 2**22 + 1, "birth": "1", "token": "x"}))
        start, wins = context.Event(), context.Array("i", 8)
        processes = [context.Process(target=compete, args=(path, start, wins, i)) for i in range(8)]
        for process in processes:
            process.start()
        time.sleep(0.2)
        start.set()
        for process in processes:
            process.join()
        assert sum(wins) == 1


def wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
