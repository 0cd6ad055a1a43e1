"""Laws of directions with a state or that depend on the samples: von Mises-Fisher, random paths, Markov chains."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import stats

from aswd import testing
from aswd.distances import build, wasserstein_1d
from aswd.distances.streams import Streams
from aswd.distances.zonal import directions_around, sample_noise, unit
from tests.distances.small import clouds
from tests.distances.test_values import sphere

LEVEL = 1e-4  # of all statistical tests here
COUNT = 20_000


def around(mean, law, kappa, count=COUNT, seed=0, **given):
    """Directions around one mean, ``[count, d]``."""
    streams = Streams(seed)
    streams.prepare(1, mean.device, torch.float64)
    return directions_around(mean[None, None], sample_noise(streams, count, len(mean)), law, kappa, **given)[0]


def cosine_law(law, dim, kappa):
    """Distribution function of the cosine to the mean direction."""
    if law == "power_spherical":
        return lambda t: stats.beta((dim - 1) / 2 + kappa, (dim - 1) / 2).cdf((1 + t) / 2)
    if dim == 2:
        return lambda t: 1 - 2 * (stats.vonmises(kappa).cdf(np.arccos(t)) - 0.5)
    return lambda t: np.expm1(kappa * (t + 1)) / np.expm1(2 * kappa)


@pytest.mark.parametrize(
    ("law", "dim", "kappa"),
    [
        *(("von_mises_fisher", 2, 0.5), ("von_mises_fisher", 2, 50.0), ("von_mises_fisher", 3, 1.0), ("von_mises_fisher", 3, 50.0)),
        *(("power_spherical", 2, 5.0), ("power_spherical", 3, 0.0), ("power_spherical", 10, 50.0), ("power_spherical", 784, 1000.0)),
        ("power_spherical", 3, 1e6),
    ],
)
def test_cosines_have_their_law(law, dim, kappa):
    """Kolmogorov-Smirnov against closed forms."""
    mean = unit(torch.arange(1.0, dim + 1, dtype=torch.float64))
    theta = around(mean, law, kappa)
    torch.testing.assert_close(theta.norm(dim=1), torch.ones(COUNT, dtype=torch.float64))
    assert stats.kstest((theta @ mean).clamp(-1, 1).numpy(), cosine_law(law, dim, kappa)).pvalue > LEVEL


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize(("dim", "kappa"), [(3, 5.0), (5, 2.0), (20, 30.0)])
def test_directions_against_scipy(dim, kappa, odd):
    """Two samples of the same law along directions of all angles to the mean: Kolmogorov-Smirnov, and the whole covariance."""
    mean = unit(torch.arange(1.0, dim + 1, dtype=torch.float64))
    ours = around(mean, "von_mises_fisher", kappa, odd=odd).numpy()
    theirs = stats.vonmises_fisher(mean.numpy(), kappa).rvs(COUNT, random_state=np.random.default_rng(1))
    for direction in sphere(5, dim).numpy():
        assert stats.ks_2samp(ours @ direction, theirs @ direction).pvalue > LEVEL / 5
    products = [np.einsum("ni,nj->nij", centred, centred) for centred in (ours - ours.mean(0), theirs - theirs.mean(0))]
    errors = np.sqrt(sum(product.var(0) for product in products) / COUNT)
    difference = products[0].mean(0) - products[1].mean(0)
    assert np.abs(difference / errors).max() < stats.norm.isf(LEVEL / dim**2)


def test_opposite_means_have_opposite_directions():
    mean = unit(torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64))
    torch.testing.assert_close(
        around(mean, "power_spherical", 4.0, 50, odd=True), -around(-mean, "power_spherical", 4.0, 50, odd=True), rtol=1e-12, atol=1e-12
    )


def test_directions_are_differentiable_functions_of_the_mean():
    streams = Streams(0)
    streams.prepare(2, torch.device("cpu"), torch.float64)
    noise, mean = sample_noise(streams, 5, 4), streams.sphere(1, 4).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda m: directions_around(torch.nn.functional.normalize(m, dim=-1), noise, "von_mises_fisher", 3.0), mean
    )


def test_unit_vectors_of_any_scale():
    vectors = torch.tensor([[3.0, 4.0], [3e30, 4e30], [3e-30, 4e-30], [0.0, 0.0]])
    torch.testing.assert_close(unit(vectors), torch.tensor([[0.6, 0.8]] * 3 + [[0.0, 0.0]]))


def test_vdsw_turns_its_mean_to_where_the_distance_is():
    """A translation along an axis: the mean direction ends there, and SW_2^2 = norm^2 E cos^2 with E cos^2 = 1 - 2 A / kappa in d = 3."""
    x, _ = clouds(30)
    y = x + torch.tensor([2.0, 0.0, 0.0])
    kappa = 20.0
    distance = build("vdsw", num_projections=2000, kappa=kappa, steps=300, lr=0.02, betas=(0.9, 0.99), seed=0, root=False)
    value = distance(x, y).item()
    location = distance.learned.get_buffer("location")[0, 0]
    assert abs(location[0]) > 0.999
    resultant = 1 / math.tanh(kappa) - 1 / kappa
    assert value == pytest.approx(4 * (1 - 2 * resultant / kappa), rel=0.01)
    start = build("vdsw", num_projections=2000, kappa=kappa, steps=0, seed=0, root=False)(x, y).item()
    assert start < 0.9 * value


def test_vdsw_between_swd_and_max_swd():
    """Uniform for kappa = 0, one direction for a large one; given directions are used as they are, and not searched."""
    x, y = clouds(40, 40)
    uniform = build("vdsw", kappa=0.0, steps=0, num_projections=50_000, seed=0)(x, y).item()
    assert uniform == pytest.approx(build("swd", num_projections=50_000, seed=1)(x, y).item(), rel=0.01)
    narrow = build("vdsw", kappa=1e8, steps=0, num_projections=3, seed=0).eval()
    directions = narrow.draw(x, y)
    torch.testing.assert_close(directions, directions[:1].expand(3, -1), rtol=1e-3, atol=1e-3)
    theta = sphere(6, 3)
    distance = build("vdsw", steps=5, seed=0)
    for _ in range(2):
        torch.testing.assert_close(distance(x, y, directions=theta), build("swd")(x, y, directions=theta))
        torch.testing.assert_close(distance.objective(x, y, directions=theta), build("swd")(x, y, directions=theta))
    assert distance.learned.count == 0


def paths_of(x, y, **given):
    """Directions of RPSW that are nearly the paths themselves, ``[L, d]``."""
    return build("rpsw", kappa=1e9, seed=0, **given).draw(x, y)


@pytest.mark.parametrize("weighted", [False, True])
def test_paths_join_independent_pairs(weighted):
    """Chi-square of the frequencies of all pairs, by the product of their weights."""
    x, y = clouds(4, 3)
    weights = [torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([5.0, 1.0, 2.0])] if weighted else []
    a, b = (w.double() / w.sum() for w in (weights or [torch.ones(4), torch.ones(3)]))
    theta = build("rpsw", kappa=1e9, num_projections=COUNT, seed=0).draw(x, y, *weights)
    paths = torch.nn.functional.normalize(x[:, None] - y, dim=-1).flatten(0, 1)
    cosine = (theta @ paths.mT).abs()
    assert (cosine.amax(1) > 1 - 1e-6).all()
    observed = torch.bincount(cosine.argmax(1), minlength=12).numpy()
    assert stats.chisquare(observed, (COUNT * a[:, None] * b).flatten().numpy()).pvalue > LEVEL


def test_paths_depend_neither_on_the_order_of_samples_nor_of_sides():
    x, y = clouds(9, 7)
    theta = paths_of(x, y, num_projections=31)
    torch.testing.assert_close(paths_of(x.flip(0), y.roll(2, 0), num_projections=31), theta)
    torch.testing.assert_close(paths_of(y, x, num_projections=31), -theta)


def test_samples_that_coincide_have_uniform_directions():
    x = torch.ones(5, 3, dtype=torch.float64)
    theta = paths_of(x, x, num_projections=COUNT)
    assert stats.kstest(theta[:, 0].numpy(), stats.uniform(-1, 2).cdf).pvalue > LEVEL
    one = build("rpsw", num_projections=4, seed=0)(torch.zeros(1, 1), torch.ones(1, 1))
    assert one.item() == 1


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_paths_of_any_scale(scale):
    x, y = clouds(dtype=torch.float32)
    torch.testing.assert_close(paths_of(scale * x, scale * y, num_projections=8), paths_of(x, y, num_projections=8), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "given"), [("rpsw", {}), ("msw", {"transition": "input_aware"})])
def test_directions_from_samples_are_constants_of_the_gradient(name, given):
    x, y = clouds()
    distance = build(name, num_projections=20, seed=0, **given).eval()
    theta = distance.draw(x, y)
    x.requires_grad_()
    grads = [torch.autograd.grad(value, x)[0] for value in (distance(x, y), build("swd")(x, y, directions=theta))]
    torch.testing.assert_close(*grads)


def test_importance_weighted_paths_are_energy_based():
    x, y = clouds(20, 25)
    distance = build("iwrpsw", num_projections=30, temperature=0.5, seed=0).eval()
    theta = distance.draw(x, y)
    torch.testing.assert_close(distance(x, y), build("ebsw", temperature=0.5)(x, y, directions=theta))
    assert build("iwrpsw", reading="paper").aggregation.energy_scale == "mean"


def chains(transition, x, y, chains=400, length=5, **given):
    """States ``[chains, length, d]``."""
    distance = build("msw", transition=transition, chain_length=length, num_projections=chains * length, seed=0, **given)
    return distance.draw(x, y).unflatten(0, (chains, length))


@pytest.mark.parametrize("dim", [2, 3, 10])
def test_orthogonal_chains(dim):
    x, y = clouds(dim=dim)
    states = chains("orthogonal", x, y)
    inner = torch.linalg.vecdot(states[:, 1:], states[:, :-1])
    assert inner.abs().max() < 1e-12
    if dim > 2:
        assert torch.linalg.vecdot(states[:, 2:], states[:, :-2]).abs().max() > 0.1  # a chain remembers one direction only


def test_random_chains():
    """Each cosine of neighbours has the law of the transition, and each direction alone is uniform."""
    x, y = clouds()
    states = chains("random", x, y, chains=4000, length=3, kappa=5.0)
    for t in range(2):
        cosines = torch.linalg.vecdot(states[:, t], states[:, t + 1]).numpy()
        assert stats.kstest(cosines, cosine_law("von_mises_fisher", 3, 5.0)).pvalue > LEVEL
    for t in range(3):
        assert stats.kstest(states[:, t, 0].numpy(), stats.uniform(-1, 2).cdf).pvalue > LEVEL


@pytest.mark.parametrize("order", [1, 2])
def test_input_aware_chains_ascend(order):
    x, y = clouds(15, 12)
    states = chains("input_aware", x, y, chains=6, length=4, order=order, ascent=0.3)
    for chain in states:
        for before, after in pairwise(chain):
            leaf = before.clone().requires_grad_()
            slope = torch.autograd.grad(wasserstein_1d(x @ leaf, y @ leaf, order=order), leaf)[0]
            torch.testing.assert_close(after, torch.nn.functional.normalize(before + 0.3 * slope, dim=0))
    values = wasserstein_1d(states @ x.mT, states @ y.mT, order=order)
    assert (values[:, -1] > values[:, 0]).all()
    noisy = chains("random_input_aware", x, y, chains=4000, length=2, kappa=5.0, order=order, ascent=0.3)
    start = noisy[:, 0].clone().requires_grad_()
    slope = torch.autograd.grad(wasserstein_1d(start @ x.mT, start @ y.mT, order=order).sum(), start)[0]
    mean = torch.nn.functional.normalize(start + 0.3 * slope, dim=-1).detach()
    assert stats.kstest(torch.linalg.vecdot(mean, noisy[:, 1]).numpy(), cosine_law("von_mises_fisher", 3, 5.0)).pvalue > LEVEL


def test_which_directions_of_a_chain_are_used():
    x, y = clouds()
    whole = chains("input_aware", x, y, chains=4, length=9)
    some = chains("input_aware", x, y, chains=4, length=3, burn_in=2, thinning=3)
    torch.testing.assert_close(some, whole[:, 2::3])
    assert build("msw", num_projections=23, chain_length=5, seed=0).draw(x, y).shape == (23, 3)
    assert build("msw", num_projections=3, chain_length=5, seed=0).draw(x, y).shape == (3, 3)


@pytest.mark.parametrize("transition", ["random", "input_aware", "random_input_aware"])
def test_every_transition_keeps_the_contract(transition):
    expected = [prop.name for prop in testing._PROPERTIES]
    assert testing.check_distance("msw", transition=transition, chain_length=3) == expected


def test_laws_with_other_projections_and_aggregations():
    """Paths are between features; a learned projection and a search of directions see the law, too."""
    from aswd.distances import Augmented, NormPenalty, PushForward, SlicedDistance
    from aswd.distances.maximiser import Maximiser
    from aswd.distances.random_paths import RandomPath

    x, y = clouds()
    distance = SlicedDistance(Augmented(), RandomPath(10), "projection", Maximiser(steps=3), NormPenalty(), seed=0)
    assert distance(x, y) > 0
    assert distance.eval().draw(x, y).shape == (10, 6)
    assert build("dswd", sampling="sobol", num_projections=5, seed=0).draw(x, y).shape == (5, 3)
    assert PushForward().from_samples is False
    with pytest.raises(ValueError, match="needs directions that are uniform on the sphere; got RandomPath"):
        SlicedDistance(Augmented(), RandomPath(10), aggregation="lcv")


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("vdsw", {"kappa": -1}, "kappa must be a number of at least 0 and at most 1000000000000; got -1"),
        ("vdsw", {"num_projections": 0}, "num_projections must be a whole number of at least 1; got 0"),
        ("rpsw", {"kappa": float("nan")}, "kappa must be a number of at least 0 and at most 1000000000000; got nan"),
        ("msw", {"transition": "markov"}, "transition must be one of 'orthogonal', 'random', .*; got 'markov'"),
        ("msw", {"chain_length": 0}, "chain_length must be a whole number of at least 1; got 0"),
        ("msw", {"thinning": 0}, "thinning must be a whole number of at least 1; got 0"),
        ("msw", {"burn_in": -1}, "burn_in must be a whole number of at least 0; got -1"),
        ("msw", {"ascent": 0}, "ascent must be a number above 0; got 0"),
    ],
)
def test_what_makes_no_sense_is_refused(name, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        build(name, **given)


@pytest.mark.parametrize("name", ["vdsw", "rpsw", "iwrpsw", "msw"])
def test_a_concentration_beyond_all_tables_is_refused(name):
    assert torch.isfinite(build(name, seed=0, kappa=1e12)(torch.randn(17, 3), torch.randn(17, 3)))
    with pytest.raises(ValueError, match=r"kappa must be a number of at least 0 and at most 1000000000000; got 1e\+20"):
        build(name, seed=0, kappa=1e20)
