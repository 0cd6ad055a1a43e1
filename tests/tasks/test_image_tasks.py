"""The image tasks under a plain trainer with a data module that knows nothing of aswd, in one and in two processes."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from aswd.data.images import Synthetic
from aswd.data.mnist import Mnist
from aswd.metrics import mnist_features as features_module
from aswd.metrics.mnist_features import mnist_features
from aswd.tasks import gan as gan_module
from aswd.tasks.gan import Gan
from aswd.tasks.generator import PixelGenerator
from aswd.tasks.swae import Swae
from aswd.utils.errors import UserError
from tests.data.small import expect_mnist, mnist_contents, write_mnist
from tests.tasks.test_gan import StandIn

from pytorch_lightning import LightningDataModule, Trainer  # isort: skip
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint  # isort: skip

SWD = {"name": "swd", "num_projections": 5}
TASKS = {
    "gan": (Gan, {"width": 2, "num_samples": 4, "evaluate_epochs": 1, "fid": "false"}, (3, 64, 64), "distance_value"),
    "generator": (PixelGenerator, {"hidden": 8, "evaluate_every": 5, "num_samples": 4, "num_swd_projections": 20}, (1, 8, 8), "w2"),
    "swae": (Swae, {"num_w2_samples": 20}, (1, 8, 8), "w2"),
}


class Foreign(LightningDataModule):
    """Float images with labels through torch's own loaders."""

    def __init__(self, shape, batch_size=10):
        super().__init__()
        self.shape, self.batch_size = shape, batch_size

    def loader(self, count, **options):
        images = torch.rand(count, *self.shape, generator=torch.Generator().manual_seed(count))
        return DataLoader(TensorDataset(images, torch.arange(count) % 10), self.batch_size, **options)

    def train_dataloader(self):
        return self.loader(50, shuffle=True)

    def val_dataloader(self):
        return self.loader(24)


def quiet_trainer(folder, **options):
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    return Trainer(**{"accelerator": "cpu", "default_root_dir": folder, **quiet, **options})


@pytest.mark.parametrize("name", TASKS)
def test_a_plain_trainer_with_a_foreign_data_module(name, tmp_path):
    task_class, options, shape, metric = TASKS[name]
    task = task_class(SWD, seeds=[3], epochs=4, images=False, **options)
    best = ModelCheckpoint(tmp_path, monitor=metric, filename="best")
    stopping = EarlyStopping(metric, patience=1, stopping_threshold=1e9)  # reached at the first evaluation
    trainer = quiet_trainer(tmp_path, enable_checkpointing=True, callbacks=[best, stopping], **task.trainer_defaults())
    trainer.fit(task, datamodule=Foreign(shape))
    assert trainer.global_step == 5  # of 20: stopped early
    assert best.best_model_score == pytest.approx(trainer.callback_metrics[metric].item())

    again = task_class.load_from_checkpoint(best.best_model_path)
    assert again.shape == shape
    for name, value in task.state_dict().items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(again.state_dict()[name], value), name
    for key, array in task.samples(0).items():
        np.testing.assert_array_equal(again.samples(0)[key], array)
    (metrics,) = quiet_trainer(tmp_path).validate(again, datamodule=Foreign(shape), verbose=False)
    for name in {"w2", "swd", "bce", "l1"} & set(metrics):
        assert metrics[name] == pytest.approx(trainer.callback_metrics[name].item(), rel=1e-6)


@pytest.mark.parametrize("name", TASKS)
def test_epochs_and_evaluations_are_lightnings(name, tmp_path):
    """Without arguments for the trainer the task ends after its epochs; with its defaults it is evaluated as it says."""
    task_class, options, shape, metric = TASKS[name]
    task = task_class(SWD, epochs=2, images=False, **options)
    trainer = quiet_trainer(tmp_path, limit_val_batches=1)
    trainer.fit(task, datamodule=Foreign(shape))
    assert (trainer.global_step, trainer.current_epoch) == (10, 2)
    assert metric in trainer.callback_metrics
    task = task_class(SWD, iterations=7, images=False, **options)
    trainer = quiet_trainer(tmp_path)
    trainer.fit(task, datamodule=Foreign(shape))
    assert trainer.global_step == 7


def test_what_cannot_be_done_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match=r"Swae has no networks yet: fit it or load it from a checkpoint before trainer\.validate"):
        quiet_trainer(tmp_path).validate(Swae(SWD), datamodule=Foreign((1, 8, 8)), verbose=False)
    with pytest.raises(ValueError, match=r"data must be colour images of 64 x 64 pixels for task=gan; got grey ones of 8 x 8"):
        quiet_trainer(tmp_path).fit(Gan(SWD, width=2), datamodule=Foreign((1, 8, 8)))
    with pytest.raises(ValueError, match=r"images must be grey and square for the autoencoder; got 3 channels of 8 x 8"):
        quiet_trainer(tmp_path).fit(Swae(SWD), datamodule=Foreign((3, 8, 8)))
    with pytest.raises(ValueError, match=r"seeds must be a single one for Swae; got \[0, 1\]"):
        Swae(SWD, seeds=[0, 1])


@pytest.mark.filterwarnings("ignore:a Frechet distance from")
def test_fid_against_the_validation_batches_of_a_foreign_data_module(tmp_path, monkeypatch):
    monkeypatch.setattr(gan_module, "Inception", StandIn)
    task = Gan(SWD, width=2, fid="true", num_fid_samples=20, iterations=2, evaluate_every=2, num_samples=4)
    trainer = quiet_trainer(tmp_path, **task.trainer_defaults())
    trainer.fit(task, datamodule=Foreign((3, 64, 64)))
    details = task.record()["fid_details"]
    assert (details["data"], details["split"], details["num_real"], details["num_fake"]) == ({"name": "Foreign"}, "validation", 24, 20)
    assert trainer.callback_metrics["fid"] > 0
    assert [path.name for path in (tmp_path / "images").iterdir()] == ["samples_0000002.png"]


@pytest.fixture
def mnist_root(tmp_path, monkeypatch):
    contents = mnist_contents(200, 100)
    expect_mnist(monkeypatch, contents)
    write_mnist(tmp_path, contents)
    monkeypatch.setattr(features_module, "EPOCHS", 1)
    return tmp_path


@pytest.mark.filterwarnings("ignore:a Frechet distance from")
@pytest.mark.parametrize(
    ("task_class", "options"),
    [(PixelGenerator, {"hidden": 8, "seeds": (0, 1), "num_w2_samples": 70, "num_swd_projections": 5}), (Swae, {"num_w2_samples": 70})],
)
def test_mnist_frechet(task_class, options, mnist_root):
    """Against the plain function, on the images that the task generates, or decodes from the prior."""
    seeds = options.get("seeds", (0,))

    def fit(**more):
        data = Mnist(name="mnist", root=str(mnist_root), seeds=seeds, batch_size=50)
        task = task_class(SWD, iterations=2, evaluate_every=2, images=False, **options, **more)
        trainer = quiet_trainer(mnist_root, **task.trainer_defaults())
        trainer.fit(task, datamodule=data)
        return task, data

    task, _ = fit()
    assert "mnist_frechet" not in task.seed_metrics  # auto, and the network is not on disk
    task, _ = fit(mnist_frechet="true")
    values = task.seed_metrics["mnist_frechet"]
    assert torch.equal(values, fit()[0].seed_metrics["mnist_frechet"])  # auto, with the network on disk
    task, data = fit(mnist_frechet="true")
    network = mnist_features(mnist_root)
    details = task.record()["mnist_frechet_details"]
    assert (details["weights"], details["split"], details["num_real"], details["num_fake"]) == (network.weights, "test", 100, 70)
    if task_class is PixelGenerator:
        noise = torch.stack([task.draw_noise(70, seed, 6, 1) for seed in seeds])
        fake = task.generate(noise).mul(255).round().clamp(0, 255).to(torch.uint8)
    else:
        fake = task._decode(task._held_out())[None]
    real = network.features(data.images("test"))
    expected = [features_frechet(network.features(images), real) for images in fake]
    torch.testing.assert_close(values, torch.tensor(expected, dtype=torch.float64), rtol=1e-6, atol=0)
    assert len(values) == len(seeds)
    assert "mnist_frechet" not in fit(mnist_frechet="false")[0].seed_metrics


def features_frechet(a, b):
    from aswd.metrics import frechet_distance

    return frechet_distance(a, b)


def test_mnist_frechet_of_colours_is_refused(tmp_path):
    task = PixelGenerator(SWD, hidden=8, mnist_frechet="true", iterations=1)
    with pytest.raises(UserError, match=r"mnist_frechet must be false for images that are not grey; got true with 3 channels"):
        quiet_trainer(tmp_path).fit(task, datamodule=Foreign((3, 8, 8)))


def fit_in(processes, name, folder):
    """Save state and metrics after some steps on 16 images per step, in so many processes."""
    task_class, own, (channels, size, _), _ = TASKS[name]
    data = Synthetic(channels=channels, size=size, num_train=50, num_test=20, batch_size=16)
    task = task_class({"name": "aswd", "num_projections": 5}, images=False, **{**own, "iterations": 4, "evaluate_every": 2})
    strategy = {"devices": processes, "strategy": "ddp_spawn"} if processes > 1 else {}
    trainer = quiet_trainer(folder, **task.trainer_defaults(), **strategy)
    trainer.fit(task, datamodule=data)
    state = {key: value for key, value in task.state_dict().items() if isinstance(value, torch.Tensor) and "distance" not in key}
    torch.save({"state": state, "metrics": dict(trainer.callback_metrics)}, f"{folder}/{processes}.pt")


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_lightnings_ddp_in_two_processes_gives_what_one_gives(name, tmp_path):
    """In a process of its own: what is spawned imports its main module first."""
    fit_in(1, name, tmp_path)
    subprocess.run([sys.executable, "-m", __name__, name, str(tmp_path)], check=True, capture_output=True)
    one, two = (torch.load(tmp_path / f"{processes}.pt") for processes in (1, 2))
    assert set(two["metrics"]) == set(one["metrics"])
    assert set(two["state"]) == set(one["state"])
    for metric, value in one["metrics"].items():
        assert two["metrics"][metric].item() == pytest.approx(value.item(), rel=1e-2), metric
    for key, value in one["state"].items():
        torch.testing.assert_close(two["state"][key], value, rtol=0.02, atol=0.005, msg=lambda text, key=key: f"{key}: {text}")


if __name__ == "__main__":
    fit_in(2, *sys.argv[1:])
