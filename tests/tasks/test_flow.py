"""The flow: for every distance and target, its source, its readings, replicas against single runs."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from aswd.config.composition import CommandLine, plan_runs
from aswd.data.points import TARGETS, ToyTargets, target
from aswd.distances import build
from aswd.metrics import exact_wasserstein
from aswd.runs.execution import execute_run
from aswd.runs.store import Run
from aswd.tasks.base import Diverged
from aswd.tasks.batches import as_points
from aswd.tasks.configs import FlowConfig
from aswd.tasks.flow import Flow
from aswd.tasks.particles import draw_source
from aswd.utils.errors import UserError
from tests.distances.test_registry import PAPER_NAMES
from tests.runs.small import small_spec

CONVERGING = ["swd", "gswd_nn1", "aswd", "dswd", "max_gswd_nn1", "max_swd", "wasserstein", "gswd_circular", "aswd_vanilla"]


@pytest.mark.parametrize("distance", PAPER_NAMES)
@pytest.mark.parametrize("data", TARGETS)
def test_every_distance_runs_on_every_target(distance, data, tmp_path):
    """Particles that start near the target come nearer, for the distances that the paper shows converging; none leaves it."""
    spec = small_spec(tmp_path, f"data={data}", "task.lr=0.02", "task.iterations=40", "task.images=false", distance=distance)
    (outcome,) = execute_run(spec)
    assert outcome.status == "done", outcome.text
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
    x = draw_source(spec.task, 40, 2, seed=0).requires_grad_()
    y = target("knot", 40, seed=0)
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


def test_descent_by_sgd_of_a_multiple_of_the_distance(tmp_path):
    """Against a loop written down here, evaluated at the steps that are asked for."""
    options = ["task.optimizer=sgd", "task.lr=0.01", "task.loss_factor=40", "task.evaluate_every=100", "task.evaluate_at=[2,4]"]
    spec = small_spec(tmp_path, "data=knot", "data.centred=true", "task.source=sphere", "task.iterations=6", *options)
    (outcome,) = execute_run(spec)
    x = draw_source(spec.task, 40, 2, seed=0)
    assert torch.allclose(x.norm(dim=1), torch.ones(40))
    y = target("knot", 40, seed=0)
    y = y - y.mean(0)
    distance, expected = build("swd", num_projections=10, seed=0), []
    for _ in range(6):
        x.requires_grad_()
        (grad,) = torch.autograd.grad(40 * distance(x, y), x)
        x = (x - 0.01 * grad).detach()
        expected.append(exact_wasserstein(x, y).item())
    rows = np.loadtxt(outcome.run.folder / "metrics.csv", delimiter=",", skiprows=1)
    assert rows[:, 0].tolist() == [1, 2, 4, 6]
    np.testing.assert_allclose(rows[:, 2], [expected[int(step) - 1] for step in rows[:, 0]], rtol=1e-5)


@pytest.mark.parametrize("distance", ["swd", "aswd", "dswd", "max_gswd_circular", "gswd_nn1"])
def test_a_replica_has_the_record_that_it_would_get_alone(distance, tmp_path):
    """In double precision: an inner loop makes more of a rounding at every step."""
    batch = small_spec(tmp_path / "batch", "replicas=3", "seed=4", "trainer.precision=64-true", distance=distance)
    alone = small_spec(tmp_path / "alone", "seed=5", "trainer.precision=64-true", distance=distance)
    assert batch.key == alone.key
    assert [outcome.status for outcome in execute_run(batch)] == ["done"] * 3
    execute_run(alone)
    rows = [np.loadtxt(Run.of(spec, 5).folder / "metrics.csv", delimiter=",", skiprows=1)[:, :4] for spec in (batch, alone)]
    np.testing.assert_allclose(*rows, rtol=1e-9)
    results = [Run.of(spec, 5).result for spec in (batch, alone)]
    assert [result["seed"] for result in results] == [5, 5]
    assert results[0]["final"]["w2"] == pytest.approx(results[1]["final"]["w2"], rel=1e-4)


def test_source_is_what_it_is_said_to_be():
    normal = draw_source(FlowConfig(source_scale=2.0), 20_000, 3, seed=1)
    assert torch.allclose(normal.var(0), torch.full((3,), 4.0), rtol=0.05)
    uniform = draw_source(FlowConfig(source="uniform"), 20_000, 2, seed=1)
    assert uniform.abs().max() <= 1
    assert torch.allclose(uniform.var(0), torch.full((2,), 1 / 3), rtol=0.05)
    assert not torch.equal(draw_source(FlowConfig(), 5, 2, 0), draw_source(FlowConfig(), 5, 2, 1))


def test_numbers_of_particles_and_points_may_differ_in_any_dimension(tmp_path):
    spec = small_spec(tmp_path, "task.num_particles=30", "data.dim=3", distance="aswd")
    (outcome,) = execute_run(spec)
    assert outcome.status == "done", outcome.text
    samples = np.load(outcome.run.folder / "samples.npz")
    assert samples["particles"].shape == (30, 3)
    assert samples["target"].shape == (40, 3)
    final = exact_wasserstein(torch.from_numpy(samples["particles"]), torch.from_numpy(samples["target"])).item()
    assert outcome.run.result["final"]["w2"] == pytest.approx(final, rel=1e-12)


class Spoiled(nn.Module):
    """A distance that loses its value at the third call."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x, y):
        self.calls += 1
        values = (x - y).square().mean((1, 2))
        return values * torch.tensor([1.0, math.nan]) if self.calls == 3 else values


def small_flow(distance, seeds, **options):
    """A flow that knows its data, and the batch."""
    batch = ToyTargets(name="knot", num_samples=20, seeds=seeds).samples()
    task = Flow(distance, seeds=seeds, **options)
    task.initialise(batch)
    return task, batch


def test_divergence_names_seed_and_step():
    task, batch = small_flow(Spoiled(), [7, 8], iterations=5, num_frames=0)
    for step in range(2):
        task.training_step(batch, step)
        assert task._bad_since.tolist() == [-1, -1], step
    with pytest.raises(Diverged, match="seed 8 is not finite at step 1") as caught:  # without a trainer it is always the first step
        task.training_step(batch, 2)
    assert caught.value.steps == {8: 1}


def test_on_a_gpu_no_step_looks_at_a_value():
    """On the meta device any look at a value raises; so does a copy to the host."""
    task, batch = small_flow({"name": "aswd", "num_projections": 5}, [0, 1], iterations=5)
    task.to("meta").training_step(batch.to("meta"), 0).backward()
    assert task.particles.grad.device.type == "meta"


def test_images_are_drawn(tmp_path):
    from PIL import Image

    spec = small_spec(tmp_path, "replicas=2", "task.num_frames=6")
    assert [outcome.status for outcome in execute_run(spec)] == ["done"] * 2
    folder = spec.folder / "seeds=0-1" / "images"
    with Image.open(folder / "particles.gif") as animation:
        assert animation.n_frames == len(np.load(Run.of(spec, 0).folder / "samples.npz")["frame_steps"])
    for name in ("w2.png", "particles.png"):
        with Image.open(folder / name) as image:
            assert np.asarray(image.convert("L")).std() > 10  # something is drawn


def test_learned_norm_is_that_of_the_parameters():
    task, batch = small_flow({"name": "aswd", "num_projections": 5}, [0, 1])
    task.training_step(batch, 0)
    held = task.distance.learned
    expected = (held.phi_weight.square().sum((1, 2)) + held.phi_bias.square().sum(1)).sqrt()
    torch.testing.assert_close(task.learned_norm(), expected)
    plain, batch = small_flow({"name": "swd", "num_projections": 5}, [0, 1])
    plain.training_step(batch, 0)
    assert plain.learned_norm() is None


@pytest.mark.parametrize("batch", [torch.ones(20, 2), (torch.ones(20, 2), torch.zeros(20)), torch.ones(3, 20, 2)])
def test_points_of_other_data_modules_are_shared_by_all_seeds(batch):
    assert torch.equal(as_points(batch, 3), torch.ones(3, 20, 2))


@pytest.mark.parametrize("batch", [torch.ones(2, 20, 2), torch.ones(20), {"x": 1}])
def test_batches_that_are_no_points_are_a_sentence(batch):
    with pytest.raises(ValueError, match=r"a batch (of points )?must "):
        as_points(batch, 3)


def test_a_flow_from_a_file_to_a_file(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "target.npy", rng.normal(size=(30, 3)))
    np.savetxt(tmp_path / "source.csv", rng.normal(size=(25, 3)) + 4, delimiter=",", header="a,b,c", comments="")
    files = [f"data.target={tmp_path / 'target.npy'}", f"data.source={tmp_path / 'source.csv'}"]
    few = ["task.iterations=40", "task.lr=0.05", "task.num_frames=2", "trainer.enable_progress_bar=false", "distance.num_projections=10"]
    (spec,) = plan_runs(CommandLine(["data=points", "distance=swd", *few, *files, f"paths.output_dir={tmp_path}"]))
    (outcome,) = execute_run(spec)
    assert outcome.status == "done", outcome.text
    samples = np.load(outcome.run.folder / "samples.npz")
    np.testing.assert_allclose(samples["frames"][0], np.loadtxt(tmp_path / "source.csv", delimiter=",", skiprows=1), rtol=1e-6)
    assert samples["target"].shape == (30, 3)
    w2 = np.loadtxt(outcome.run.folder / "metrics.csv", delimiter=",", skiprows=1)[:, 2]
    assert w2[-1] < 0.8 * w2[0]
    with pytest.raises(UserError, match=r"task\.evaluate_at must be a list of whole numbers of at least 1; got \[0\]"):
        plan_runs(CommandLine(["data=points", *files, "task.evaluate_at=[0]"]))
    with pytest.raises(UserError, match=r"task\.num_particles must be left out where data.source gives the particles; got 7"):
        plan_runs(CommandLine(["data=points", *files, "task.num_particles=7"]))
