"""SIGTERM is answered within seconds, also where no handler of Python's can run."""

import os
import signal
import subprocess
import sys
import time

import pytest

from aswd.runs.records import runs
from aswd.runs.signals import GRACE
from aswd.runs.store import RunState
from tests.runs.small import SMALL

# A call that takes minutes and returns to Python for no signal, at a moment that the environment names.
SLOW = """
import hashlib, os
from pathlib import Path
from aswd.distances import register
from aswd.tasks.flow import Flow
import torch

def slow(moment):
    if os.environ.get("MOMENT") == moment:
        Path("there").touch()
        hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)

def patched(name):
    real = getattr(Flow, name)
    def method(self, *args, **options):
        slow(name)
        return real(self, *args, **options)
    setattr(Flow, name, method)

patched("setup")
patched("training_step")
patched("validation_step")
patched("draw")

@register("slow")
class Slow(torch.nn.Module):
    def __init__(self):
        super().__init__()
        slow("planning")
    def forward(self, x, y):
        return (x.mean(0) - y.mean(0)).square().sum()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "launcher"),
    [("planning", "local"), ("setup", "local"), ("training_step", "pool"), ("validation_step", "local"), ("draw", "local")],
)
def test_sigterm_is_answered_within_seconds_at_any_moment(moment, launcher, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    command = [sys.executable, "-m", "aswd", "train", "plugins=slow.py", "distance=slow", *SMALL, f"launcher={launcher}"]
    process = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "MOMENT": moment}, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "there").exists():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    start = time.monotonic()
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert time.monotonic() - start < GRACE + 5
    assert process.returncode == (-signal.SIGTERM if moment == "planning" else 128 + signal.SIGTERM)
    assert "Traceback" not in err
    assert [run.state for run in runs(tmp_path / "outputs")] in ([RunState.INTERRUPTED], [])
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "MOMENT": ""}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert [run.state for run in runs(tmp_path / "outputs")] == [RunState.DONE]
