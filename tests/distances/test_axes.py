"""Aggregations, slice costs and samplings of directions, against independent implementations, closed forms and their papers' claims."""

import math
from dataclasses import dataclass

import numpy as np
import ot
import pytest
import torch
from scipy.stats import chi2, qmc

from aswd.distances import Aggregation, PointSet, SliceCost, build, options, register, wasserstein_1d
from aswd.distances.parts import PARTS
from aswd.distances.problem import Slices
from aswd.distances.projections import Linear
from tests.distances.small import clouds
from tests.distances.test_values import sphere


@pytest.fixture(autouse=True)
def _own_parts(monkeypatch):
    for option, known in PARTS.items():
        monkeypatch.setitem(PARTS, option, dict(known))


def costs_of(x, y, theta, order=2):
    """W_k^k of every slice, by the solver on the line."""
    return wasserstein_1d(theta @ x.mT, theta @ y.mT, order=order, root=False)


def drawn(name, dim, count=64, seeds=1, **given):
    """Directions of a distance, one set per seed."""
    distance = build(name, num_projections=count, seed=list(range(seeds)), **given)
    distance.streams.prepare(seeds, torch.device("cpu"), torch.float64)
    return distance.directions.base(dim, distance.streams)


@pytest.mark.parametrize("given", [{}, {"temperature": 0.3, "energy_scale": "mean"}, {"energy": "identity"}, {"energy": "polynomial"}])
@pytest.mark.parametrize("order", [1, 2])
def test_energy_based(given, order):
    x, y = clouds(20, 25)
    theta = sphere(9, 3)
    costs = costs_of(x, y, theta, order).numpy()
    scale = {"sum": (20 + 25) / 2, "mean": 1}[given.get("energy_scale", "sum")] / given.get("temperature", 1.0)
    energies = {"exponential": np.exp(scale * (costs - costs.max())), "identity": costs, "polynomial": costs**2}
    weights = energies[given.get("energy", "exponential")]
    expected = ((weights * costs).sum() / weights.sum()) ** (1 / order)
    assert build("ebsw", order=order, **given)(x, y, directions=theta).item() == pytest.approx(expected, rel=1e-9)


def test_energy_based_readings_differ_by_n():
    x, y = clouds()
    code, text = (build("ebsw", reading=reading, seed=0, num_projections=50) for reading in ("reference", "paper"))
    assert (code.aggregation.energy_scale, text.aggregation.energy_scale) == ("sum", "mean")
    same = build("ebsw", reading="paper", temperature=1 / 20, seed=0, num_projections=50)
    torch.testing.assert_close(code(x, y), same(x, y))
    assert text(x, y) < code.eval()(x, y)


def test_weights_without_gradient_are_constants():
    x, y = clouds()
    theta = sphere(9, 3)
    x.requires_grad_()
    with_constant_weights = build("ebsw", weights_gradient=False, root=False)(x, y, directions=theta)
    weights = torch.softmax(20 * costs_of(x, y, theta), 0).detach()
    expected = torch.autograd.grad((weights * costs_of(x, y, theta)).sum(), x)[0]
    torch.testing.assert_close(torch.autograd.grad(with_constant_weights, x)[0], expected)
    through = torch.autograd.grad(build("ebsw", root=False)(x, y, directions=theta), x)[0]
    assert (through - expected).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["swd", "gswd_circular", "gswd_poly3", "aswd_vanilla", "gswd_nn1"])
@pytest.mark.parametrize("aggregation", ["max", "min", "softmax", "softmin"])
def test_aggregations_are_options_of_every_projection(name, aggregation):
    x, y = clouds(8, 9)
    distance = build(name, aggregation=aggregation, num_projections=6, seed=0).eval()
    u, v = distance.project(x, y)
    costs = wasserstein_1d(u, v, root=False)
    expected = {
        "max": costs.max(),
        "min": costs.min(),
        "softmax": (torch.softmax(8.5 * costs, 0) * costs).sum(),
        "softmin": (torch.softmax(-costs, 0) * costs).sum(),
    }[aggregation].sqrt()
    torch.testing.assert_close(distance(x, y), expected)
    assert torch.autograd.gradcheck(distance, (x.requires_grad_(), y.requires_grad_()), atol=1e-6, rtol=1e-4)


def test_an_energy_based_aswd_learns_what_its_own_objective_says():
    x, y = clouds()
    mine = {"name": "softmax", "temperature": 0.5, "energy_scale": "mean"}
    distances = [build("aswd", seed=0, num_projections=20, steps=steps, aggregation=mine, penalty=0.0, lr=0.01) for steps in (0, 30)]
    values = [distance(x, y).item() for distance in distances]
    assert values[1] > 1.2 * values[0]


@pytest.mark.parametrize("name", ["swd_lcv", "swd_ucv", "swd_shcv"])
@pytest.mark.parametrize(("n", "dim", "weighted"), [(30, 3, False), (30, 3, True), (4, 5, False)])
def test_control_variates_are_intercepts_of_a_regression(name, n, dim, weighted):
    """By numpy's least squares on the variates minus their means over the sphere; for d > N, too."""
    x, y = clouds(n, n + 2, dim)
    theta = sphere(40, dim)
    a, b = (torch.rand(len(side), dtype=torch.float64) + 0.2 if weighted else torch.ones(len(side), dtype=torch.float64) for side in (x, y))
    costs = wasserstein_1d(theta @ x.mT, theta @ y.mT, a, b, root=False).numpy()
    (mx, cx), (my, cy) = ((np.average(s, 0, w), np.cov(s.T, aweights=w, bias=True)) for s, w in ((x.numpy(), a), (y.numpy(), b)))
    t, difference, both = theta.numpy(), mx - my, cx + cy
    if name == "swd_shcv":
        columns = [t[:, i] * t[:, j] for i in range(dim) for j in range(i + 1, dim)] + [t[:, i] ** 2 - 1 / dim for i in range(dim - 1)]
    else:
        columns = [(t @ difference) ** 2 - difference @ difference / dim]
        if name == "swd_ucv":
            columns[0] = columns[0] + np.einsum("la,ab,lb->l", t, both, t) - np.trace(both) / dim
    intercept = np.linalg.lstsq(np.stack([np.ones(len(t)), *columns], 1), costs, rcond=None)[0][0]
    value = build(name, root=False)(x, y, *((a, b) if weighted else ()), directions=theta)
    assert value.item() == pytest.approx(intercept, rel=1e-7)


@pytest.mark.parametrize("name", ["swd_lcv", "swd_ucv"])
@pytest.mark.parametrize(("n", "dim"), [(12, 3), (4, 7)])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_of_weights_by_control_variates(name, n, dim, weighted):
    """In closed form against those of the definition by autograd; one side alone gets the same."""
    x, y = clouds(n, n + 1, dim)
    theta, costs = sphere(30, dim), torch.rand(30, dtype=torch.float64)
    masses = [torch.ones(len(side), dtype=torch.float64) + weighted * torch.rand(len(side), dtype=torch.float64) for side in (x, y)]
    sides = x.requires_grad_(), y.requires_grad_()
    means, covariances = [], []
    for side, mass in zip(sides, masses, strict=True):
        mass = mass / mass.sum()
        means.append(mass @ side)
        covariances.append((mass[:, None] * (side - means[-1])).mT @ (side - means[-1]))
    matrix = torch.outer(means[0] - means[1], means[0] - means[1]) + (sum(covariances) if name == "swd_ucv" else 0)
    variate = torch.einsum("la,ab,lb->l", theta, matrix, theta)
    off = variate - variate.mean()
    expected = torch.autograd.grad(-(variate.mean() - matrix.trace() / dim) * (off / off.square().sum() * costs).sum(), sides)
    aggregation = build(name).aggregation

    def found(*sides):
        s = Slices(Linear(), {}, *sides, *sides, theta[None], *((w / w.sum())[None] if weighted else None for w in masses), 2.0)
        return (aggregation.slice_weights(s) * costs).sum()

    batched = [side[None] for side in sides]
    for grad, reference in zip(torch.autograd.grad(found(*batched), sides), expected, strict=True):
        torch.testing.assert_close(grad, reference, rtol=1e-9, atol=1e-12)
    (alone,) = torch.autograd.grad(found(batched[0].detach(), batched[1]), sides[1])
    torch.testing.assert_close(alone, expected[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "count"), [("swd_lcv", 7), ("swd_shcv", 11), ("osw", 12), ("qsw_sobol", 4096)])
@pytest.mark.parametrize("dim", [3, 4])
def test_a_translation_has_a_closed_form(name, count, dim):
    """SW_2 = norm(t) / sqrt(d): exactly with control variates or complete orthogonal blocks, nearly with many Sobol points."""
    x, _ = clouds(10, dim=dim)
    shift = torch.arange(1.0, dim + 1, dtype=torch.float64)
    value = build(name, num_projections=count * (dim if name == "osw" else 1), seed=0)(x, x + shift)
    assert value.item() == pytest.approx(shift.norm().item() / math.sqrt(dim), rel=1e-3 if name == "qsw_sobol" else 1e-9)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 12])
def test_orthogonal_blocks(dim):
    theta = drawn("osw", dim, count=2 * dim + (dim > 1), seeds=3)
    for block in (theta[:, :dim], theta[:, dim : 2 * dim]):
        torch.testing.assert_close(block @ block.mT, torch.eye(dim, dtype=torch.float64).expand(3, -1, -1))
    torch.testing.assert_close(theta.norm(dim=-1), torch.ones(theta.shape[:2], dtype=torch.float64))
    assert dim == 1 or not torch.allclose(theta[0], theta[1])


def test_rotations_are_uniform():
    """The first coordinate of a rotated point in 3 dimensions is uniform on [-1, 1]: chi-square over 20 bins at the level 1e-4."""
    heights = drawn("qsw_spiral", 3, count=1, seeds=4000)[:, 0, 0].numpy()
    observed = np.histogram(heights, 20, (-1, 1))[0]
    assert ((observed - 200) ** 2 / 200).sum() < chi2.isf(1e-4, 19)


def test_point_sets_against_scipy_and_their_formulas():
    sobol = qmc.Sobol(4, scramble=False).random_base2(6)[1:]
    expected = torch.special.ndtri(torch.from_numpy(sobol[1:]))  # of the centre of the cube there is no direction
    expected = torch.nn.functional.normalize(expected, dim=-1)
    torch.testing.assert_close(drawn("qsw_sobol", 4, 63, randomisation="none")[0, 1:], expected, rtol=1e-6, atol=1e-6)
    halton = torch.special.ndtri(torch.from_numpy(qmc.Halton(5, scramble=False).random(64)[1:]))
    expected = torch.nn.functional.normalize(halton, dim=-1)
    torch.testing.assert_close(drawn("qsw_halton", 5, 63, randomisation="none")[0], expected)
    spiral = drawn("qsw_spiral", 3, 50, randomisation="none")[0].numpy()
    for i, point in enumerate(spiral, 1):
        z = 1 - (2 * i - 1) / 50
        turn = 1.8 * math.sqrt(50) * math.acos(z) % (2 * math.pi)
        np.testing.assert_allclose(point, [math.sin(math.acos(z)) * math.cos(turn), math.sin(math.acos(z)) * math.sin(turn), z], atol=1e-12)
    tau, alpha = qmc.Sobol(2, scramble=False).random(64)[1:].T
    radius = 2 * np.sqrt(tau - tau**2)
    expected = np.stack([radius * np.cos(2 * np.pi * alpha), radius * np.sin(2 * np.pi * alpha), 1 - 2 * tau], 1)
    np.testing.assert_allclose(drawn("qsw_equal_area", 3, 63, randomisation="none")[0], expected, atol=1e-7)


@pytest.mark.parametrize("randomisation", ["rotation", "scramble", "none"])
@pytest.mark.parametrize("name", ["qsw_spiral", "qsw_equal_area", "qsw_sobol", "qsw_halton"])
def test_randomisations(name, randomisation):
    if (name, randomisation) == ("qsw_spiral", "scramble"):
        with pytest.raises(ValueError, match="randomisation must be 'rotation' or 'none' for Spiral; got 'scramble'"):
            build(name, randomisation=randomisation)
        return
    distance = build(name, num_projections=32, seed=0, randomisation=randomisation)
    x, y = clouds()
    values = [distance(x, y).item() for _ in range(2)]
    assert (values[0] == values[1]) == (randomisation == "none")
    theta = drawn(name, 3, 32, seeds=2, randomisation=randomisation)
    torch.testing.assert_close(theta.norm(dim=-1), torch.ones(2, 32, dtype=torch.float64))
    assert torch.equal(theta[0], theta[1]) == (randomisation == "none")


@pytest.mark.parametrize(
    ("name", "given", "factor"),
    [
        *(
            ("osw", {}, 3),
            ("qsw_spiral", {}, 20),
            ("qsw_equal_area", {}, 5),
            ("qsw_sobol", {}, 3),
            ("qsw_sobol", {"randomisation": "scramble"}, 3),
        ),
        *(("qsw_halton", {}, 3), ("qsw_halton", {"randomisation": "scramble"}, 2)),
        *(("swd_lcv", {}, 3), ("swd_ucv", {}, 3), ("swd_shcv", {}, 20), ("swd_shcv", {"degree": 4}, 20)),
    ],
)
def test_the_variance_falls(name, given, factor):
    """200 estimates of SW_2^2 by 60 slices in d = 3: their variance is that of SWD divided by the factor at least, and their mean is the
    same. The level of both tests is 1e-4: for the ratio of variances by the F distribution, for the means by the normal one.
    """
    from scipy.stats import f

    x, y = clouds(50, 50)
    y = y + 0.5

    def estimates(name, **given):
        distance = build(name, num_projections=60, seed=list(range(200)), root=False, **given)
        return distance(x.expand(200, -1, -1), y).numpy()

    plain, better = estimates("swd"), estimates(name, **given)
    assert plain.var() / better.var() > factor / f.isf(1e-4, 199, 199)
    exact = build("swd", num_projections=200_000, seed=9, root=False)(x, y).item()
    assert abs(better.mean() - exact) < 3.9 * (better.std() / math.sqrt(200) + plain.std() * math.sqrt(60 / 200_000))


def test_the_family_is_ordered():
    """SW <= EBSW <= Max <= W <= min-SWGG <= EST <= PWD on the same directions, for k = 2."""
    for seed in range(5):
        x, y = clouds(15, 15, seed=seed)
        theta = sphere(30, 3, seed)
        first = [build("swd", aggregation=name)(x, y, directions=theta) for name in ("mean", "softmax", "max")]
        last = [build(name)(x, y, directions=theta) for name in ("min_swgg", "est", "pwd")]
        values = torch.stack([*first, build("wasserstein")(x, y), *last])
        assert (values.diff() >= -1e-12).all(), values


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", ["min_swgg", "est", "pwd"])
def test_lifted_costs_by_brute_force(name, order):
    x, y = clouds(12, 12)
    theta = sphere(7, 3)
    costs = []
    for direction in theta:
        matched = x[(x @ direction).argsort()] - y[(y @ direction).argsort()]
        costs.append(matched.norm(dim=1).pow(order).mean())
    costs = torch.stack(costs)
    expected = {"min_swgg": costs.min(), "pwd": costs.mean(), "est": (torch.softmax(-costs, 0) * costs).sum()}[name]
    torch.testing.assert_close(build(name, order=order)(x, y, directions=theta), expected ** (1 / order))


@pytest.mark.parametrize("name", ["min_swgg", "est", "pwd", "wasserstein"])
@pytest.mark.parametrize(("n", "m", "weighted"), [(12, 12, False), (12, 9, False), (12, 9, True)])
def test_plans_have_the_marginals_and_the_cost(name, n, m, weighted):
    x, y = clouds(n, m, lead=(2,))
    weights = [torch.rand(2, size, dtype=torch.float64) + 0.1 if weighted else torch.ones(2, size, dtype=torch.float64) for size in (n, m)]
    given = weights if weighted else []
    distance = build(name, **({"num_projections": 8} if name != "wasserstein" else {}), seed=3).eval()
    plan = distance.plan(x, y, *given)
    assert plan.shape == (2, n, m)
    assert (plan >= 0).all()
    for axis, w in ((2, weights[0]), (1, weights[1])):
        torch.testing.assert_close(plan.sum(axis), w / w.sum(1, keepdim=True))
    torch.testing.assert_close((plan * torch.cdist(x, y).square()).sum((1, 2)).sqrt(), distance(x, y, *given))


def test_a_plan_on_the_line_is_optimal():
    x, y = clouds(9, 11, dim=1)
    expected = ot.emd([], [], ot.dist(x.numpy(), y.numpy()))
    np.testing.assert_allclose(build("min_swgg", num_projections=2, seed=0).plan(x, y), expected, atol=1e-12)


@pytest.mark.parametrize(("redraw", "expected"), [(True, 4), (False, 1)])
def test_base_directions_drawn_once_per_call(redraw, expected, monkeypatch):
    distance = build("dswd", steps=3, num_projections=5, seed=0, redraw=redraw)
    drawn, base = [], distance.directions.base
    monkeypatch.setattr(distance.directions, "base", lambda *args: drawn.append(1) or base(*args))
    distance(*clouds())
    assert len(drawn) == expected


def test_parts_of_ones_own():
    @register("trimmed")
    @dataclass
    class Trimmed(Aggregation):
        share: float = 0.5

        def __call__(self, costs, slices):
            return costs.sort(1).values[:, : round(self.share * costs.shape[1])].mean(1)

    @register("axes")
    class Axes(PointSet):
        def points(self, count, dim):
            return torch.eye(dim, dtype=torch.float64)[:count]

    @register("mean_difference")
    class MeanDifference(SliceCost):
        def costs(self, s):
            return ((s.x_features.mean(1) - s.y_features.mean(1))[:, None] * s.theta).sum(-1).square()

    x, y = clouds(8, 8, lead=(2,))
    theta = sphere(6, 3)
    costs = costs_of(x, y, theta)
    trimmed = build("swd", aggregation={"name": "trimmed", "share": 1 / 3})
    torch.testing.assert_close(trimmed(x, y, directions=theta), costs.sort(1).values[:, :2].mean(1).sqrt())
    assert torch.autograd.gradcheck(lambda a, b: trimmed(a, b, directions=theta), (x.requires_grad_(), y.requires_grad_()))
    x, y = x.detach(), y.detach()
    axes = build("swd", sampling="axes", randomisation="none", num_projections=3)
    torch.testing.assert_close(axes(x, y), costs_of(x, y, torch.eye(3, dtype=torch.float64)).mean(1).sqrt())
    expected = (theta @ (x.mean(1) - y.mean(1)).mT).mT.square().mean(1).sqrt()
    torch.testing.assert_close(build("swd", slice_cost="mean_difference")(x, y, directions=theta), expected)
    searched, first = (build("max_swd", slice_cost="mean_difference", steps=steps, lr=0.05, seed=0)(x, y) for steps in (50, 0))
    assert (searched > first).all()
    assert (searched <= (x.mean(1) - y.mean(1)).norm(dim=-1)).all()


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("swd", {"aggregation": "sofmax"}, "aggregation must be one of 'mean', 'algorithm1', .*; got 'sofmax'"),
        (
            "swd",
            {"aggregation": {"name": "softmax", "temprature": 1}},
            "aggregation.temprature is not an option of softmax: did you",
        ),
        ("swd", {"aggregation": {"name": "softmax", "temperature": 0}}, "temperature must be .* above 0; got 0"),
        ("swd", {"aggregation": {"temperature": 1}}, "aggregation.name must be one of 'mean', .*; got None"),
        ("swd", {"slice_cost": "lift"}, "slice_cost must be one of 'sorted', 'lifted'.*; got 'lift'"),
        ("swd", {"sampling": 3}, "sampling must be one of 'random', .*; got 3"),
        ("swd", {"randomisation": "shift"}, "randomisation must be one of 'rotation', 'scramble', 'none'; got 'shift'"),
        ("osw", {"randomisation": "none"}, "randomisation must be 'rotation' for Orthogonal; got 'none'"),
        ("dswd", {"aggregation": "lcv"}, "aggregation LowerVariate.. needs directions that are uniform on the sphere; got PushForward"),
        ("gswd_nn1", {"aggregation": "ucv"}, "needs directions that are uniform on the sphere; got no directions"),
        ("swd_shcv", {"degree": 3}, "degree must be even"),
        ("dswd", {"redraw": "no"}, "redraw must be one of True, False; got 'no'"),
    ],
)
def test_what_makes_no_sense_is_refused(name, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        build(name, **given)


def test_what_does_not_fit_the_samples_is_refused():
    x, y = clouds(dim=2)
    with pytest.raises(ValueError, match="Spiral is a point set in dimension 3; got 2: use 'sobol' or 'halton'"):
        build("qsw_spiral")(x, y)
    with pytest.raises(ValueError, match="num_projections must exceed the 3 polynomials of degree 2 in dimension 2; got 3"):
        build("swd_shcv", num_projections=3)(x, y)
    with pytest.raises(ValueError, match="a plan needs a cost between samples, such as slice_cost='lifted'; got Sorted"):
        build("swd").plan(x, y)
    with pytest.raises(ValueError, match="a plan needs an aggregation that weighs slices; MeanOfRoots does not"):
        build("swd", slice_cost="lifted", aggregation="algorithm1").plan(x, y)


def test_options_of_parts_are_options_of_names():
    assert {"temperature", "energy", "energy_scale"} <= set(options("ebsw"))
    assert "aggregation" not in options("ebsw")
    assert options("swd")["aggregation"] == "mean"
    assert options("qsw_sobol")["sampling"] == "sobol"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("split", ["distance", "constant"])
def test_trees_by_the_network_simplex(split, weighted):
    """Every sample is a node on each line; on one line nodes are apart by their difference, on two by their distances from the root."""
    x, y = clouds(6, 5)
    a, b = (torch.rand(len(side), dtype=torch.float64) + 0.1 if weighted else torch.ones(len(side), dtype=torch.float64) for side in (x, y))
    a, b = a / a.sum(), b / b.sum()
    theta, costs = sphere(6, 3), []
    root = (a @ x + b @ y) / 2
    for lines in theta.split(3):
        nodes, masses = [], []
        for side, weights in ((x, a), (y, b)):
            along = (side - root) @ lines.T
            apart = (side - root)[:, None] - along[..., None] * lines
            share = torch.softmax(-1.5 * apart.norm(dim=-1), 1) if split == "distance" else torch.full_like(along, 1 / 3)
            nodes.append(along.flatten())
            masses.append((weights[:, None] * share).flatten().numpy())
        line = [torch.arange(3).repeat(len(side)) for side in (x, y)]
        same = line[0][:, None] == line[1]
        metric = torch.where(same, (nodes[0][:, None] - nodes[1]).abs(), nodes[0].abs()[:, None] + nodes[1].abs())
        costs.append(ot.emd2(masses[0] / masses[0].sum(), masses[1] / masses[1].sum(), metric.numpy()))
    distance = build("db_tsw", lines=3, split=split, delta=1.5)
    value = distance(x, y, *((a, b) if weighted else ()), directions=theta)
    assert value.item() == pytest.approx(np.mean(costs), rel=1e-9)


def test_a_constant_split_is_the_mean_over_the_lines():
    x, y = clouds(15, 12)
    torch.testing.assert_close(build("tsw_sl", num_projections=40, seed=2)(x, y), build("swd1", num_projections=40, seed=2)(x, y))
    lines = drawn("db_tsw", 6, 12)[0].view(3, 4, 6)
    torch.testing.assert_close(lines @ lines.mT, torch.eye(4, dtype=torch.float64).expand(3, -1, -1))


def test_orthogonal_directions_are_maximised():
    x, y = clouds(40, 40, dim=4)
    distance = build("max_k_swd", num_directions=3, steps=200, lr=0.02, betas=(0.9, 0.99), seed=0)
    searched = distance(x, y)
    u, _ = distance.project(x, y)
    frame = torch.linalg.lstsq(x, u.mT).solution  # the directions, as columns
    torch.testing.assert_close(frame.mT @ frame, torch.eye(3, dtype=torch.float64), rtol=1e-6, atol=1e-6)
    drawn = [build("max_k_swd", num_directions=3, steps=0, seed=seed)(x, y) for seed in range(30)]
    assert searched > drawn[0]  # where it started
    assert searched > torch.stack(drawn).quantile(0.8)
    assert build("max_k_swd", num_directions=1, seed=0, steps=5)(x, y) == build("max_swd", seed=0, steps=5)(x, y)
    with pytest.raises(ValueError, match="num_directions must be at most the dimension of the directions, 2; got 3"):
        build("max_k_swd", num_directions=3)(*clouds(dim=2))
    theta = sphere(9, 4)
    best = costs_of(x, y, theta).topk(3).values.mean().sqrt()
    torch.testing.assert_close(distance(x, y, directions=theta), best)


@pytest.mark.parametrize("name", ["swd", "gswd_poly3", "gswd_circular", "aswd_vanilla"])
def test_triangle_inequality_for_fixed_maps_and_directions(name):
    distance = build(name, num_projections=20, seed=0).eval()
    for seed in range(10):
        (x, y), (z, _) = clouds(9, 9, seed=seed), clouds(9, 9, seed=seed + 100)
        assert distance(x, z) <= distance(x, y) + distance(y, z) + 1e-12


def test_the_aswd_is_the_swd_of_the_images_and_bounded_by_their_moments():
    """ASWD(g) = SWD of g(x) and g(y), at most the sum of their moments, and by a factor 1/sqrt(d_theta) less over all directions."""
    x, y = clouds(30, 30)
    distance = build("aswd", num_projections=300, seed=0, activation="relu", sampling="orthogonal")  # complete blocks: exact second moments
    distance(x, y)
    distance.eval()
    parameters = {name: value for name, value in distance.learned.named_buffers() if "__" not in name}
    gx, gy = (distance.projection.features(side[None], parameters)[0] for side in (x, y))
    streams = distance.streams.restarted()
    streams.prepare(1, x.device, x.dtype)
    theta = distance.directions.base(6, streams)[0]
    value = distance(x, y)
    torch.testing.assert_close(value, build("swd")(gx, gy, directions=theta))
    moments = sum(side.square().sum(1).mean().sqrt() for side in (gx, gy))
    assert value <= moments / math.sqrt(6) <= moments
