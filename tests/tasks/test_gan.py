"""The GAN: its loop, its readings, resuming, precision, images, and its error messages."""

import time

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from aswd.data.images import Order
from aswd.distances import build
from aswd.runs.checkpoints import latest_checkpoint
from aswd.runs.execution import execute_run
from aswd.tasks import gan as gan_module
from aswd.tasks.batches import from_bytes, to_bytes
from aswd.tasks.generative import FIXED_NOISE
from aswd.utils.errors import UserError
from tests.runs.test_execution import cut_off, metrics_of
from tests.tasks.tiny import plan, tiny_gan


def task_of(spec):
    return spec.build_task()


@pytest.mark.parametrize("distance", ["swd", "gswd_circular", "dswd", "aswd", "max_swd", "gswd_nn1", "wasserstein"])
def test_it_runs_with_any_distance(distance, tmp_path):
    (outcome,) = execute_run(tiny_gan(tmp_path, "task.pretraining_steps=2", distance=distance))
    assert outcome.status == "done", outcome.text
    assert metrics_of(outcome.run)[:, 0].tolist() == [1, 3, 6]
    assert np.isfinite(metrics_of(outcome.run)).all()
    assert {"distance_value", "loss_real", "loss_fake"} <= set(outcome.run.result["final"])
    assert ("learned_norm" in outcome.run.result["final"]) == (distance in ("dswd", "aswd", "gswd_nn1"))


@pytest.mark.parametrize("steps", ["separate", "joint"])
def test_the_loop_is_the_one_described(steps, tmp_path):
    """Against one written down here, with torch's BatchNorm, a Sigmoid and the binary cross-entropy."""
    spec = tiny_gan(tmp_path, f"task.discriminator_steps={steps}", "task.evaluate_every=1", "task.iterations=3")
    task = task_of(spec)
    noises = [task.noise(step, 8)[0] for step in range(3)]
    features, head, generator = task.features, task.head, task.generator
    images, order = spec.build_data().images("train"), Order(50, 8, 0)
    distance = build("swd", num_projections=10, seed=[0])
    d_adam = torch.optim.Adam([*features.parameters(), *head.parameters()], lr=0.0005, betas=(0.5, 0.999))
    g_adam = torch.optim.Adam(generator.parameters(), lr=0.0005, betas=(0.5, 0.999))
    rows = []
    for step in range(3):
        real = images[order.batch(step)] / 255
        fake = generator(noises[step])
        losses = []
        d_adam.zero_grad()
        for batch, label in ((real, 1.0), (fake.detach(), 0.0)):
            probability = torch.sigmoid(head(features(batch)))
            losses.append(nn.functional.binary_cross_entropy(probability, torch.full((8,), label)))
            losses[-1].backward()
            if steps == "separate":
                d_adam.step()
                d_adam.zero_grad()
        if steps == "joint":
            d_adam.step()
        g_adam.zero_grad()
        value = distance(features(real).detach(), features(fake))
        value.backward()
        g_adam.step()
        rows.append([loss.item() for loss in (*losses, value)])
    (outcome,) = execute_run(spec)
    np.testing.assert_allclose(metrics_of(outcome.run)[:, 2:], rows, rtol=2e-4)
    images = np.load(outcome.run.folder / "samples.npz")["images"]
    assert images.shape == (4, 3, 64, 64)
    difference = images - to_bytes(task.generate(task.fixed_noise), "unit")[0].numpy().astype(int)
    assert np.abs(difference).max() <= 1


@pytest.mark.parametrize("distance", ["aswd", "dswd"])
def test_an_interrupted_run_resumes_to_the_same_bits(distance, tmp_path, monkeypatch):
    """In the middle of an epoch of six steps, at its end, and beyond."""
    options = ["task.iterations=14", "task.evaluate_every=2", "task.pretraining_steps=2"]
    whole, parts = (tiny_gan(tmp_path / name, *options, distance=distance) for name in ("whole", "parts"))
    (expected,) = execute_run(whole)
    for steps in (2, 5, 6, 7, 12, 13):
        assert cut_off(parts, monkeypatch, steps)[0].status == "interrupted"
    (outcome,) = execute_run(parts)
    assert outcome.status == "done"
    np.testing.assert_array_equal(metrics_of(outcome.run), metrics_of(expected.run))
    images = [np.load(run.folder / "samples.npz")["images"] for run in (outcome.run, expected.run)]
    np.testing.assert_array_equal(*images)
    checkpoints = [torch.load(latest_checkpoint(run.folder / "checkpoints")) for run in (outcome.run, expected.run)]
    states = [checkpoint["state_dict"] for checkpoint in checkpoints]
    assert any("generator" in name for name in states[0])
    for name, value in states[0].items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, states[1][name]), name
    assert {name.split(".")[0] for name in states[0]} == {"features", "head", "generator", "distance", "image_shape"}  # no images


def test_a_run_counted_in_epochs_resumes_to_the_same_bits(tmp_path, monkeypatch):
    options = ["task.iterations=null", "task.epochs=4", "task.evaluate_every=null", "task.evaluate_epochs=2"]
    whole, parts = (tiny_gan(tmp_path / name, *options) for name in ("whole", "parts"))
    (expected,) = execute_run(whole)
    assert metrics_of(expected.run)[:, 0].tolist() == [6, 12, 24]  # after the first epoch of six steps, and every second
    for steps in (4, 6, 12, 17, 18, 23):
        assert cut_off(parts, monkeypatch, steps)[0].status == "interrupted"
    (outcome,) = execute_run(parts)
    assert outcome.status == "done"
    np.testing.assert_array_equal(metrics_of(outcome.run), metrics_of(expected.run))


def test_seeds_are_run_one_by_one_and_differ(tmp_path):
    outcomes = execute_run(tiny_gan(tmp_path / "both", "replicas=2"))
    assert [outcome.status for outcome in outcomes] == ["done", "done"]
    (alone,) = execute_run(tiny_gan(tmp_path / "alone", "seed=1"))
    np.testing.assert_array_equal(metrics_of(outcomes[1].run), metrics_of(alone.run))
    assert not np.array_equal(metrics_of(outcomes[0].run)[:, 2:], metrics_of(alone.run)[:, 2:])


def test_the_trainer_counts_epochs_or_iterations(tmp_path):
    in_epochs = task_of(tiny_gan(tmp_path, "task.iterations=null", "task.epochs=21", "task.evaluate_every=null")).trainer_defaults()
    assert (in_epochs["max_epochs"], in_epochs["max_steps"], in_epochs["check_val_every_n_epoch"]) == (21, -1, 10)
    in_steps = task_of(tiny_gan(tmp_path)).trainer_defaults()
    assert (in_steps["max_epochs"], in_steps["max_steps"]) == (-1, 6)
    assert (in_steps["val_check_interval"], in_steps["check_val_every_n_epoch"]) == (3, None)


def test_faces_are_trained_for_half_as_many_epochs_and_evaluated_twice_as_often(tmp_path):
    faces, objects, longer = (
        plan(tmp_path, "task=gan", f"data={data}", *more) for data, *more in (["celeba"], ["cifar10"], ["celeba", "task.epochs=200"])
    )
    assert (faces.task.epochs, faces.task.evaluate_epochs) == (100, 5)
    assert (objects.task.epochs, objects.task.evaluate_epochs) == (200, 10)
    assert faces.identity["task"]["epochs"] == 100
    assert longer.identity["task"]["epochs"] == 200


def test_readings_are_resolved_into_settings_and_key(tmp_path):
    released, paper, mixed = (tiny_gan(tmp_path, *more) for more in ([], ["reading=paper"], ["reading=paper", "task.latent_dim=32"]))
    assert (released.task.latent_dim, released.task.last_relu, released.task.pixel_range) == (32, True, "unit")
    assert (paper.task.latent_dim, paper.task.last_relu, paper.task.pixel_range) == (100, False, "symmetric")
    assert mixed.task.latent_dim == 32
    assert len({released.key, paper.key, mixed.key}) == 3
    spelled = tiny_gan(tmp_path, "task.latent_dim=32", "task.last_relu=true", "task.pixel_range=unit")
    assert spelled.key == released.key


def test_the_papers_reading_runs(tmp_path):
    (outcome,) = execute_run(tiny_gan(tmp_path, "reading=paper", distance="aswd"))
    assert outcome.status == "done"
    assert outcome.run.result["settings"]["task"]["pixel_range"] == "symmetric"
    assert outcome.run.result["settings"]["distance"]["penalty"] == 1.01


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ("aswd", {"steps": 5, "lr": 0.001, "betas": [0.5, 0.999], "penalty": 0.5, "objective": "sum"}),
        ("dswd", {"steps": 5, "lr": 0.0005, "betas": [0.5, 0.999], "penalty": 10.0, "objective": "sum"}),
        ("gswd_circular", {"radius": 1000.0}),
        ("max_swd", {"lr": 0.0001, "betas": [0.9, 0.999]}),
    ],
)
def test_distances_have_the_released_options(distance, expected, tmp_path):
    given = tiny_gan(tmp_path, distance=distance).distance
    assert {name: given[name] for name in expected} == expected


def test_mixed_precision_leaves_the_distance_in_float32(tmp_path, monkeypatch):
    seen = []
    forward = nn.Module.__call__

    def spy(module, *args, **kwargs):
        out = forward(module, *args, **kwargs)
        if type(module).__name__ in ("Conv2d", "SlicedDistance"):
            seen.append((type(module).__name__, args[0].dtype, out.dtype))
        return out

    monkeypatch.setattr(nn.Module, "__call__", spy)
    mixed = tiny_gan(tmp_path, "trainer.precision=bf16-mixed", "task.iterations=2")
    (outcome,) = execute_run(mixed)
    assert outcome.status == "done", outcome.text
    assert {out for name, _, out in seen if name == "Conv2d"} == {torch.bfloat16}
    assert {kinds[1:] for kinds in seen if kinds[0] == "SlicedDistance"} == {(torch.float32, torch.float32)}
    assert mixed.key != tiny_gan(tmp_path, "task.iterations=2").key


def test_gradients_are_clipped(tmp_path):
    runs = [execute_run(tiny_gan(tmp_path, *more))[0].run for more in ([], ["task.clip_grad_norm=1e-9"], ["task.clip_grad_norm=1e9"])]
    plain, tight, loose = (metrics_of(run)[-1, 2:] for run in runs)
    np.testing.assert_allclose(loose, plain, rtol=1e-6)
    assert not np.allclose(tight, plain, rtol=1e-3)


def test_pretraining_spreads_the_directions_of_the_dswd(tmp_path):
    def mean_cosine(steps):
        task = task_of(tiny_gan(tmp_path, f"task.pretraining_steps={steps}", distance="dswd"))
        task.pretrain()
        x = torch.rand(1, 5, 256)
        task.distance.eval()
        penalty = -task.distance.objective(x, x)
        assert task.distance.maximiser.steps == 5
        return penalty.item()

    assert mean_cosine(200) < 0.8 * mean_cosine(0)


def test_a_grid_is_saved_at_every_evaluation(tmp_path):
    (outcome,) = execute_run(tiny_gan(tmp_path, "task.images=true"))
    folder = outcome.run.folder / "images"
    assert sorted(path.name for path in folder.glob("samples_*.png")) == [f"samples_{step:07d}.png" for step in (1, 3, 6)]
    sheet = np.asarray(Image.open(folder / "samples_0000006.png"))
    assert sheet.shape == (130, 130, 3)
    images = np.load(outcome.run.folder / "samples.npz")["images"]
    np.testing.assert_array_equal(sheet[66:, :64].transpose(2, 0, 1), images[2])
    assert {"distance_value.png", "loss_real.png"} <= {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("pixel_range", ["unit", "symmetric"])
def test_bytes_survive_the_way_there_and_back(pixel_range):
    images = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16)
    numbers = from_bytes(images, pixel_range)
    assert numbers.min() == (0 if pixel_range == "unit" else -1)
    assert numbers.max() == 1
    assert torch.equal(to_bytes(numbers, pixel_range), images)
    assert to_bytes(torch.tensor([-0.9, -3.0, 7.0]), "unit").tolist() == [0, 0, 255]


def test_the_generator_is_evaluated_in_evaluation_mode(tmp_path):
    task = task_of(tiny_gan(tmp_path))
    before = {name: value.clone() for name, value in task.generator.state_dict().items()}
    images = task.generate(task.fixed_noise)
    torch.testing.assert_close(task.generate(task.fixed_noise[:, :1])[0, 0], images[0, 0])  # whatever else is in the batch
    assert all(torch.equal(value, before[name]) for name, value in task.generator.state_dict().items())
    assert task.generator.training


DIM = 24  # more than there are generated images: the distance warns


class StandIn:
    """Features without Inception's weights: a few random projections of the pixels."""

    name, network, weights, resize, dim, original = "fid", "stand-in", "none", "none", DIM, False

    def __init__(self, path=None):
        self.matrix = torch.randn(3 * 64 * 64, DIM, generator=torch.Generator().manual_seed(0)) / 1000

    def features(self, images):
        return images.flatten(1).float() @ self.matrix


def test_fid_is_that_of_the_generators_images(tmp_path, monkeypatch):
    """Against scipy, on what a task of the same state generates."""
    from scipy.linalg import sqrtm

    monkeypatch.setattr(gan_module, "Inception", StandIn)
    options = ["task.fid=true", "task.num_fid_samples=20", f"task.fid_cache_dir={tmp_path}/cache"]
    spec = tiny_gan(tmp_path, *options)
    with pytest.warns(UserWarning, match="20 images"):
        (outcome,) = execute_run(spec)
    assert outcome.status == "done", outcome.text
    assert outcome.run.headline[0] == "fid"
    assert outcome.run.result["fid_details"]["num_fake"] == 20
    assert np.isfinite(metrics_of(outcome.run)).all()
    task = task_of(spec)
    state = torch.load(latest_checkpoint(outcome.run.folder / "checkpoints"))["state_dict"]
    task.generator.load_state_dict({k.removeprefix("generator."): v for k, v in state.items() if k.startswith("generator.")})
    noise = torch.cat([task.draw_noise(count, 0, FIXED_NOISE, 1, start) for start, count in ((0, 8), (8, 8), (16, 4))])
    fake = StandIn().features(to_bytes(task.generate(noise[None])[0], "unit")).double().numpy()
    real = StandIn().features(spec.build_data().images("train")).double().numpy()
    a, b = np.cov(fake.T), np.cov(real.T)
    expected = ((fake.mean(0) - real.mean(0)) ** 2).sum() + np.trace(a + b - 2 * sqrtm(a @ b).real)
    assert outcome.run.result["final"]["fid"] == pytest.approx(expected, rel=1e-3)


def test_fid_without_weights_is_refused_or_left_out(tmp_path, capsys, monkeypatch):
    missing = ["task.fid_weights=/nowhere/weights.pth"]
    (outcome,) = execute_run(tiny_gan(tmp_path, "task.fid=true", *missing))
    assert outcome.status == "failed"
    assert "Inception weights for FID must be a file; got '/nowhere/weights.pth'" in outcome.text
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert task_of(tiny_gan(tmp_path, *missing)).headline == "distance_value"
    assert "no FID in this run: the Inception weights" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["data.channels=1"], "data must be colour images of 64 x 64 pixels for task=gan; got grey ones of 64 x 64"),
        (["data.size=32"], "got colour ones of 32 x 32"),
        (["task.batch_size=1"], "task.batch_size must be a whole number of at least 2"),
        (["task.discriminator_steps=both"], "task.discriminator_steps must be one of 'separate', 'joint'"),
        (["task.pixel_range=bytes"], "task.pixel_range must be one of"),
        (["task.clip_grad_norm=0"], "task.clip_grad_norm must be a number above 0"),
        (["task.fid=maybe"], "task.fid must be one of 'auto', 'true', 'false'"),
        (["task.epochs=many"], "task.epochs must be a whole number"),
        (["task.last_relu=maybe"], "task.last_relu must be true or false"),
        (["trainer.precision=8"], "trainer.precision must be one of '64', '64-true', '32'"),
        (["trainer.devices=3"], "task.batch_size must be a multiple of trainer.devices, 3; got 8"),
    ],
)
def test_mistakes_are_refused_before_the_run(overrides, words, tmp_path):
    with pytest.raises(UserError, match=r"^.*$") as refused:
        tiny_gan(tmp_path, *overrides)
    assert words in str(refused.value)


def test_points_are_no_images(tmp_path):
    with pytest.raises(UserError, match=r"data must be one of synthetic.* for task=gan; got 'knot'"):
        plan(tmp_path, "task=gan", "data=knot")


def test_a_polynomial_of_8192_variables_is_refused_before_anything_is_allocated(tmp_path):
    start = time.monotonic()
    with pytest.raises(UserError, match=r"distance gswd_poly3 cannot be used here: degree=3 in dimension 8192 has .* monomials"):
        tiny_gan(tmp_path, "task.width=64", distance="gswd_poly3")
    assert time.monotonic() - start < 5


def test_a_batch_of_more_images_than_there_are_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"task.batch_size must be at most the number of training images, 50; got 64"):
        tiny_gan(tmp_path, "task.batch_size=64")


@pytest.mark.slow
def test_two_processes_with_half_the_batch_are_one_with_the_whole(tmp_path):
    """Adam's first steps are signs of gradients, of which some are nearly zero: hence no closer. See tests/nets/test_parallel.py."""
    runs = [execute_run(tiny_gan(tmp_path / n, f"trainer.devices={n}", "task.evaluate_every=1", distance="aswd"))[0].run for n in "12"]
    np.testing.assert_allclose(metrics_of(runs[1]), metrics_of(runs[0]), rtol=3e-2)
    np.testing.assert_allclose(metrics_of(runs[1])[0], metrics_of(runs[0])[0], rtol=2e-3)
