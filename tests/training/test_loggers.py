"""The mirrors, read back from what they really wrote."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from aswd.tasks.flow import Flow
from aswd.training import loggers
from aswd.training.run import carry_out
from tests.training.small import small_spec


def wandb_records(folder):
    """The records of the one W&B run below ``folder``, by type."""
    (path,) = Path(folder).rglob("*.wandb")
    command = [str(Path(sys.executable).parent / "wandb"), "leet", "inspect", "--json", str(path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    for line in lines:
        record = json.loads(line)
        found.setdefault(record["type"], []).append(record[record["type"]])
    return found


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    for name in ("WANDB_API_KEY", "WANDB_DATA_DIR", "WANDB_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.mark.slow
def test_a_batch_is_one_offline_wandb_run_with_mean_band_and_table(tmp_path):
    spec = small_spec(tmp_path, "replicas=3", "logger=wandb", "logger.tags=[mine]", distance="aswd")
    assert [outcome.word for outcome in carry_out(spec)] == ["done"] * 3
    found = wandb_records(tmp_path)
    (run,) = found["run"]
    assert run["run_group"] == "flow/swiss_roll/aswd"
    assert run["display_name"] == "flow swiss_roll aswd seeds 0-2"
    assert set(run["tags"]) == {"flow", "swiss_roll", "aswd", "reference", "mine"}
    assert run["config"]["update"]["distance"]["penalty"] == 0.05
    assert run["config"]["update"]["seeds"] == [0, 1, 2]
    text = json.dumps(found["history"])
    for name in ("w2", "w2_low", "w2_high", "distance_value", "learned_norm", "trainer/global_step", "seeds", "particles_gif"):
        assert name in text, name
    assert len(found["exit"]) == 1
    assert not found["exit"][0].get("exit_code")


@pytest.mark.slow
def test_a_failed_run_is_finished_in_wandb_too(tmp_path, monkeypatch):
    def fail(self):
        raise RuntimeError("no W2 today")

    monkeypatch.setattr(Flow, "evaluate", fail)
    (outcome,) = carry_out(small_spec(tmp_path, "logger=wandb"))
    assert outcome.word == "failed"
    (ending,) = wandb_records(tmp_path)["exit"]
    assert ending["exit_code"] == 1


def test_tensorboard_has_every_metric(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (outcome,) = carry_out(small_spec(tmp_path, "logger=tensorboard"))
    events = EventAccumulator(str(outcome.run.folder / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("w2")] == [1, 5, 10, 15, 20, 25, 30]
    assert events.Scalars("w2")[-1].value == pytest.approx(outcome.run.result["final"]["w2"], rel=1e-6)


def test_online_only_with_a_key(monkeypatch, tmp_path):
    assert not loggers._logged_in()
    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    assert loggers._logged_in()
    monkeypatch.delenv("WANDB_API_KEY")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".netrc").write_text("machine api.wandb.ai login user password key\n")
    (home / ".netrc").chmod(0o600)
    assert loggers._logged_in()
