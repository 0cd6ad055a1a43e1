"""The flow: for every distance and target, its source, its readings, replicas against single runs."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from aswd.data import DATA, data_settings
from aswd.data.configs import ToyConfig
from aswd.data.registry import data_module
from aswd.distances import available, build
from aswd.metrics import exact_wasserstein
from aswd.runs.execution import execute_run
from aswd.tasks.base import Diverged
from aswd.tasks.configs import FlowConfig
from aswd.tasks.flow import Flow, source
from aswd.tasks.registry import TASKS, task_class, task_settings
from aswd.utils.metric_history import MetricHistory
from tests.runs.small import small_spec

CONVERGING = ["swd", "gswd_nn1", "aswd", "dswd", "max_gswd_nn1", "max_swd", "wasserstein", "gswd_circular", "aswd_vanilla"]


@pytest.mark.parametrize("distance", available())
@pytest.mark.parametrize("data", [name for name in DATA if data_settings(name).kind == "points"])
def test_every_distance_runs_on_every_target(distance, data, tmp_path):
    """Particles that start near the target come nearer, for the distances that the paper shows converging; none leaves it."""
    spec = small_spec(tmp_path, f"data={data}", "task.lr=0.02", "task.iterations=40", "task.images=false", distance=distance)
    (outcome,) = execute_run(spec)
    assert outcome.word == "done", outcome.text
    rows = np.loadtxt(outcome.run.folder / "metrics.csv", delimiter=",", skiprows=1)
    assert rows[:, 0].tolist() == [1, 5, 10, 15, 20, 25, 30, 35, 40]
    assert np.isfinite(rows).all()
    if distance in CONVERGING:
        assert rows[-1, 2] < 0.9 * rows[0, 2]


def test_the_loop_is_the_released_one(tmp_path):
    """Particles against a loop written down here: Adam on the distance, W2 after the step, by POT."""
    import ot

    spec = small_spec(tmp_path, "data=knot", "task.iterations=6")
    (outcome,) = execute_run(spec)
    x = source(spec.task, 40, 2, seed=0).requires_grad_()
    y = data_module("knot")(spec.data, [0]).samples()[0]
    distance = build("swd", num_projections=10, seed=0)
    adam = torch.optim.Adam([x], lr=0.002, betas=(0.9, 0.999))
    expected = {}
    for step in range(1, 7):
        adam.zero_grad()
        distance(x, y).backward()
        adam.step()
        cost = ot.dist(x.detach().double().numpy(), y.double().numpy())
        expected[step] = math.sqrt(ot.emd2(np.full(40, 1 / 40), np.full(40, 1 / 40), cost))
    rows = np.loadtxt(outcome.run.folder / "metrics.csv", delimiter=",", skiprows=1)
    assert rows[:, 0].tolist() == [1, 5, 6]  # the first, every fifth, and the last
    np.testing.assert_allclose(rows[:, 2], [expected[int(step)] for step in rows[:, 0]], rtol=1e-6)
    np.testing.assert_array_equal(np.load(outcome.run.folder / "samples.npz")["particles"], x.detach().numpy())


@pytest.mark.parametrize("distance", ["swd", "aswd", "dswd", "max_gswd_circular", "gswd_nn1"])
def test_a_replica_has_the_record_that_it_would_get_alone(distance, tmp_path):
    batch = small_spec(tmp_path / "batch", "replicas=3", "seed=4", distance=distance)
    alone = small_spec(tmp_path / "alone", "seed=5", distance=distance)
    assert batch.key == alone.key
    assert [outcome.word for outcome in execute_run(batch)] == ["done"] * 3
    execute_run(alone)
    rows = [np.loadtxt(spec.run(5).folder / "metrics.csv", delimiter=",", skiprows=1)[:, :4] for spec in (batch, alone)]
    np.testing.assert_allclose(*rows, rtol=1e-4)
    results = [spec.run(5).result for spec in (batch, alone)]
    assert [result["seed"] for result in results] == [5, 5]
    assert results[0]["final"]["w2"] == pytest.approx(results[1]["final"]["w2"], rel=1e-4)


def test_source_is_what_it_is_said_to_be():
    normal = source(FlowConfig(source_scale=2.0), 20_000, 3, seed=1)
    assert torch.allclose(normal.var(0), torch.full((3,), 4.0), rtol=0.05)
    uniform = source(FlowConfig(source="uniform"), 20_000, 2, seed=1)
    assert uniform.abs().max() <= 1
    assert torch.allclose(uniform.var(0), torch.full((2,), 1 / 3), rtol=0.05)
    assert not torch.equal(source(FlowConfig(), 5, 2, 0), source(FlowConfig(), 5, 2, 1))


def test_numbers_of_particles_and_points_may_differ_in_any_dimension(tmp_path):
    spec = small_spec(tmp_path, "task.num_particles=30", "data.dim=3", distance="aswd")
    (outcome,) = execute_run(spec)
    assert outcome.word == "done", outcome.text
    samples = np.load(outcome.run.folder / "samples.npz")
    assert samples["particles"].shape == (30, 3)
    assert samples["target"].shape == (40, 3)
    final = exact_wasserstein(torch.from_numpy(samples["particles"]), torch.from_numpy(samples["target"])).item()
    assert outcome.run.result["final"]["w2"] == pytest.approx(final, rel=1e-12)


def test_readings_set_the_penalty():
    assert Flow.distance_defaults("aswd", "reference") == {"penalty": 0.05, "penalty_relative": True}
    assert Flow.distance_defaults("aswd", "paper") == {}
    assert Flow.distance_defaults("dswd", "reference") == {}
    slow = {"layers": 1, "lr": 0.0005}
    assert Flow.distance_defaults("aswd_radial", "reference") == {"penalty": 0.05, "penalty_relative": True, **slow}
    assert Flow.distance_defaults("aswd_planar", "paper") == slow


class Spoiled(nn.Module):
    """A distance that loses its value at the third call."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x, y):
        self.calls += 1
        values = (x - y).square().mean((1, 2))
        return values * torch.tensor([1.0, math.nan]) if self.calls == 3 else values


def test_divergence_names_seed_and_step():
    settings = task_settings("flow")(iterations=5, num_frames=0)
    data = data_module("knot")(small_data(), [7, 8])
    task = task_class("flow")(settings, data, Spoiled(), [7, 8])
    for step in range(2):
        task.training_step()
        assert task._bad_since.tolist() == [-1, -1], step
    with pytest.raises(Diverged, match="seed 8 is not finite at step 1") as caught:  # without a trainer it is always the first step
        task.training_step()
    assert caught.value.steps == {8: 1}


def test_on_a_gpu_no_step_looks_at_a_value():
    """On the meta device any look at a value raises; so does a copy to the host."""
    data = data_module("knot")(small_data(), [0, 1])
    settings = FlowConfig(iterations=5)
    task = Flow(settings, data, build("aswd", num_projections=5, seed=[0, 1]), [0, 1]).to("meta")
    task.training_step().backward()
    assert task.particles.grad.device.type == "meta"


def small_data():

    return ToyConfig("knot", num_samples=20)


def test_images_are_drawn(tmp_path):
    from PIL import Image

    spec = small_spec(tmp_path, "replicas=2", "task.num_frames=6")
    assert [outcome.word for outcome in execute_run(spec)] == ["done"] * 2
    folder = spec.folder / "seeds=0-1" / "images"
    with Image.open(folder / "particles.gif") as animation:
        assert animation.n_frames == len(np.load(spec.run(0).folder / "samples.npz")["frame_steps"])
    for name in ("w2.png", "particles.png"):
        with Image.open(folder / name) as image:
            assert np.asarray(image.convert("L")).std() > 10  # something is drawn


def test_learned_norm_is_that_of_the_parameters():
    data = data_module("knot")(small_data(), [0, 1])
    task = Flow(FlowConfig(), data, build("aswd", num_projections=5, seed=[0, 1]), [0, 1])
    task.training_step()
    held = task.distance.learned
    expected = (held.phi_weight.square().sum((1, 2)) + held.phi_bias.square().sum(1)).sqrt()
    torch.testing.assert_close(task.learned_norm(), expected)
    plain = Flow(FlowConfig(), data, build("swd", num_projections=5, seed=[0, 1]), [0, 1])
    plain.training_step()
    assert plain.learned_norm() is None


def test_metrics_are_due_at_the_first_and_every_nth_step():
    task = task_class("flow")(FlowConfig(evaluate_every=7), data_module("knot")(small_data(), [0]), build("swd", seed=[0]), [0])
    assert [step for step in range(1, 30) if task.is_due(step)] == [1, 7, 14, 21, 28]
    assert "flow" in TASKS
    assert MetricHistory([0]).steps == []
