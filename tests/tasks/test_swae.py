"""The autoencoder: its loss and metrics against plain computations, readings, resuming, error messages, images."""

import math

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from aswd.config.composition import CommandLine, plan_runs
from aswd.data.images import Order
from aswd.data.priors import PRIORS, draw_prior
from aswd.distances import build
from aswd.runs import execution as run_module
from aswd.runs.checkpoints import latest_checkpoint
from aswd.runs.execution import execute_run
from aswd.utils.errors import UserError
from tests.distances.test_registry import PAPER_NAMES
from tests.runs.test_execution import StopAfter

SMALL = [
    *("task=swae", "data=synthetic", "data.channels=1", "data.size=8", "data.num_train=43", "data.num_test=26"),
    *("task.batch_size=10", "task.epochs=3", "task.num_w2_samples=20", "trainer.accelerator=cpu", "trainer.threads=1"),
    *("trainer.enable_progress_bar=false", "task.images=false"),
]


def specs(*overrides, distance="swd"):
    return plan_runs(CommandLine([*SMALL, f"distance={distance}", *overrides]))


def small(folder, *overrides, distance="swd"):
    (spec,) = specs(f"paths.output_dir={folder}", *overrides, distance=distance)
    return spec


def task_of(spec, seeds=(0,)):
    """With the networks before the first step."""
    task = spec.with_seeds(seeds).build_task()
    task.initialise((1, spec.data.size, spec.data.size))
    return task


def rows_of(run):
    with (run.folder / "metrics.csv").open() as file:
        names = file.readline().strip().split(",")
        return names, np.loadtxt(file, delimiter=",")


@pytest.mark.parametrize(("reading", "weight", "power"), [("reference", 10.0, 2), ("paper", 1.0, 1)])
def test_the_loop_written_down(tmp_path, reading, weight, power):
    """Batches, loss, RMSprop and metrics of a run against the formulas, with nothing of the task but its first networks."""
    spec = small(tmp_path, f"reading={reading}", "task.iterations=6", "distance.num_projections=7")
    (outcome,) = execute_run(spec)
    assert outcome.status == "done", outcome.text
    names, rows = rows_of(outcome.run)
    assert names == ["step", "seed", "w2", "bce", "l1", "distance_value", "seconds_per_iteration"]
    assert rows[:, 0].tolist() == [1, 4, 6]  # the first, every epoch of four steps, the last

    start = task_of(spec)
    encoder, decoder, data = start.encoder, start.decoder, spec.build_data()
    train, test = (data.images(split).double().float() / 255 for split in ("train", "test"))
    order, distance = Order(43, 10, seed=0), build("swd", num_projections=7, seed=[0])
    optimiser = torch.optim.RMSprop([*encoder.parameters(), *decoder.parameters()], lr=0.001, alpha=0.9)
    expected = {}
    for step in range(6):
        x = train[order.batch(step)]
        code = encoder((x - 0.1307) / 0.3081)
        p = decoder(code)
        bce = -(x * p.log() + (1 - x) * (1 - p).log()).mean()
        value = distance(code, draw_prior("ring", 10, 2, (0, 8, step)))
        loss = bce + (p - x).abs().mean() + weight * value**power
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            codes = encoder((test - 0.1307) / 0.3081)
            p = decoder(codes)
        cost = cdist(codes[torch.arange(20) * 26 // 20].double(), draw_prior("ring", 20, 2, (0, 9)).double(), "sqeuclidean")
        w2 = math.sqrt(cost[linear_sum_assignment(cost)].mean())
        test_bce = -(test * p.log() + (1 - test) * (1 - p).log()).mean()
        expected[step + 1] = [w2, test_bce.item(), (p - test).abs().mean().item(), value.item()]
    np.testing.assert_allclose(rows[:, 2:6], [expected[int(step)] for step in rows[:, 0]], rtol=2e-4)
    saved = torch.load(latest_checkpoint(outcome.run.folder / "checkpoints"))["state_dict"]
    for name, value in encoder.state_dict().items():
        torch.testing.assert_close(saved[f"encoder.{name}"], value, rtol=1e-3, atol=2e-5)


@pytest.mark.parametrize("distance", ["aswd", "dswd"])
def test_an_interrupted_run_resumes_to_the_same_bits(distance, tmp_path, monkeypatch):
    whole, parts = (small(tmp_path / name, distance=distance) for name in ("whole", "parts"))
    (expected,) = execute_run(whole)
    for steps in (2, 4, 7, 8, 11):  # within and at the end of epochs of four steps
        with monkeypatch.context() as patch:
            patch.setattr(StopAfter, "steps", steps)
            patch.setattr(run_module, "Checkpoints", StopAfter)
            assert execute_run(parts)[0].status == "interrupted"
    (outcome,) = execute_run(parts)
    assert outcome.status == "done", outcome.text
    (names, ours), (_, theirs) = rows_of(outcome.run), rows_of(expected.run)
    assert names[-2:] == ["learned_norm", "seconds_per_iteration"]
    np.testing.assert_array_equal(ours[:, :-1], theirs[:, :-1])
    samples = [np.load(run.folder / "samples.npz") for run in (outcome.run, expected.run)]
    assert set(samples[0]) == {"codes", "prior", "decoded", "walk", "labels"}
    for name in samples[0]:
        np.testing.assert_array_equal(samples[0][name], samples[1][name])
    states = [torch.load(latest_checkpoint(run.folder / "checkpoints"))["state_dict"] for run in (outcome.run, expected.run)]
    for name, value in states[0].items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, states[1][name]), name


def test_the_record_holds_what_the_images_show(tmp_path):
    spec = small(tmp_path, "task.images=true", "replicas=2", "task.iterations=5")
    outcomes = execute_run(spec)
    assert [outcome.status for outcome in outcomes] == ["done", "done"]  # one after the other
    for outcome in outcomes:
        kept = np.load(outcome.run.folder / "samples.npz")
        assert kept["codes"].shape == kept["prior"].shape == (20, 2)
        assert kept["labels"].tolist() == (np.arange(20) * 26 // 20 % 10).tolist()
        assert kept["decoded"].shape == (100, 8, 8)
        assert kept["walk"].shape == (400, 8, 8)
        assert kept["decoded"].dtype == kept["walk"].dtype == np.uint8
        cost = cdist(kept["codes"].astype(float), kept["prior"].astype(float), "sqeuclidean")
        assert outcome.run.result["final"]["w2"] == pytest.approx(math.sqrt(cost[linear_sum_assignment(cost)].mean()), rel=1e-6)
        for name in ("curves", "latent", "reconstructions", "decoded", "walk"):
            with Image.open(outcome.run.folder / "images" / f"{name}.png") as image:
                assert np.asarray(image.convert("L")).std() > 10, name
    first, second = (np.load(outcome.run.folder / "samples.npz") for outcome in outcomes)
    assert not np.array_equal(first["codes"], second["codes"])
    assert not np.array_equal(first["prior"], second["prior"])


def test_the_distance_holds_the_code_to_the_prior(tmp_path):
    """Without the errors of reconstruction, the codes of images that were not trained on come nearer to the ring."""
    options = ["data.num_train=200", "task.batch_size=50", "task.iterations=20"]
    (outcome,) = execute_run(small(tmp_path, *options, "task.bce_weight=0", "task.l1_weight=0"))
    assert outcome.status == "done", outcome.text
    _, rows = rows_of(outcome.run)
    assert rows[-1, 2] < 0.85 * rows[0, 2]


@pytest.mark.parametrize("prior", PRIORS)
def test_every_prior_is_what_the_code_is_compared_with(prior, tmp_path):
    (outcome,) = execute_run(small(tmp_path, f"task.prior={prior}", "task.iterations=2"))
    assert outcome.status == "done", outcome.text
    expected = draw_prior(prior, 20, 2, (0, 9)).numpy()
    np.testing.assert_array_equal(np.load(outcome.run.folder / "samples.npz")["prior"], expected)


@pytest.mark.parametrize("distance", PAPER_NAMES)
def test_every_distance_runs(distance, tmp_path):
    (outcome,) = execute_run(small(tmp_path, "task.iterations=2", distance=distance))
    assert outcome.status == "done", outcome.text
    assert np.isfinite(rows_of(outcome.run)[1]).all()


@pytest.mark.parametrize(("prior", "dim"), [("gaussian", 1), ("gaussian", 8), ("mixture", 3)])
def test_codes_of_other_dimensions(prior, dim, tmp_path):
    spec = small(tmp_path, f"task.prior={prior}", f"task.latent_dim={dim}", "task.iterations=2", "task.images=true", distance="aswd")
    (outcome,) = execute_run(spec)
    assert outcome.status == "done", outcome.text
    assert np.load(outcome.run.folder / "samples.npz")["codes"].shape == (20, dim)
    assert len(list((outcome.run.folder / "images").glob("*.png"))) == 5


def test_readings_set_weight_and_power():
    reference, paper = (specs(f"reading={reading}", distance="aswd")[0] for reading in ("reference", "paper"))
    assert (reference.task.distance_weight, reference.task.squared) == (10.0, True)
    assert (paper.task.distance_weight, paper.task.squared) == (1.0, False)
    assert reference.distance["num_projections"] == paper.distance["num_projections"] == 50
    settled = {name: reference.distance[name] for name in ("penalty", "penalty_relative", "objective", "steps")}
    assert settled == {"penalty": 0.1, "penalty_relative": True, "objective": "mean", "steps": 10}
    assert (paper.distance["penalty"], paper.distance["activation"]) == (0.1, "relu")
    assert "num_projections" not in specs(distance="max_swd")[0].distance
    (given,) = specs("reading=paper", "task.distance_weight=0.5", "task.squared=true", "distance.num_projections=9", distance="aswd")
    assert (given.task.distance_weight, given.task.squared, given.distance["num_projections"]) == (0.5, True, 9)
    assert len({spec.key for spec in (reference, paper, given)}) == 3
    assert specs("task.distance_weight=10", "task.squared=true", distance="aswd")[0].key == reference.key


def test_a_run_is_counted_in_iterations_or_epochs(tmp_path):
    assert task_of(*specs()).trainer_defaults()["max_epochs"] == 3
    assert task_of(*specs("task.iterations=5")).trainer_defaults()["max_steps"] == 5
    (outcome,) = execute_run(small(tmp_path, "task.evaluate_every=5"))
    assert rows_of(outcome.run)[1][:, 0].tolist() == [1, 5, 10, 12]
    assert specs("trainer.max_steps=4")[0].key != specs()[0].key


def test_networks_are_those_of_the_seed_whatever_was_drawn_before():
    (spec,) = specs()
    first, again, other = task_of(spec), task_of(spec), task_of(spec, (1,))
    assert torch.equal(first.encoder.maps[0].weight, again.encoder.maps[0].weight)
    assert not torch.equal(first.encoder.maps[0].weight, other.encoder.maps[0].weight)


@pytest.mark.parametrize("distance", ["aswd", "swd"])
def test_on_a_gpu_no_step_looks_at_a_value(distance):
    """On the meta device any look at a value raises; so does a copy to the host."""
    task = task_of(*specs(distance=distance)).to("meta")
    task.training_step(torch.zeros(10, 1, 8, 8, dtype=torch.uint8, device="meta"), 0).backward()
    assert task.encoder.maps[0].weight.grad.device.type == "meta"


def test_a_checkpoint_holds_no_images(tmp_path):
    (outcome,) = execute_run(small(tmp_path, "task.iterations=2"))
    names = set(torch.load(latest_checkpoint(outcome.run.folder / "checkpoints"))["state_dict"])
    assert {name.split(".")[0] for name in names} == {"encoder", "decoder", "distance", "image_shape"}  # no images


def test_a_code_that_is_not_finite_is_named(tmp_path):
    (outcome,) = execute_run(small(tmp_path, "task.lr=1e30"))
    assert outcome.status == "failed"
    assert outcome.run.status["reason"] == "the loss of seed 0 is not finite at step 1"


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("data.channels=3", "data must be grey images for task=swae; got synthetic, which has 3 channels"),
        ("data.size=30", "data.size must be a multiple of 4 for the autoencoder; got 30"),
        ("data=cifar10", "data must be grey images for task=swae; got cifar10, which has 3 channels"),
        ("data=knot", "data must be one of synthetic, mnist"),
        ("task.latent_dim=0", "task.latent_dim must be a whole number of at least 1; got 0"),
        ("task.latent_dim=3", "task.latent_dim must be 2 for prior 'ring', which is one of the plane; got 3: use gaussian or mixture"),
        ("task.prior=donut", "task.prior must be one of 'ring', 'disk', 'square', 'gaussian', 'mixture', 'swiss_roll'; got 'donut'"),
        ("task.batch_size=44", "task.batch_size must be at most the number of training images, 43; got 44"),
        ("task.distance_weight=-1", "task.distance_weight must be a number of at least 0; got -1.0"),
        ("task.distance_weight=much", "task.distance_weight must be a number; got 'much'"),
        ("task.squared=maybe", "task.squared must be true or false; got 'maybe'"),
        ("task.normalise=[0.1]", r"task.normalise must be a list of 2 numbers; got \[0.1\]"),
        ("task.alpha=1", "task.alpha must be a number of at least 0 and below 1; got 1.0"),
        ("task.epochs=0", "task.epochs must be a whole number of at least 1; got 0"),
        ("distance.root=false", "task.squared must be false with distance.root=false"),
    ],
)
def test_mistakes_are_one_sentence(override, sentence):
    given = [option for option in SMALL if not (override.startswith("data=") and option.startswith("data"))]
    with pytest.raises(UserError, match=f"^{sentence}"):
        plan_runs(CommandLine([*given, "distance=swd", override]))
