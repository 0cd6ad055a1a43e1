"""Barycenters: closed forms, all mixtures as one batch against each alone, exact resume, images, mistakes."""

import numpy as np
import pytest
import torch
from torch import nn

from aswd.config.composition import CommandLine, plan_runs
from aswd.data.points import Shapes
from aswd.distances import build, options
from aswd.metrics import exact_wasserstein, free_support_barycenter
from aswd.runs.execution import execute_run
from aswd.runs.store import Run
from aswd.tasks.barycenter import Barycenter
from aswd.tasks.barycenter_figures import colours, plane
from aswd.tasks.base import Diverged
from aswd.tasks.mixtures import mixtures
from aswd.utils.errors import UserError
from tests.runs.test_execution import cut_off, metrics_of

SMALL = ["data.num_samples=30", "task.iterations=12", "task.evaluate_every=5", "trainer.enable_progress_bar=false", "trainer.threads=1"]
MOVED = np.array([3.0, -1.0])


def spec_of(folder, *overrides, distance="swd"):
    few = ["distance.num_projections=8"] if "num_projections" in options(distance) else []
    fixed = ["task=barycenter", "data=shapes", f"distance={distance}", "trainer.accelerator=cpu", f"paths.output_dir={folder}"]
    (spec,) = plan_runs(CommandLine([*fixed, *few, *SMALL, *overrides]))
    return spec


def small_task(distance, seeds, shapes=("disk", "star", "heart"), num_samples=20, **options):
    batch = Shapes(shapes=list(shapes), num_samples=num_samples, seeds=seeds).samples()
    task = Barycenter(distance, seeds=seeds, **{"iterations": 5, **options})
    task.initialise(batch)
    return task, batch


def record(outcome):
    assert outcome.status == "done", outcome.text
    return outcome.run.result["final"], np.load(outcome.run.folder / "samples.npz")


@pytest.fixture
def translated(tmp_path):
    """Two files: a cloud, and the same moved by (3, -1)."""
    cloud = np.random.default_rng(5).uniform(-1, 1, (30, 2))
    np.save(tmp_path / "here.npy", cloud)
    np.save(tmp_path / "there.npy", cloud + MOVED)
    return cloud, f"data.shapes=[{tmp_path / 'here.npy'},{tmp_path / 'there.npy'}]"


@pytest.mark.parametrize(("distance", "tolerance"), [("swd", 0.03), ("wasserstein", 0.01)])
def test_between_two_translates_lies_the_translate_at_the_mean(translated, tmp_path, distance, tolerance):
    cloud, files = translated
    long = ["task.iterations=300", "task.evaluate_every=300", "task.strip=2", "data.normalise=false", "task.images=false"]
    final, samples = record(execute_run(spec_of(tmp_path, files, *long, "task.lr=0.05", distance=distance))[0])
    for place, (_, there) in enumerate(samples["weights"]):
        closed = torch.from_numpy(cloud + there * MOVED)
        np.testing.assert_allclose(exact_wasserstein(torch.from_numpy(samples["exact"][place]), closed), 0, atol=1e-6)
        assert exact_wasserstein(torch.from_numpy(samples["particles"][place]), closed).item() < tolerance, place
    # The closed form of the objective at the weights (1/2, 1/2) is |(3, -1)|^2 / 4; it is zero at the ends.
    assert final["objective"] == pytest.approx(10 / 4 / 3, rel=0.02)
    assert final["objective_excess"] == pytest.approx(final["objective"] - 10 / 4 / 3, abs=1e-6)
    assert final["w2"] < tolerance


def test_with_power_one_the_heavier_of_two_clouds_wins(translated, tmp_path):
    """As with points on the line: what is nearest in the sum of distances, not of their squares, is the median."""
    cloud, files = translated
    long = ["task.iterations=400", "task.evaluate_every=400", "task.weights=[0.3,0.7]", "data.normalise=false", "task.images=false"]
    _, samples = record(execute_run(spec_of(tmp_path, files, *long, "task.power=1", "task.lr=0.03", distance="wasserstein"))[0])
    there = torch.from_numpy(cloud + MOVED)
    assert exact_wasserstein(torch.from_numpy(samples["particles"][0]), there).item() < 0.1


def test_corners_of_the_grid_are_the_clouds(tmp_path):
    long = ["task.iterations=400", "task.evaluate_every=400", "task.grid=2", "task.images=false"]
    _, samples = record(execute_run(spec_of(tmp_path, *long))[0])
    assert samples["weights"].shape == (6, 3)
    for place, weights in enumerate(samples["weights"]):
        if weights.max() == 1:
            cloud = torch.from_numpy(samples["clouds"][weights.argmax()])
            np.testing.assert_allclose(exact_wasserstein(torch.from_numpy(samples["exact"][place]), cloud), 0, atol=1e-6)
            assert exact_wasserstein(torch.from_numpy(samples["particles"][place]), cloud).item() < 0.05


def test_the_step_is_the_sum_over_the_clouds():
    """Loss and gradient against a loop over mixtures and clouds, with exact distances; by finite differences too."""
    task, batch = small_task(build("wasserstein"), [3, 4], grid=2, source="normal")
    loss = task.training_step(batch, 0)
    loss.backward()
    particles = task.particles.detach().double().requires_grad_()
    total = particles.new_zeros(())
    for seed in range(2):
        for place, weights in enumerate(task.mixtures):
            for k, weight in enumerate(weights):
                total = total + weight * build("wasserstein")(particles[seed, place], task.clouds[seed, k].double()) ** 2
    total.backward()
    assert loss.item() == pytest.approx(total.item(), rel=1e-5)
    torch.testing.assert_close(task.particles.grad.double(), particles.grad, rtol=1e-4, atol=1e-7)
    with torch.no_grad():
        moved = torch.zeros_like(particles)
        moved[1, 2, 5, 0] = 1e-3
        up, down = (((task.particles + sign * moved)[1, 2]).double() for sign in (1, -1))
        values = [
            sum(w * build("wasserstein")(x, task.clouds[1, k].double()) ** 2 for k, w in enumerate(task.mixtures[2])) for x in (up, down)
        ]
    assert (values[0] - values[1]).item() / 2e-3 == pytest.approx(task.particles.grad[1, 2, 5, 0].item(), rel=1e-2)


@pytest.mark.parametrize("distance", ["swd", "aswd", "dswd", "max_swd", "gswd_nn1"])
def test_a_seed_has_the_record_that_it_would_get_alone(distance, tmp_path):
    batch = spec_of(tmp_path / "batch", "replicas=3", "seed=4", "task.grid=2", "task.images=false", distance=distance)
    alone = spec_of(tmp_path / "alone", "seed=5", "task.grid=2", "task.images=false", distance=distance)
    assert batch.key == alone.key
    assert [outcome.status for outcome in execute_run(batch)] == ["done"] * 3
    execute_run(alone)
    np.testing.assert_allclose(metrics_of(Run.of(batch, 5)), metrics_of(Run.of(alone, 5)), rtol=1e-4)
    samples = [np.load(Run.of(spec, 5).folder / "samples.npz") for spec in (batch, alone)]
    np.testing.assert_allclose(samples[0]["particles"], samples[1]["particles"], atol=1e-4)
    other = np.load(Run.of(batch, 4).folder / "samples.npz")
    assert not np.array_equal(other["clouds"], samples[0]["clouds"])


@pytest.mark.parametrize("distance", ["swd", "aswd"])
def test_a_mixture_has_the_numbers_in_a_grid_that_it_would_get_alone(distance, tmp_path):
    _, grid = record(execute_run(spec_of(tmp_path, "task.grid=2", "task.images=false", distance=distance))[0])
    for place in (0, 4):
        weights = f"task.weights={grid['weights'][place].tolist()}".replace(" ", "")
        _, alone = record(execute_run(spec_of(tmp_path, weights, "task.images=false", distance=distance))[0])
        np.testing.assert_allclose(alone["particles"][0], grid["particles"][place], atol=1e-4)
        np.testing.assert_array_equal(alone["exact"][0], grid["exact"][place])


def test_pairs_share_random_numbers_and_learn_for_themselves():
    task, batch = small_task(build("aswd", num_projections=5, seed=0), [0, 1], grid=2)
    adam = task.configure_optimizers()
    for _ in range(2):  # in the first step all particles of a seed are where they start
        task.training_step(batch, 0).backward()
        adam.step()
    assert len(task.pairs) == 9  # three corners with one cloud each, three mixtures of two
    assert task.distance.streams.seed == [0] * 9 + [1] * 9
    weight = task.distance.learned.phi_weight.flatten(1)
    assert len(weight) == 18
    assert len({tuple(row) for row in weight.tolist()}) == 18
    task.validation_step(batch, 0)
    found = task.seed_metrics
    assert all(value.shape == (2,) and value.isfinite().all() for value in found.values())
    assert found["learned_norm"][0] == pytest.approx(task.learned_norm()[:9].mean().item())


@pytest.mark.parametrize("distance", ["aswd", "wasserstein"])
def test_an_interrupted_run_goes_on_to_the_same_bits(distance, tmp_path, monkeypatch):
    whole, parts = (spec_of(tmp_path / name, "task.grid=2", distance=distance) for name in ("whole", "parts"))
    (expected,) = execute_run(whole)
    for steps in (3, 8):
        assert cut_off(parts, monkeypatch, steps)[0].status == "interrupted"
    monkeypatch.setattr(Barycenter, "_find_exact", None)  # they are in the checkpoint
    (outcome,) = execute_run(parts)
    assert outcome.status == "done", outcome.text
    np.testing.assert_array_equal(metrics_of(outcome.run), metrics_of(expected.run))
    ours, theirs = (np.load(run.folder / "samples.npz") for run in (outcome.run, expected.run))
    assert set(ours) == {"particles", "exact", "clouds", "cloud_sizes", "weights"}
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name])


@pytest.mark.parametrize("distance", ["swd", "aswd", "dswd", "wasserstein"])
def test_clouds_of_different_numbers_weigh_the_same(distance, tmp_path):
    """A cloud of seven points beside one of twenty: its points stand there more than once, and count no more for that."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "seven.npy", rng.normal(size=(7, 2)))
    np.save(tmp_path / "twenty.npy", rng.normal(size=(20, 2)))
    shapes = [str(tmp_path / "seven.npy"), str(tmp_path / "twenty.npy")]
    task, batch = small_task(build(distance, **({} if distance == "wasserstein" else {"num_projections": 5})), [0], shapes, strip=4)
    assert task.clouds.shape == (1, 2, 20, 2)
    assert task.sizes == [7, 20]
    torch.testing.assert_close(task.cloud_weights.sum(1), torch.ones(len(task.pairs)))
    loss = task.training_step(batch, 0)
    if distance == "wasserstein":
        whole = [task.clouds[0, 0, :7], task.clouds[0, 1]]
        expected = sum(
            w * exact_wasserstein(task.particles[0, m], whole[k]) ** 2 for m, ws in enumerate(task.mixtures) for k, w in enumerate(ws)
        )
        assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    loss.backward()
    assert task.particles.grad.isfinite().all()
    task.eval()
    with torch.no_grad():
        task.validation_step(batch, 0)
    assert task.seed_metrics["objective"].isfinite().all()
    assert task.samples(0)["cloud_sizes"].tolist() == [7, 20]


def test_exact_barycenters_are_better_than_any_cloud_and_stay_where_they_are():
    clouds = [cloud[0].double().numpy() for cloud in Shapes(num_samples=60).samples()]

    def objective(points, weights):
        return sum(
            w * exact_wasserstein(torch.from_numpy(points), torch.from_numpy(c)).item() ** 2 for w, c in zip(weights, clouds, strict=True)
        )

    weights = [0.5, 0.3, 0.2]
    found = free_support_barycenter(clouds, weights, 60)
    assert objective(found, weights) < 0.9 * min(objective(cloud, weights) for cloud in clouds)
    rng = np.random.default_rng(0)
    assert all(objective(found, weights) <= objective(found + rng.normal(0, 0.01, found.shape), weights) for _ in range(10))
    assert free_support_barycenter(clouds, weights, 25).shape == (25, 2)
    assert free_support_barycenter(clouds, weights, 90).shape == (90, 2)


def test_mixtures():
    grid = mixtures(None, 4, None, 3)
    assert grid.shape == (15, 3)
    assert len({tuple(row) for row in grid}) == 15
    np.testing.assert_array_equal(grid.sum(1), 1)
    np.testing.assert_array_equal(mixtures(None, None, None, 3), grid)
    assert mixtures(None, None, 2, 2).tolist() == [[1, 0], [0.5, 0.5], [0, 1]]
    assert len(mixtures(None, None, None, 2)) == 11
    assert mixtures(None, None, None, 4).tolist() == [[0.25] * 4]
    assert mixtures([0.2, 0.8, 0, 0, 0], None, None, 5).tolist() == [[0.2, 0.8, 0, 0, 0]]


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["task.weights=[0.5,0.4,0.2]"], r"task.weights must sum to one; got \[0.5, 0.4, 0.2\], which sum to 1.1"),
        (["task.weights=[1.5,-0.5,0]"], "task.weights must not be negative"),
        (["task.weights=[0.5,0.5]"], "task.weights must be as many as there are clouds, 3; got 2"),
        (["task.weights=[]"], "task.weights must sum to one"),
        (["task.weights=half"], "task.weights must be a list of numbers or null; got 'half'"),
        (["task.grid=3", "data.shapes=[disk,ring]"], "task.grid must be left out unless there are 3 clouds; got 3 for 2"),
        (["task.strip=3"], "task.strip must be left out unless there are 2 clouds"),
        (["task.grid=3", "task.weights=[1,0,0]"], "task.weights must be left out where grid is given"),
        (["task.grid=0"], "task.grid must be a whole number of at least 1"),
        (["task.power=0.5"], "task.power must be a number of at least 1"),
        (["distance.reduction=sum", "task.num_particles=7"], "distance.reduction must be 'mean'.*got 'sum' for 7, 30"),
        (["data=circle"], "data must be one of shapes, solids for task=barycenter"),
        (["task.iterations=few"], "task.iterations must be a whole number"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, overrides, sentence):
    with pytest.raises(UserError, match=sentence) as caught:
        spec_of(tmp_path, *overrides)
    assert "\n" not in str(caught.value)


def test_other_tasks_refuse_clouds():
    with pytest.raises(UserError, match="for task=flow; got 'shapes'"):
        plan_runs(CommandLine(["task=flow", "data=shapes"]))


def test_what_the_augmented_distance_learns_stays_finite():
    """With the task's lambda it settles; against a distance counted as of 512 samples, the flow's, it keeps growing."""
    norms = {}
    for objective in ("mean", 512):
        options = spec_of("outputs", distance="aswd").distance | {"num_projections": 10, "objective": objective, "seed": None}
        task, batch = small_task(build("aswd", **options), [0], ("star", "moons"), weights=[0.5, 0.5], lr=0.03)
        adam, norms[objective] = task.configure_optimizers(), []
        for step in range(120):
            adam.zero_grad()
            task.training_step(batch, 0).backward()
            adam.step()
            if step in (59, 119):
                norms[objective].append(task.learned_norm().mean().item())
    assert norms["mean"][1] < 1.1 * norms["mean"][0]
    assert norms["mean"][1] < 2
    assert norms[512][1] > 1.5 * norms[512][0]


class Outside(nn.Module):
    """A distance that has no reset, takes no weights, and loses its value at the third call."""

    calls = 0

    def forward(self, x, y):
        self.calls += 1
        values = (x - y).square().mean((-1, -2))
        return values * torch.tensor([[1.0], [torch.nan]]) if self.calls == 3 else values


def test_a_distance_from_outside_and_divergence_by_seed():
    task, batch = small_task(Outside(), [7, 8], grid=2)
    for _ in range(2):
        task.training_step(batch, 0).backward()
    with pytest.raises(Diverged) as caught:
        task.training_step(batch, 0)
    assert list(caught.value.steps) == [8]


def test_on_a_gpu_no_step_looks_at_a_value():
    """On the meta device any look at a value raises; so does a copy to the host."""
    task, batch = small_task(build("aswd", num_projections=5, seed=0), [0, 1], grid=2)
    task.to("meta").training_step([cloud.to("meta") for cloud in batch], 0).backward()
    assert task.particles.grad.device.type == "meta"


@pytest.mark.parametrize(
    ("shapes", "options", "names"),
    [
        ("[disk,star,heart]", ["task.grid=2", "replicas=2"], ["w2.png", "barycenters.png", "exact.png"]),
        ("[sphere,torus]", ["task.strip=3"], ["w2.png", "barycenters.png", "barycenters.gif"]),
        ("[disk,star,heart,moons]", [], ["w2.png", "barycenters.png"]),
        ("[cube]", ["task.weights=[1]"], ["w2.png", "barycenters.png"]),
    ],
)
def test_images_are_drawn(tmp_path, shapes, options, names):
    from PIL import Image

    spec = spec_of(tmp_path, f"data.shapes={shapes}", *options)
    assert {outcome.status for outcome in execute_run(spec)} == {"done"}
    folder = spec.folder / ("seeds=0-1" if "replicas=2" in options else "seed=0") / "images"
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    for name in names:
        with Image.open(folder / name) as image:
            assert np.asarray(image.convert("L")).std() > 3  # something is drawn
            assert getattr(image, "n_frames", 1) == (6 if name.endswith("gif") else 1)  # there and back over four mixtures


def test_colours_and_projections():
    pure = colours(np.eye(3))
    assert pure.argmax(1).tolist() == [0, 1, 2]
    np.testing.assert_allclose(colours(np.array([[0.5, 0.5, 0]])), (pure[:1] + pure[1:2]) / 2)
    assert colours(np.full((1, 7), 1 / 7)).shape == (1, 3)
    sphere = Shapes(shapes=["sphere"], num_samples=2000).samples()[0][0].numpy()
    seen = np.linalg.norm(plane(sphere), axis=1)
    assert 0.99 < seen.max() <= 1 + 1e-6  # a projection at right angles
    assert plane(np.ones((5, 1))).tolist() == [[1, 0]] * 5
    assert plane(np.ones((4, 5, 6))).shape == (4, 5, 2)
