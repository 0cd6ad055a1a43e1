"""The mirrors, read back from what they really wrote."""

import json
import time

import pytest

from aswd.cli.main import main
from aswd.runs.execution import execute_run
from aswd.tasks.flow import Flow
from aswd.tracking.session import TIMEOUT, logged_in
from tests.runs.small import small_spec
from tests.wandb_files import media_of, read_wandb, summary_of, wandb_files

pytestmark = pytest.mark.usefixtures("without_wandb_key")


def wandb_records(folder):
    """The records of the one W&B run below ``folder``, by type."""
    (path,) = wandb_files(folder).values()
    return read_wandb(path)


@pytest.mark.slow
def test_a_batch_is_one_offline_wandb_run_with_mean_band_and_table(tmp_path):
    spec = small_spec(tmp_path, "replicas=3", "logger=wandb", "logger.wandb.tags=[mine]", distance="aswd")
    assert [outcome.status for outcome in execute_run(spec)] == ["done"] * 3
    found = wandb_records(tmp_path)
    (run,) = found["run"]
    assert run["run_group"] == f"flow/swiss_roll/aswd/{spec.key}"
    assert run["job_type"] == "flow batch"  # not to be averaged with its own seeds
    assert run["run_id"] == f"{spec.key}-seeds-0-2"
    assert run["display_name"] == "flow swiss_roll aswd iterations=30 num_samples=40 num_projections=10 seeds 0-2"
    assert set(run["tags"]) == {"flow", "swiss_roll", "aswd", "reference", "mine"}
    assert run["config"]["update"]["distance"]["penalty"] == 0.05
    assert (run["config"]["update"]["seed"], run["config"]["update"]["replicas"]) == (0, 3)
    text = json.dumps(found["history"])
    for name in ("w2", "w2_low", "w2_high", "distance_value", "learned_norm", "trainer/global_step", "seeds", "particles_gif"):
        assert name in text, name
    assert media_of(found)["particles_gif"] == "video-file"
    summary = summary_of(found)
    assert summary["best/w2"] == summary["min/w2"] <= summary["last/w2"]
    assert summary["best/step"] in range(31)
    assert summary["time_per_iteration"] > 0
    assert len(found["exit"]) == 1
    assert not found["exit"][0].get("exit_code")


@pytest.mark.slow
def test_a_failed_run_is_finished_in_wandb_too(tmp_path, monkeypatch):
    def fail(self, *_):
        raise RuntimeError("no W2 today")

    monkeypatch.setattr(Flow, "validation_step", fail)
    (outcome,) = execute_run(small_spec(tmp_path, "logger=wandb"))
    assert outcome.status == "failed"
    (ending,) = wandb_records(tmp_path)["exit"]
    assert ending["exit_code"] == 1


def test_a_run_goes_on_where_wandb_refuses(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_API_KEY", "tooshort")
    (outcome,) = execute_run(small_spec(tmp_path, "logger=wandb", "logger.wandb.mode=online", "task.iterations=2"))
    assert outcome.status == "done"
    said = capsys.readouterr().err
    assert "aswd: the logger wandb failed (" in said
    assert "aswd wandb sync replays the run later" in said
    assert "tooshort" not in said


def test_online_without_a_key_is_a_sentence_and_asks_nothing(tmp_path, capsys):
    (outcome,) = execute_run(small_spec(tmp_path, "logger=wandb", "logger.wandb.mode=online", "task.iterations=2"))
    assert outcome.status == "done"
    assert "there is no key of W&B" in capsys.readouterr().err


def test_a_mirror_that_breaks_in_the_middle_does_not_break_the_run(tmp_path, monkeypatch, capsys):
    from pytorch_lightning.loggers import TensorBoardLogger

    def fail(self, metrics, step):
        raise OSError("the disk of the mirror is full")

    monkeypatch.setattr(TensorBoardLogger, "log_metrics", fail)
    (outcome,) = execute_run(small_spec(tmp_path, "logger=tensorboard"))
    assert outcome.status == "done"
    assert capsys.readouterr().err.count("the disk of the mirror is full") == 1


def test_wandb_that_is_not_installed_is_a_sentence_before_any_work(tmp_path, monkeypatch):
    import sys

    from aswd.utils.errors import UserError

    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(UserError, match=r"logger\.wandb\.project: W&B is not installed"):
        small_spec(tmp_path, "logger=wandb")


def test_tensorboard_has_every_metric(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (outcome,) = execute_run(small_spec(tmp_path, "logger=tensorboard"))
    events = EventAccumulator(str(outcome.run.folder / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("w2")] == [1, 5, 10, 15, 20, 25, 30]
    assert events.Scalars("w2")[-1].value == pytest.approx(outcome.run.result["final"]["w2"], rel=1e-6)


@pytest.mark.parametrize("mode", ["offline", "dryrun"])
def test_the_mode_of_the_environment_is_honoured_with_a_key_present(mode, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_API_KEY", "0123456789abcdef" * 3)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")  # where nobody listens
    monkeypatch.setenv("WANDB_MODE", mode)
    start = time.monotonic()
    (outcome,) = execute_run(small_spec(tmp_path, "logger=wandb"))
    assert outcome.status == "done"
    assert time.monotonic() - start < TIMEOUT / 2
    assert "failed" not in capsys.readouterr().err
    assert len(list(tmp_path.rglob("*.wandb"))) == 1


def test_wandb_that_is_disabled_or_set_to_nonsense_is_a_sentence(tmp_path, monkeypatch, capsys):
    for mode in ("disabled", "somewhere"):
        monkeypatch.setenv("WANDB_MODE", mode)
        assert main(["wandb", "dashboard", "flow_main", f"paths.output_dir={tmp_path}"]) == 2
        assert f"WANDB_MODE{'=' if mode == 'disabled' else ' must be'}" in capsys.readouterr().err


def test_online_only_with_a_key(monkeypatch, tmp_path):
    assert not logged_in()
    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    assert logged_in()
    monkeypatch.delenv("WANDB_API_KEY")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".netrc").write_text("machine api.wandb.ai login user password key\n")
    (home / ".netrc").chmod(0o600)
    assert logged_in()
