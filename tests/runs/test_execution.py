"""Runs and their records: skipped, forced, resumed, failed, busy, damaged."""

import json
import math
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

import aswd
from aswd.config.composition import CommandLine, plan_runs, register_groups
from aswd.data.registry import DATA
from aswd.distances import registry
from aswd.runs import Run, RunState, records
from aswd.runs import execution as run_module
from aswd.runs.checkpoints import Checkpoints, latest_checkpoint
from aswd.runs.execution import execute_run
from aswd.runs.locks import Locks
from aswd.runs.signals import Interrupted
from aswd.tasks.registry import TASKS
from aswd.utils.files import digest
from tests.runs.small import SMALL, small_spec


def words(outcomes):
    return [outcome.status for outcome in outcomes]


def metrics_of(run):
    """All columns but the last, which is a time."""
    return np.loadtxt(run.folder / "metrics.csv", delimiter=",", skiprows=1)[:, :-1]


class StopAfter(Checkpoints):
    """Stops a run as a signal would, after so many steps."""

    steps = 10
    state_key = Checkpoints.__qualname__  # its state is that of the run that goes on

    def on_train_batch_end(self, trainer, task, *args):
        if trainer.global_step == self.steps:
            self.request.number = 15
        super().on_train_batch_end(trainer, task, *args)


def cut_off(spec, monkeypatch, steps=10):
    with monkeypatch.context() as patch:
        patch.setattr(StopAfter, "steps", steps)
        patch.setattr(run_module, "Checkpoints", StopAfter)
        return execute_run(spec)


@pytest.fixture
def fragile():
    """A distance that fails, or loses its value, on demand; planning calls it once, so set ``calls`` to zero before a run to count."""
    behaviour = {"call": None, "do": None, "calls": 0}

    @registry.register("test_fragile")
    class Fragile(torch.nn.Module):
        supports_replicas = True

        def __init__(self, seed=None):
            super().__init__()
            self.seed = seed

        def forward(self, x, y):
            behaviour["calls"] += 1
            values = (x - y).square().mean((1, 2))
            if behaviour["call"] in (behaviour["calls"], "every"):
                return behaviour["do"](self, values)
            return values

    yield behaviour
    registry._registry.pop("test_fragile")


def fragile_spec(folder, *overrides):
    register_groups()
    (spec,) = plan_runs(CommandLine([*SMALL, "distance=test_fragile", f"paths.output_dir={folder}", *overrides]))
    return spec


def test_a_run_that_is_done_is_not_run_again_unless_forced(tmp_path):
    spec = small_spec(tmp_path)
    (first,) = execute_run(spec)
    assert first.status == "done"
    stamp = (first.run.folder / "status.json").stat().st_mtime_ns
    assert words(execute_run(spec)) == ["skipped"]
    assert (first.run.folder / "status.json").stat().st_mtime_ns == stamp
    before = metrics_of(first.run)
    assert words(execute_run(small_spec(tmp_path, "force=true"))) == ["done"]
    assert (first.run.folder / "status.json").stat().st_mtime_ns > stamp
    np.testing.assert_array_equal(metrics_of(first.run), before)


def test_a_record_says_what_a_reader_asks(tmp_path):
    (outcome,) = execute_run(small_spec(tmp_path, distance="aswd"))
    result = outcome.run.result
    assert set(result["versions"]) >= {"aswd", "torch", "pytorch-lightning", "python"}
    assert result["wall_time"] > 0
    assert result["peak_memory"] > 2**20
    assert result["steps"] == 30
    assert result["settings"]["distance"]["penalty_relative"] is True
    assert result["final"]["log10_w2"] == pytest.approx(math.log10(result["final"]["w2"]))
    config = yaml.safe_load((outcome.run.folder / "config.yaml").read_text())
    assert (config["seed"], config["replicas"]) == (0, 1)
    assert config["distance"]["name"] == "aswd"


@pytest.mark.parametrize("distance", ["aswd", "dswd", "max_swd"])
def test_an_interrupted_run_goes_on_to_the_same_bits(distance, tmp_path, monkeypatch):
    whole, parts = (small_spec(tmp_path / name, distance=distance) for name in ("whole", "parts"))
    (expected,) = execute_run(whole)
    for steps in (1, 3, 10, 11, 24, 25):  # some of them are evaluated
        (outcome,) = cut_off(parts, monkeypatch, steps)
        assert outcome.status == "interrupted"
        assert outcome.signal == 15
        assert outcome.run.state is RunState.INTERRUPTED
    (outcome,) = execute_run(parts)
    assert outcome.status == "done"
    np.testing.assert_array_equal(metrics_of(outcome.run), metrics_of(expected.run))
    samples = [np.load(run.folder / "samples.npz") for run in (outcome.run, expected.run)]
    for name in samples[0]:
        np.testing.assert_array_equal(samples[0][name], samples[1][name])
    states = [torch.load(latest_checkpoint(run.folder / "checkpoints"))["state_dict"] for run in (outcome.run, expected.run)]
    for name, value in states[0].items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, states[1][name]), name


def test_a_batch_that_was_cut_off_while_it_wrote_its_records_is_completed(tmp_path):
    spec = small_spec(tmp_path, "replicas=3")
    assert words(execute_run(spec)) == ["done"] * 3
    expected = [metrics_of(Run.of(spec, seed)) for seed in range(3)]
    (Run.of(spec, 1).folder / "status.json").unlink()
    before = sorted(folder.name for folder in spec.folder.iterdir())
    assert words(execute_run(spec)) == ["skipped", "done", "skipped"]
    assert sorted(folder.name for folder in spec.folder.iterdir()) == before  # by the checkpoint of the batch
    np.testing.assert_array_equal(metrics_of(Run.of(spec, 1)), expected[1])


def test_one_seed_of_a_batch_that_is_made_again_is_made_alone(tmp_path):
    spec = small_spec(tmp_path, "replicas=3")
    execute_run(spec)
    before = {seed: (Run.of(spec, seed).folder / "status.json").stat().st_mtime_ns for seed in range(3)}
    assert words(execute_run(small_spec(tmp_path, "seed=1", "force=true"))) == ["done"]
    after = {seed: (Run.of(spec, seed).folder / "status.json").stat().st_mtime_ns for seed in range(3)}
    assert [seed for seed in range(3) if before[seed] != after[seed]] == [1]
    assert Run.of(spec, 1).result["replicas"] == 1


def test_only_seeds_that_are_missing_are_run(tmp_path):
    assert words(execute_run(small_spec(tmp_path, "seed=1"))) == ["done"]
    assert words(execute_run(small_spec(tmp_path, "replicas=3"))) == ["done", "skipped", "done"]


def test_a_damaged_checkpoint_is_named_and_the_last_good_one_used(tmp_path, monkeypatch, capsys):
    whole, parts = (small_spec(tmp_path / name, distance="aswd") for name in ("whole", "parts"))
    (expected,) = execute_run(whole)
    cut_off(parts, monkeypatch, 8)
    cut_off(parts, monkeypatch, 16)
    folder = Run.of(parts, 0).folder / "checkpoints"
    good, bad = sorted(folder.glob("*.ckpt"))
    bad.write_bytes(bad.read_bytes()[: bad.stat().st_size // 2])
    (outcome,) = execute_run(parts)
    assert "step=000000016.ckpt is damaged" in capsys.readouterr().err
    assert len(list(folder.glob("step=000000016.ckpt.damaged-*"))) == 1
    assert outcome.status == "done"
    assert good.name == "step=000000008.ckpt"
    np.testing.assert_array_equal(metrics_of(outcome.run), metrics_of(expected.run))


class Evil:
    """What runs code where it is unpickled."""

    def __reduce__(self):
        return exec, ("import pathlib; pathlib.Path('ran').touch()",)


@pytest.mark.parametrize("how", ["torch", "pickle"])
def test_a_poisoned_checkpoint_is_named_and_set_aside_and_the_run_starts_anew(how, tmp_path, monkeypatch, capsys):
    whole, spec = (small_spec(tmp_path / name) for name in ("whole", "poisoned"))
    monkeypatch.chdir(tmp_path)
    execute_run(whole)
    (outcome,) = cut_off(spec, monkeypatch)
    folder = outcome.run.folder / "checkpoints"
    for path in sorted(folder.glob("*.ckpt")):
        if how == "torch":
            torch.save({**torch.load(path, weights_only=True), "hyper_parameters": Evil()}, path)
        else:
            path.write_bytes(pickle.dumps(Evil()))
        path.with_suffix(".sha256").write_text(digest(path))  # the seal is right
    capsys.readouterr()
    assert words(execute_run(spec)) == ["done"]
    err = capsys.readouterr().err
    assert "which could run code, and was not loaded; it was set aside as" in err
    assert "weights_only" not in err
    assert len(list(folder.glob("*.damaged-*"))) >= 1
    assert not (tmp_path / "ran").exists()
    np.testing.assert_array_equal(metrics_of(outcome.run), metrics_of(Run.of(whole, 0)))


def test_every_load_of_ours_is_of_weights_only():
    for path in Path(aswd.__file__).parent.rglob("*.py"):
        text = path.read_text()
        for call in re.findall(r"(?:torch\.load|\.fit)\((?:[^()]|\([^()]*\))*\)", text):
            if "ckpt_path" in call or call.startswith("torch.load"):
                assert "weights_only=True" in call, path
        assert "allow_pickle=True" not in text, path


def test_a_forced_run_that_is_killed_leaves_the_record_that_was_there(tmp_path, monkeypatch, fragile):
    spec = fragile_spec(tmp_path, "trainer.checkpoint_seconds=0")
    (first,) = execute_run(spec)
    before = first.run.result
    again = fragile_spec(tmp_path, "force=true", "trainer.checkpoint_seconds=0")
    assert words(cut_off(again, monkeypatch)) == ["interrupted"]
    assert first.run.state is RunState.INTERRUPTED
    assert first.run.result == before
    assert records(tmp_path)["w2"].tolist() == [before["final"]["w2"]]

    def die(self, values):
        raise SystemError("killed")

    fragile |= {"call": "every", "do": die}
    assert words(execute_run(again)) == ["failed"]
    assert first.run.result == before
    fragile |= {"call": None}
    assert words(execute_run(spec)) == ["done"]  # the same command without force=true runs what was requested
    assert first.run.record == first.run.folder
    assert first.run.result["finished"] >= before["finished"]
    assert not (first.run.folder / "former").exists()


def test_a_damaged_record_is_named_and_made_again(tmp_path, capsys):
    spec = small_spec(tmp_path)
    (outcome,) = execute_run(spec)
    expected = metrics_of(outcome.run)
    path = outcome.run.folder / "metrics.csv"
    path.write_text(path.read_text()[:-5])
    assert words(execute_run(spec)) == ["done"]
    assert "metrics.csv has changed" in capsys.readouterr().err
    np.testing.assert_array_equal(metrics_of(outcome.run), expected)


def test_a_run_that_another_process_is_at_is_left_to_it(tmp_path):
    spec = small_spec(tmp_path)
    locks = Locks()
    assert locks.acquire(Run.of(spec, 0).lock)
    (outcome,) = execute_run(spec)
    assert outcome.status == "running"
    assert outcome.run.state is RunState.RUNNING
    locks.release()
    assert words(execute_run(spec)) == ["done"]


def fail(distance, values):
    raise OSError("the disk is full")


def test_a_failure_keeps_its_traceback_and_the_next_start_tries_again(tmp_path, fragile):
    fragile |= {"call": 5, "do": fail}
    spec = fragile_spec(tmp_path)
    (outcome,) = execute_run(spec)
    assert outcome.status == "failed"
    assert outcome.run.status["reason"] == "OSError: the disk is full"
    assert "in fail" in (outcome.run.folder / "error.txt").read_text()
    assert not outcome.run.lock.exists()
    fragile["call"] = None
    (outcome,) = execute_run(spec)
    assert outcome.status == "done"
    assert not (outcome.run.folder / "error.txt").exists()


def test_a_loss_that_is_not_finite_stops_the_run_with_a_record(tmp_path, fragile):
    spec = fragile_spec(tmp_path)
    fragile |= {"call": 7, "do": lambda distance, values: values * math.nan, "calls": 0}
    (outcome,) = execute_run(spec)
    assert outcome.status == "failed"
    assert outcome.run.status == {"status": "failed", "reason": "the loss of seed 0 is not finite at step 7", "step": 7}


def test_one_seed_that_diverges_does_not_cost_the_others(tmp_path, fragile):
    def spoil(distance, values):
        return torch.where(torch.tensor(distance.seed) == 1, math.nan, values)

    spec = fragile_spec(tmp_path, "replicas=3")
    fragile |= {"call": 7, "do": spoil, "calls": 0}
    outcomes = execute_run(spec)
    assert words(outcomes) == ["done", "failed", "done"]
    assert outcomes[1].run.status["reason"] == "the loss of seed 1 is not finite at step 7"


def test_particles_that_are_not_finite_cost_their_seed_only(tmp_path, fragile):
    class Spoil(torch.autograd.Function):
        @staticmethod
        def forward(ctx, values):
            return values.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad * torch.tensor([1.0, math.nan])[: len(grad)]

    spec = fragile_spec(tmp_path, "replicas=2")
    fragile |= {"call": 4, "do": lambda distance, values: Spoil.apply(values), "calls": 0}
    outcomes = execute_run(spec)
    assert words(outcomes) == ["done", "failed"]
    assert outcomes[1].run.status["step"] == 5  # the gradient of step 4 was spoiled


def test_several_seeds_that_diverge_together_cost_one_more_start(tmp_path, fragile):
    def spoil(distance, values):
        return torch.where(torch.tensor(distance.seed) > 0, math.nan, values)

    fragile |= {"call": 7, "do": spoil}
    outcomes = execute_run(fragile_spec(tmp_path, "replicas=4"))
    assert words(outcomes) == ["done", "failed", "failed", "failed"]
    assert fragile["calls"] == 7 + 30


def test_what_is_done_stays_done_when_the_mirror_or_another_record_fails(tmp_path, monkeypatch, capsys):
    def no_network(*_):
        raise OSError("no network")

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "finish_loggers", no_network)
        assert words(execute_run(small_spec(tmp_path / "mirror"))) == ["done"]
    assert "OSError: no network" in capsys.readouterr().err

    real, calls = Run.finish, []

    def disk_full(self, *args):
        calls.append(self)
        if len(calls) == 2:
            raise OSError("disk full")
        real(self, *args)

    spec = small_spec(tmp_path / "disk", "replicas=3")
    with monkeypatch.context() as patch:
        patch.setattr(Run, "finish", disk_full)
        assert words(execute_run(spec)) == ["done", "failed", "failed"]
    assert words(execute_run(spec)) == ["skipped", "done", "done"]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"seeds: 3", b"[1, 2"])
def test_a_damaged_batch_configuration_is_set_aside(tmp_path, content, capsys):
    execute_run(small_spec(tmp_path, "replicas=2"))
    spec = small_spec(tmp_path, "seed=5")
    (spec.folder / "seeds=0-1" / "config.yaml").write_bytes(content)
    assert words(execute_run(spec)) == ["done"]
    assert "config.yaml is damaged" in capsys.readouterr().err


def test_what_cannot_even_be_claimed_is_failed_and_not_raised(tmp_path):
    spec = small_spec(tmp_path, "replicas=2")
    spec.folder.mkdir(parents=True)
    (spec.folder / "seed=0").write_text("in the way")
    assert words(execute_run(spec)) == ["failed", "done"]


def test_a_seal_of_garbage_is_a_damaged_checkpoint(tmp_path, monkeypatch):
    spec = small_spec(tmp_path)
    cut_off(spec, monkeypatch, 8)
    cut_off(spec, monkeypatch, 16)
    folder = Run.of(spec, 0).folder / "checkpoints"
    (folder / "step=000000016.sha256").write_bytes(b"\xff\xfe\x00")
    assert latest_checkpoint(folder).name == "step=000000008.ckpt"


def test_the_number_of_frames_may_change_between_starts(tmp_path, monkeypatch):
    cut_off(small_spec(tmp_path), monkeypatch, 16)
    (outcome,) = execute_run(small_spec(tmp_path, "task.num_frames=7"))
    assert outcome.status == "done"
    # Of 30 (k/6)^2 those that were also of 30 (k/3)^2 until step 16: of steps 1 and 8 there are no frames.
    samples = np.load(outcome.run.folder / "samples.npz")
    assert samples["frame_steps"].tolist() == [0, 3, 13, 21, 30]
    assert len(samples["frames"]) == 5
    np.testing.assert_array_equal(samples["frames"][-1], samples["particles"])


def test_force_makes_a_damaged_run_again_from_the_beginning(tmp_path):
    (outcome,) = execute_run(small_spec(tmp_path))
    (outcome.run.folder / "metrics.csv").write_text("")
    before = (outcome.run.folder / "checkpoints" / "step=000000030.ckpt").stat().st_mtime_ns
    assert words(execute_run(small_spec(tmp_path, "force=true"))) == ["done"]
    assert (outcome.run.folder / "checkpoints" / "step=000000030.ckpt").stat().st_mtime_ns > before


def test_a_lost_lock_stops_the_run(tmp_path, monkeypatch):
    class Robbed(Checkpoints):
        def on_train_batch_end(self, trainer, task, *args):
            self.locks.lost = self.folder
            super().on_train_batch_end(trainer, task, *args)

    monkeypatch.setattr(run_module, "Checkpoints", Robbed)
    (outcome,) = execute_run(small_spec(tmp_path))
    assert outcome.status == "running"
    assert "taken over" in outcome.text
    assert not (outcome.run.folder / "status.json").exists()  # the folder is another's now


def test_max_steps_cuts_a_run_short_under_a_key_of_its_own(tmp_path):
    cut, whole, no_cut = (small_spec(tmp_path, *more) for more in (["trainer.max_steps=12"], [], ["trainer.max_steps=500"]))
    assert cut.key != whole.key == no_cut.key
    (outcome,) = execute_run(cut)
    assert outcome.run.result["steps"] == 12
    assert metrics_of(outcome.run)[:, 0].tolist() == [1, 5, 10, 12]


def test_global_random_state_is_restored_for_distances_that_draw_from_it(tmp_path, fragile, monkeypatch):
    results = []
    for name, cut in (("whole", False), ("parts", True)):
        spec = fragile_spec(tmp_path / name)
        fragile |= {"call": "every", "do": lambda distance, values: values * (1 + torch.rand(())) * (1 + np.random.rand())}  # noqa: NPY002
        if cut:
            cut_off(spec, monkeypatch, 10)
        (outcome,) = execute_run(spec)
        results.append(metrics_of(outcome.run))
    np.testing.assert_array_equal(*results)


def test_what_is_written_holds_no_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "s3cr3t" * 8)
    execute_run(small_spec(tmp_path, "logger=wandb", "logger.wandb.mode=offline"))
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"s3cr3t" not in path.read_bytes(), path


def test_interruption_names_signal_and_step():
    assert str(Interrupted(2, 17)) == "stopped by SIGINT after step 17"
    assert json.dumps(RunState.DONE) == '"done"'


@pytest.mark.parametrize(
    ("arguments", "steps"),
    [
        (["trainer.gradient_clip_val=0.5"], [1, 5, 10, 15, 20, 25, 30]),
        (["trainer.precision=64-true"], [1, 5, 10, 15, 20, 25, 30]),
        (["trainer.precision=bf16-mixed"], [1, 5, 10, 15, 20, 25, 30]),
        (["trainer.val_check_interval=12"], [1, 12, 24, 30]),
        (["trainer.limit_train_batches=7"], [1, 5, 10, 15, 20, 25, 30]),  # epochs of seven steps
        (["trainer.accumulate_grad_batches=2"], [1, 2, 5, 7, 10, 12, 15, 17, 20, 22, 25, 27, 30]),  # evaluated every five batches
        (["trainer.max_epochs=2", "trainer.limit_train_batches=7"], [1, 5, 10, 14]),
        (["trainer.detect_anomaly=true", "trainer.profiler=simple", "trainer.deterministic=true"], [1, 5, 10, 15, 20, 25, 30]),
    ],
)
def test_arguments_of_the_trainer_do_what_lightning_says_and_resume_exactly(arguments, steps, tmp_path, monkeypatch):
    whole, parts = (small_spec(tmp_path / name, *arguments, distance="aswd") for name in ("whole", "parts"))
    (expected,) = execute_run(whole)
    assert expected.status == "done", expected.text
    assert metrics_of(expected.run)[:, 0].tolist() == steps
    for step in (7, 10):
        assert words(cut_off(parts, monkeypatch, step)) == ["interrupted"]
    (outcome,) = execute_run(parts)
    assert outcome.status == "done", outcome.text
    np.testing.assert_array_equal(metrics_of(outcome.run), metrics_of(expected.run))


def test_callbacks_of_lightning_work_beside_those_of_the_store(tmp_path, monkeypatch):
    monitor = "pytorch_lightning.callbacks.LearningRateMonitor"
    more = [
        "callbacks=early_stopping",
        "callbacks.early_stopping.min_delta=0.01",
        "callbacks.early_stopping.patience=2",
        "logger=tensorboard",
    ]
    more += ["+callbacks.best._target_=pytorch_lightning.callbacks.ModelCheckpoint", "+callbacks.best.monitor=w2"]
    more += [f"+callbacks.rates._target_={monitor}", f"+callbacks.best.dirpath={tmp_path / 'best'}", "task.lr=1e-6", "logger=tensorboard"]
    whole, parts = (small_spec(tmp_path / name, *more) for name in ("whole", "parts"))
    (expected,) = execute_run(whole)
    assert expected.status == "done", expected.text
    assert metrics_of(expected.run)[:, 0].tolist() == [1, 5, 10]  # two evaluations after the first were no better
    assert len(list((tmp_path / "best").glob("*.ckpt"))) == 1
    assert words(cut_off(parts, monkeypatch, 7)) == ["interrupted"]
    assert words(execute_run(parts)) == ["done"]
    np.testing.assert_array_equal(metrics_of(Run.of(parts, 0)), metrics_of(expected.run))
    (Run.of(parts, 0).folder / "status.json").unlink()  # as if it had been cut off while it wrote its record
    assert words(execute_run(parts)) == ["done"]
    np.testing.assert_array_equal(metrics_of(Run.of(parts, 0)), metrics_of(expected.run))


def test_a_lightning_module_of_another_is_recorded(tmp_path, monkeypatch):
    (tmp_path / "my_task.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    for known in (TASKS, DATA):  # what it registers is gone after this test
        monkeypatch.setattr(known, "_entries", dict(known._entries))
    few = ["trainer.max_epochs=3", "trainer.enable_progress_bar=false", "trainer.threads=1", "replicas=2", "paths.output_dir=outputs"]
    own = ["plugins=[my_task.py]", "task=regression", "data=line"]
    (spec,) = plan_runs(CommandLine([*few, *own]))
    outcomes = execute_run(spec)
    assert words(outcomes) == ["done", "done"], outcomes
    rows = np.genfromtxt(outcomes[0].run.folder / "metrics.csv", delimiter=",", names=True)
    assert rows["step"].tolist() == [1, 4, 8, 12]  # after the first step, and at the end of every epoch
    assert rows["error"][-1] < rows["error"][0]
    assert outcomes[1].run.result["headline"] == "error"
    assert outcomes[0].run.result["final"]["error"] == rows["error"][-1]


OWN = """
import aswd.data.registry
import aswd.tasks.registry
import torch
from pytorch_lightning import LightningDataModule, LightningModule
from torch.utils.data import DataLoader, TensorDataset


@aswd.data.registry.register("line")
class Line(LightningDataModule):
    def train_dataloader(self):
        x = torch.linspace(-1, 1, 32)[:, None]
        return DataLoader(TensorDataset(x, 2 * x + 1), batch_size=8)

    val_dataloader = train_dataloader


@aswd.tasks.registry.register("regression")
class Regression(LightningModule):
    def __init__(self, lr: float = 0.1):
        super().__init__()
        self.lr, self.layer = lr, torch.nn.Linear(1, 1)

    def training_step(self, batch, batch_idx):
        return (self.layer(batch[0]) - batch[1]).square().mean()

    def validation_step(self, batch, batch_idx):
        self.log("error", self.training_step(batch, batch_idx))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)
"""
