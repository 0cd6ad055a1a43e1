"""The key of a run: a hash of resolved values, of all that changes its numbers and of nothing else."""

import shutil
from dataclasses import dataclass, replace

import pytest
import yaml

from aswd.config import config_dir, groups
from aswd.config.composition import CommandLine, plan_runs
from aswd.config.run import RunConfig, canonical, key_of
from aswd.config.schemas import TrainerConfig
from aswd.tasks import configs
from aswd.utils.fields import neutral, option


def run(*overrides):
    (config,) = plan_runs(CommandLine(list(overrides)))
    return config


@pytest.fixture(scope="module")
def plain():
    return run("distance=aswd")


@pytest.mark.parametrize(
    "option",
    [
        *("seed=7", "replicas=3", "force=true", "trainer=cpu", "trainer.devices=1", "trainer.threads=1", "trainer.checkpoint_seconds=1"),
        *("trainer.enable_progress_bar=false", "trainer.profiler=simple", "trainer.detect_anomaly=true", "trainer.max_steps=2000"),
        *("trainer.log_every_n_steps=3", "trainer.precision=32-true", "logger=wandb", "logger=[wandb,tensorboard]", "launcher=pool"),
        *("+launcher=slurm", "paths.output_dir=elsewhere", "task.images=false", "task.num_frames=3", "distance.validate=true"),
        *("distance.betas=[0.999,0.999]", "distance.order=2", "distance.penalty=0.05", "callbacks=learning_rate_monitor"),
        "callbacks=model_checkpoint",
    ],
)
def test_what_does_not_change_the_numbers_does_not_change_the_key(option, plain):
    assert run("distance=aswd", option.lstrip("+")).key == plain.key


@pytest.mark.parametrize(
    "option",
    [
        *("distance.penalty=0.06", "distance.steps=9", "task.lr=0.003", "data.num_samples=400", "data=knot", "reading=paper"),
        *("trainer.max_steps=100", "trainer.precision=bf16-mixed", "trainer.precision=64", "trainer.gradient_clip_val=1.0"),
        *("trainer.limit_train_batches=10", "trainer.accumulate_grad_batches=2", "callbacks=early_stopping"),
        "+callbacks.mine._target_=pytorch_lightning.callbacks.StochasticWeightAveraging +callbacks.mine.swa_lrs=0.1",
    ],
)
def test_what_changes_the_numbers_changes_the_key(option, plain):
    assert run("distance=aswd", *option.split(" ")).key != plain.key


def test_a_default_that_is_changed_in_code_gives_another_key(monkeypatch, plain):
    @dataclass
    class Changed(configs.FlowConfig):
        lr: float = 0.004

    monkeypatch.setattr(configs, "FlowConfig", Changed)
    changed = run("distance=aswd")
    assert changed.task.lr == 0.004
    assert changed.key != plain.key
    assert run("distance=aswd", "task.lr=0.002").key == plain.key


def test_the_celeba_epochs_changed_in_their_file_give_another_key(monkeypatch, tmp_path):
    before = run("task=gan", "data=celeba", "distance=swd")
    assert (before.task.epochs, before.task.evaluate_epochs) == (100, 5)
    shutil.copytree(config_dir(), tmp_path / "configs")
    path = tmp_path / "configs" / "published" / "gan.yaml"
    path.write_text(path.read_text().replace("epochs: 100", "epochs: 150"))
    monkeypatch.setattr(groups, "config_dir", lambda: tmp_path / "configs")
    after = run("task=gan", "data=celeba", "distance=swd")
    assert after.task.epochs == 150
    assert after.key != before.key
    other = run("task=gan", "data=cifar10", "distance=swd")
    assert other.task.epochs == 200


def test_an_option_that_is_added_with_its_old_value_keeps_the_old_keys():
    @dataclass
    class Before:
        name: str = "flow"
        lr: float = 0.1

    @dataclass
    class After(Before):
        momentum: float = option(0.0, before=0.0)
        images: bool = neutral(True)

    config = run("distance=swd")
    old, new, used = (replace(config, task=task) for task in (Before(), After(), After(momentum=0.5)))
    assert new.key == old.key
    assert used.key != old.key


def test_options_added_to_the_flow_leave_its_keys_at_their_old_values(plain):
    same = ["task.optimizer=adam", "task.loss_factor=1", "task.evaluate_at=[]", "data.centred=false"]
    assert run("distance=aswd", *same).key == plain.key
    for changed in ("task.optimizer=sgd", "task.loss_factor=2", "task.evaluate_at=[7]", "data.centred=true"):
        assert run("distance=aswd", changed).key != plain.key


def test_equal_values_have_one_spelling():
    assert key_of({"a": {"x": 2.0, "betas": (0.5, 1)}}) == key_of({"a": {"betas": [0.5, 1.0], "x": 2}})
    assert canonical({"a": (1.0, [2.5])}) == {"a": [1, [2.5]]}


def test_keys_of_finished_runs_stay_what_they_are():
    """A change here orphans every run that users have: change VERSION only on purpose."""
    runs = plan_runs(CommandLine(["distance=swd,aswd,max_swd", "data=knot"], multirun=True))
    assert [config.key for config in runs] == KEYS


KEYS = ["5abbf75cdb", "1268499fbd", "8563457882"]


def test_where_a_reading_changes_nothing_a_run_serves_both():
    assert run("distance=swd").key == run("distance=swd", "reading=paper").key


def test_a_configuration_survives_files_and_processes(plain):
    import pickle

    batch = run("distance=aswd", "replicas=3", "seed=2", "callbacks=early_stopping", "logger=[wandb,tensorboard]", "launcher=pool")
    for config in (plain, batch, batch.with_seeds([2, 7])):
        again = pickle.loads(pickle.dumps(config))
        assert isinstance(again, RunConfig)
        assert again == config
        assert again.to_yaml() == config.to_yaml()
    assert yaml.safe_load(plain.to_yaml()) == plain.plain()


def test_every_argument_of_lightning_s_trainer_is_an_option():
    import inspect
    from dataclasses import fields

    from pytorch_lightning import Trainer

    arguments = set(inspect.signature(Trainer.__init__).parameters) - {"self", "logger", "callbacks", "default_root_dir"}
    assert arguments == {f.name for f in fields(TrainerConfig)} - {"threads", "checkpoint_seconds"}


def test_no_option_is_decided_elsewhere():
    """Every null of a task is a choice of its own: not counted, not clipped, not given."""
    null = {
        ("flow", "num_particles"), ("barycenter", "num_particles"),
        ("barycenter", "weights"), ("barycenter", "grid"), ("barycenter", "strip"),
        ("gan", "iterations"), ("gan", "clip_grad_norm"), ("gan", "evaluate_every"), ("gan", "fid_weights"),
        ("generator", "iterations"), ("generator", "clip_grad_norm"), ("swae", "iterations"), ("swae", "evaluate_every"),
        ("color_transfer", "palette_seed"),
    }  # fmt: skip
    for task in ("flow", "barycenter", "gan", "generator", "swae", "color_transfer"):
        config = run(f"task={task}", "distance=swd")
        for section in (config.task, config.data):
            nulls = {(task, name) for name, value in vars(section).items() if value is None}
            assert nulls <= null
        assert all(value is not None for name, value in config.distance.items() if name != "seed")


def test_options_added_to_a_distance_leave_its_keys_at_their_old_values():
    old, new = run("distance=dswd"), run("distance=dswd", "distance.sampling=sobol", "distance.redraw=false", "distance.slice_cost=lifted")
    added = {"sampling", "randomisation", "redraw", "slice_cost"}
    assert added <= set(old.distance)
    assert not added & set(old.identity["distance"])
    assert added & set(new.identity["distance"]) == {"sampling", "redraw", "slice_cost"}
    nested = run("distance=aswd", "distance.aggregation={name: softmax, temperature: 0.1}")
    assert nested.distance["aggregation"] == {"name": "softmax", "temperature": 0.1}
    assert nested.build_distance().aggregation.temperature == 0.1
    assert nested.key != run("distance=aswd", "distance.aggregation=softmax").key
