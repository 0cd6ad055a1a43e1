"""Tasks as a user of Lightning runs them: a plain trainer, callbacks of Lightning, data modules of their own."""

import aswd.tasks  # isort: skip  # noqa: F401  before Lightning: cures a torchvision that is linked to CUDA
import numpy as np
import pytest
import torch
from pytorch_lightning import LightningDataModule, Trainer
from pytorch_lightning.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from pytorch_lightning.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader

from aswd.data.photographs import Photographs
from aswd.data.points import Shapes, ToyTargets
from aswd.tasks.barycenter import Barycenter
from aswd.tasks.color_transfer import ColorTransfer
from aswd.tasks.flow import Flow

pytestmark = pytest.mark.filterwarnings("ignore")
QUIET = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_model_summary": False}
ASWD = {"name": "aswd", "num_projections": 5, "steps": 2}
CASES = {
    "flow": (lambda: Flow(ASWD, seeds=(3, 4), iterations=12), lambda: ToyTargets(name="knot", num_samples=20, seeds=(3, 4))),
    "barycenter": (lambda: Barycenter(ASWD, seeds=(3, 4), iterations=12, grid=1), lambda: Shapes(num_samples=15, seeds=(3, 4))),
    "color_transfer": (lambda: ColorTransfer(ASWD, method="flow", iterations=12), lambda: Photographs(num_colors=15)),
}


def state(task):
    return {name: value for name, value in task.state_dict().items() if isinstance(value, torch.Tensor)}


@pytest.mark.parametrize("name", CASES)
def test_a_plain_trainer_fits_logs_saves_loads_and_resumes(name, tmp_path):
    make_task, make_data = CASES[name]
    task, kept = make_task(), ModelCheckpoint(tmp_path, monitor="w2", filename="{step}", save_top_k=-1)
    every = {"val_check_interval": 4, "check_val_every_n_epoch": None}
    trainer = Trainer(**QUIET, **every, callbacks=[kept, EarlyStopping("w2", patience=50)])
    trainer.fit(task, datamodule=make_data())
    assert trainer.global_step == 12  # its own iterations end the fit
    assert 0 < trainer.callback_metrics["w2"] < 10
    torch.testing.assert_close(task.seed_metrics["w2"].mean(), trainer.callback_metrics["w2"].double(), check_dtype=False)

    loaded = type(task).load_from_checkpoint(tmp_path / "step=12.ckpt")
    assert loaded.hparams == task.hparams
    assert all(torch.equal(value, state(loaded)[key]) for key, value in state(task).items())

    again = make_task()
    Trainer(**QUIET, **every, enable_checkpointing=False).fit(again, datamodule=make_data(), ckpt_path=tmp_path / "step=8.ckpt")
    assert all(torch.equal(value, state(again)[key]) for key, value in state(task).items())


def test_the_trainer_that_a_task_proposes(tmp_path):
    task = Flow({"name": "swd", "num_projections": 5}, iterations=9, evaluate_every=3)
    monitor = LearningRateMonitor(logging_interval="step")
    trainer = Trainer(
        **{**QUIET, "logger": CSVLogger(tmp_path, version="")}, **task.trainer_defaults(), log_every_n_steps=1, callbacks=[monitor]
    )
    trainer.fit(task, datamodule=ToyTargets(name="moons", num_samples=20))
    rows = np.genfromtxt(tmp_path / "lightning_logs/metrics.csv", delimiter=",", names=True)
    assert np.isfinite(rows["w2"]).sum() == 3
    assert set(rows["lrAdam"][np.isfinite(rows["lrAdam"])]) == {0.002}


def test_early_stopping_ends_a_fit():
    task = Flow({"name": "swd", "num_projections": 5}, iterations=500, lr=1e-9, evaluate_every=2)
    trainer = Trainer(**QUIET, **task.trainer_defaults(), enable_checkpointing=False, callbacks=[EarlyStopping("w2", 0.1, patience=2)])
    trainer.fit(task, datamodule=ToyTargets(name="moons", num_samples=20))
    assert trainer.global_step == 6


class OwnDistance(nn.Module):
    """One that no name stands for."""

    def forward(self, x, y):
        return (x.mean(1) - y.mean(1)).square().sum(-1)


class OwnPoints(LightningDataModule):
    """Points of another's data module: one cloud, shuffled by a DataLoader, with labels."""

    def train_dataloader(self):
        points = torch.arange(40.0).reshape(20, 2) / 40
        return DataLoader([(point, 0) for point in points], batch_size=10, shuffle=True)

    val_dataloader = train_dataloader


def test_a_distance_and_a_data_module_of_ones_own(tmp_path):
    torch.manual_seed(0)
    task = Flow(OwnDistance(), seeds=(0, 1), iterations=1000, lr=0.05)
    trainer = Trainer(**QUIET, max_epochs=30, callbacks=[ModelCheckpoint(tmp_path, filename="last")])
    trainer.fit(task, datamodule=OwnPoints())
    assert trainer.global_step == 60  # epochs of two batches
    assert task.particles.shape == (2, 10, 2)
    torch.testing.assert_close(task.particles.mean(1), torch.full((2, 2), 0.5), atol=0.15, rtol=0)
    assert "distance" not in task.hparams
    loaded = Flow.load_from_checkpoint(tmp_path / "last.ckpt", distance=OwnDistance())
    assert torch.equal(loaded.particles, task.particles)


def test_gradients_are_clipped_for_every_seed_alone():
    ends = []
    for seeds in ((0, 1), (1,)):
        task = Flow({"name": "wasserstein", "order": 2}, seeds=seeds, iterations=3, lr=0.1)
        trainer = Trainer(**QUIET, max_steps=3, gradient_clip_val=1e-9, enable_checkpointing=False)  # of Adam's epsilon, 1e-8
        trainer.fit(task, datamodule=ToyTargets(name="moons", num_samples=20, seeds=seeds))
        ends.append(task.particles[-1].detach())
    torch.testing.assert_close(*ends, rtol=1e-5, atol=1e-7)
    start = Flow({"name": "wasserstein"}, seeds=(1,)).draw_sources(20, 2)[0]
    assert 0 < (ends[0] - start).abs().max() < 0.05  # without a bound, Adam would have moved by 0.3
