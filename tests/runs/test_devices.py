"""Runs in two processes that Lightning spawns: signals, resuming, failures."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from aswd.runs import Run
from aswd.runs.checkpoints import latest_checkpoint
from aswd.runs.execution import execute_run
from aswd.runs.locks import InheritedLocks, LockLost, Locks
from aswd.runs.signals import StopRequest
from aswd.utils.errors import UserError
from tests.runs.test_execution import cut_off, metrics_of
from tests.tasks.test_swae import small as small_swae
from tests.tasks.tiny import tiny_gan, tiny_generator


@pytest.mark.slow
def test_an_interrupted_run_resumes_to_the_same_bits(tmp_path, monkeypatch):
    options = ["trainer.devices=2", "task.iterations=14", "task.evaluate_every=4"]
    whole, parts = (tiny_gan(tmp_path / name, *options, distance="aswd") for name in ("whole", "parts"))
    (expected,) = execute_run(whole)
    assert expected.status == "done", expected.text
    (outcome,) = cut_off(parts, monkeypatch, 10)
    assert (outcome.status, outcome.signal) == ("interrupted", 15), outcome.text
    assert latest_checkpoint(outcome.run.folder / "checkpoints").name == "step=000000010.ckpt"
    (outcome,) = execute_run(parts)
    assert outcome.status == "done", outcome.text
    np.testing.assert_array_equal(metrics_of(outcome.run), metrics_of(expected.run))
    images = [np.load(run.folder / "samples.npz")["images"] for run in (outcome.run, expected.run)]
    np.testing.assert_array_equal(*images)
    assert sorted(path.name for path in outcome.run.folder.iterdir()) == sorted(path.name for path in expected.run.folder.iterdir())


@pytest.mark.slow
def test_sigterm_saves_and_ends_all_processes(tmp_path):
    spec = tiny_generator(tmp_path, "trainer.devices=2", "task.iterations=1000000", "task.evaluate_every=1000000")
    overrides = ["task=generator", "task.hidden=8", "task.batch_size=16", "task.iterations=1000000", "task.evaluate_every=1000000"]
    overrides += ["task.num_samples=4", "task.images=false", "task.num_swd_projections=50", "data=synthetic", "data.num_train=50"]
    overrides += ["data.size=8", "data.channels=1", "data.num_test=30", "distance=swd", "distance.num_projections=10"]
    overrides += ["trainer.accelerator=cpu", "trainer.threads=1", "trainer.enable_progress_bar=false", "trainer.devices=2"]
    command = [sys.executable, "-m", "aswd", "train", *overrides, "trainer.checkpoint_seconds=0.2", f"paths.output_dir={tmp_path}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    folder = Run.of(spec, 0).folder / "checkpoints"
    deadline = time.monotonic() + 120
    while not list(folder.glob("step=*.ckpt")) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert "stopped by SIGTERM after step" in output, output
    assert process.returncode != 0
    assert latest_checkpoint(folder) is not None


@pytest.mark.slow
def test_a_failure_in_a_process_is_named_as_in_one(tmp_path):
    (outcome,) = execute_run(small_swae(tmp_path, "trainer.devices=2", "task.lr=1e30"))
    assert outcome.status == "failed"
    assert outcome.run.status["reason"] == "the loss of seed 0 is not finite at step 1"
    callback = "class Failing(Callback):\n    def on_train_start(self, *_):\n        raise ValueError('not today')\n"
    (tmp_path / "failing.py").write_text(f"from pytorch_lightning import Callback\n{callback}")
    own = [f"plugins={tmp_path / 'failing.py'}", "+callbacks.failing._target_=failing.Failing"]
    (outcome,) = execute_run(tiny_generator(tmp_path, "trainer.devices=2", *own))
    assert (outcome.status, outcome.text) == ("failed", "ValueError: not today")


@pytest.mark.slow
def test_another_strategy_than_ddp_is_refused(tmp_path):
    (outcome,) = execute_run(tiny_generator(tmp_path, "trainer.devices=2", "trainer.strategy=ddp_spawn", "task.iterations=1"))
    assert outcome.status == "done", outcome.text
    try:
        spec = tiny_generator(tmp_path, "trainer.devices=2", "trainer.strategy=fsdp")
    except UserError:
        return  # Lightning itself refuses it on a machine without a GPU
    (outcome,) = execute_run(spec)
    assert "trainer.strategy must be auto or a kind of ddp with several devices; got 'fsdp'" in outcome.text


def test_locks_of_the_starting_process(tmp_path):
    locks = Locks()
    assert locks.acquire(tmp_path / "lock")
    make, arguments = locks.__reduce__()
    assert arguments[2] == os.getpid()
    with pytest.raises(LockLost, match="the process that holds the locks of this run is gone"):
        make(*arguments).check()
    inherited = InheritedLocks(*arguments[:2], os.getppid())
    inherited.check()
    inherited.token, inherited._next = "another", 0.0
    with pytest.raises(LockLost, match="was taken over by another process"):
        inherited.check()
    locks.release()


def see_request(rank, request, folder):
    torch.save(request.number, f"{folder}/before")
    request.number = 2
    request.take_over()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL  # only the starting process listens


def test_a_shared_request_is_seen_by_other_processes_and_back(tmp_path):
    request = StopRequest()
    request.number = 15
    request.share()
    torch.multiprocessing.spawn(see_request, (request, str(tmp_path)), nprocs=1)
    assert torch.load(tmp_path / "before") == 15
    assert request.number == 2
