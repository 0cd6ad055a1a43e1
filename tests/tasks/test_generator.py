"""The MNIST generator: metrics, replicas, resuming, learning."""

import math

import numpy as np
import ot
import pytest
import torch

from aswd.data.images import Order
from aswd.distances import build
from aswd.runs import Run
from aswd.runs.checkpoints import latest_checkpoint
from aswd.runs.execution import execute_run
from aswd.tasks.generative import FIXED_NOISE
from aswd.utils.errors import UserError
from tests.runs.test_execution import cut_off, metrics_of
from tests.tasks.tiny import tiny_generator


def task_of(spec):
    """With the networks before the first step."""
    task = spec.build_task()
    task.initialise(spec.build_data().images("train").shape[1:])
    return task


def chosen_test_images(spec, task):
    """Of the first seed, in [0, 1], flat."""
    test = spec.build_data().images("test")
    return test[task._choose(len(test))[0]].flatten(1).double().numpy() / 255


@pytest.mark.parametrize("distance", ["swd", "gswd_circular", "dswd", "aswd"])
def test_it_learns(distance, tmp_path):
    """It ends closer to the test images than any single image could be, repeated as often as there are test images."""
    options = [
        "task.iterations=400",
        "task.evaluate_every=200",
        "task.lr=0.002",  # at 0.005 the ASWD swings, and half of the seeds end above the bound
        "task.hidden=32",
        "task.batch_size=32",
        "data.num_train=200",
    ]
    spec = tiny_generator(tmp_path, *options, distance=distance, num_projections=50)
    (outcome,) = execute_run(spec)
    assert outcome.status == "done", outcome.text
    rows = metrics_of(outcome.run)
    assert rows[:, 0].tolist() == [1, 200, 400]
    test = chosen_test_images(spec, task_of(spec))
    best_constant = math.sqrt(np.square(test - test.mean(0)).sum(1).mean())
    assert rows[0, 2] > best_constant
    assert rows[-1, 2] < 0.9 * best_constant
    assert rows[-1, 3] < 0.65 * rows[0, 3]
    final = outcome.run.result["final"]
    assert outcome.run.headline[0] == "w2"
    assert "log10_w2" not in final


def test_w2_is_not_squared_and_swd_not_summed(tmp_path):
    """Against POT, on what the task generates and on the test images that it chose."""
    spec = tiny_generator(tmp_path, "task.num_w2_samples=25", "task.num_swd_projections=20000")
    (outcome,) = execute_run(spec)
    task = task_of(spec)
    checkpoint = torch.load(latest_checkpoint(outcome.run.folder / "checkpoints"))
    weights = {k.removeprefix("generator."): v for k, v in checkpoint["state_dict"].items() if k.startswith("generator.")}
    task.generator.load_state_dict(weights)
    fake = task.generate(task.draw_noise(25, 0, FIXED_NOISE, 1)[None]).reshape(25, 64).double().numpy()
    real = chosen_test_images(spec, task)
    test = spec.build_data().images("test").reshape(30, 64).double().numpy() / 255
    assert all((row == test).all(1).any() for row in real)
    uniform = np.full(25, 1 / 25)
    final = outcome.run.result["final"]
    assert final["w2"] == pytest.approx(math.sqrt(ot.emd2(uniform, uniform, ot.dist(fake, real))), rel=1e-4)
    assert final["swd"] == pytest.approx(ot.sliced_wasserstein_distance(fake, real, n_projections=20000, seed=0), rel=0.03)


def test_one_step_is_adam_on_the_distance(tmp_path):
    spec = tiny_generator(tmp_path, "task.iterations=1")
    (outcome,) = execute_run(spec)
    task = task_of(spec)
    adam = torch.optim.Adam(task.generator.parameters(), lr=0.0005, betas=(0.5, 0.999))
    real = spec.build_data().images("train")[Order(50, 16, 0).batch(0)].flatten(1)[None] / 255
    value = build("swd", num_projections=10, seed=[0])(real, task.generator(task.noise(0, 16)))
    value.sum().backward()
    adam.step()
    assert outcome.run.result["final"]["distance_value"] == pytest.approx(value.item(), rel=1e-5)
    expected = task.generate(task.fixed_noise)[0].mul(255).round().clamp(0, 255)
    images = np.load(outcome.run.folder / "samples.npz")["images"]
    assert np.abs(images - expected.numpy()).max() <= 1


@pytest.mark.parametrize("distance", ["swd", "aswd"])
def test_a_replica_has_the_record_that_it_would_get_alone(distance, tmp_path):
    batch = tiny_generator(tmp_path / "batch", "replicas=3", "seed=4", "task.clip_grad_norm=0.01", distance=distance)
    alone = tiny_generator(tmp_path / "alone", "seed=5", "task.clip_grad_norm=0.01", distance=distance)
    assert batch.key == alone.key
    assert [outcome.status for outcome in execute_run(batch)] == ["done"] * 3
    execute_run(alone)
    np.testing.assert_allclose(metrics_of(Run.of(batch, 5)), metrics_of(Run.of(alone, 5)), rtol=1e-3)
    images = [np.load(Run.of(spec, 5).folder / "samples.npz")["images"].astype(int) for spec in (batch, alone)]
    assert np.abs(images[0] - images[1]).max() <= 1


def test_an_interrupted_run_resumes_to_the_same_bits(tmp_path, monkeypatch):
    whole, parts = (tiny_generator(tmp_path / name, "replicas=2", distance="aswd") for name in ("whole", "parts"))
    execute_run(whole)
    for steps in (2, 3, 11, 12):  # within and at the end of epochs of three steps
        assert cut_off(parts, monkeypatch, steps)[0].status == "interrupted"
    assert [outcome.status for outcome in execute_run(parts)] == ["done", "done"]
    for seed in range(2):
        np.testing.assert_array_equal(metrics_of(Run.of(parts, seed)), metrics_of(Run.of(whole, seed)))
        images = [np.load(Run.of(spec, seed).folder / "samples.npz")["images"] for spec in (parts, whole)]
        np.testing.assert_array_equal(*images)


def test_distances_have_the_options_of_the_dswds_code(tmp_path):
    dswd = tiny_generator(tmp_path, distance="dswd").distance
    assert (dswd["steps"], dswd["lr"], dswd["betas"], dswd["penalty"]) == (10, 0.0005, [0.5, 0.999], 1.0)
    assert tiny_generator(tmp_path, distance="gswd_circular").distance["radius"] == 1000
    assert tiny_generator(tmp_path, distance="aswd").distance["steps"] == 10


def test_mistakes_are_one_sentence(tmp_path):
    with pytest.raises(UserError, match=r"task.mnist_frechet must be one of 'auto', 'true', 'false'; got 'maybe'"):
        tiny_generator(tmp_path, "task.mnist_frechet=maybe")
    with pytest.raises(UserError, match=r"task.mnist_frechet must be false for images that are not grey; got true with data=synthetic"):
        tiny_generator(tmp_path, "task.mnist_frechet=true", "data.channels=3")
    with pytest.raises(UserError, match=r"distance gswd_poly5 cannot be used here: degree=5 in dimension 784"):
        tiny_generator(tmp_path, "data.size=28", distance="gswd_poly5")
    with pytest.raises(UserError, match=r"task.output must be one of 'relu', 'sigmoid'"):
        tiny_generator(tmp_path, "task.output=tanh")


@pytest.mark.slow
def test_two_processes_with_half_the_batch_are_one_with_the_whole(tmp_path):
    specs = [tiny_generator(tmp_path / n, f"trainer.devices={n}", "replicas=2", distance="aswd") for n in "12"]
    for spec in specs:
        assert [outcome.status for outcome in execute_run(spec)] == ["done", "done"]
    np.testing.assert_allclose(metrics_of(Run.of(specs[1], 1)), metrics_of(Run.of(specs[0], 1)), rtol=1e-2)


@pytest.mark.slow
def test_a_compiled_generator_gives_the_same(tmp_path):
    runs = [execute_run(tiny_generator(tmp_path / str(on), f"task.compile={on}", "task.iterations=2"))[0].run for on in ("false", "true")]
    np.testing.assert_allclose(metrics_of(runs[1]), metrics_of(runs[0]), rtol=1e-2)
