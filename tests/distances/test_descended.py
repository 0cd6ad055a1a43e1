"""min-SWGG by descent: the gradient of its smoothed objective, and what is found."""

import math

import pytest
import torch
from scipy.stats import norm

from aswd.distances import build
from aswd.distances.descended import smoothed_gradient
from aswd.distances.problem import Slices
from aswd.distances.projections import Linear
from tests.distances.small import clouds
from tests.distances.test_values import sphere


def slices(x, y, theta, x_weights=None, y_weights=None):
    weights = [None if w is None else (w / w.sum())[None] for w in (x_weights, y_weights)]
    return Slices(Linear(), {}, x[None], y[None], x[None], y[None], theta[None], *weights, 2.0)


def smoothed_cost(x, y, theta, copies, noise):
    """The objective of the SWGG paper, by its three distances, for N samples on each side; perturbations are quantiles."""
    n = len(x)
    u, v = x @ theta, y @ theta
    i, j = u.detach().argsort(), v.detach().argsort()
    target = ((u[i] + v[j]) / 2)[:, None] * theta
    width = noise * ((u.var(unbiased=False) + v.var(unbiased=False)) / 2).sqrt().item()
    shifts = width * torch.from_numpy(norm.ppf((torch.arange(copies) + 0.5) / copies))
    blurred = []
    for side, values in ((x, u), (y, v)):
        order = (values.detach()[:, None] + shifts).flatten().argsort(stable=True) // copies
        blurred.append(side[order].view(n, copies, -1).mean(1))
    middle = (blurred[0] + blurred[1]) / 2
    return (2 * (x[i] - target).square().sum() + 2 * (y[j] - target).square().sum() - 4 * (middle - target).square().sum()) / n


def test_the_gradient_is_that_of_the_papers_objective():
    x, y = clouds(30, 30, 4)
    theta = sphere(5, 4)
    gradients = smoothed_gradient(slices(x, y, theta), 6, 0.3)[0]
    for direction, gradient in zip(theta, gradients, strict=True):
        leaf = direction.clone().requires_grad_()
        expected = torch.autograd.grad(smoothed_cost(x, y, leaf, 6, 0.3), leaf)[0]
        assert expected.norm() > 0.1
        torch.testing.assert_close(gradient, expected)


def test_without_noise_the_objective_is_the_lifted_cost_and_has_no_gradient():
    x, y = clouds(30, 30, 4)
    theta = sphere(1, 4)
    torch.testing.assert_close(smoothed_cost(x, y, theta[0], 4, 1e-9), build("min_swgg", root=False)(x, y, directions=theta))
    assert smoothed_gradient(slices(x, y, theta), 4, 1e-9).abs().max() < 1e-12


def test_samples_that_repeat_are_weights():
    x, y = clouds(6, 9)
    theta = sphere(4, 3)
    weights = torch.tensor([1.0, 2.0, 1.0, 1.0, 1.0, 3.0], dtype=torch.float64)
    repeated = x.repeat_interleave(weights.long(), 0)
    ones = torch.ones(9, dtype=torch.float64)
    expected = smoothed_gradient(slices(x, y, theta, weights, ones), 5, 0.2)
    torch.testing.assert_close(smoothed_gradient(slices(repeated, y, theta), 5, 0.2), expected)
    torch.testing.assert_close(smoothed_gradient(slices(y, repeated, theta), 5, 0.2), expected)


@pytest.mark.parametrize("seed", range(3))
def test_descent_approaches_the_wasserstein_distance(seed):
    """Samples spread along one of ten axes: at least a fifth of the gap between the start and W is closed, and W is a lower bound."""
    spread = torch.tensor([5.0] + 9 * [0.3])
    x, y = (side * spread for side in clouds(100, 100, 10, seed=seed))
    value, start = (build("min_swgg_opt", steps=steps, seed=seed)(x, y).item() for steps in (200, 0))
    exact = build("wasserstein")(x, y).item()
    assert exact <= value < start - 0.2 * (start - exact)


def test_several_starts_in_the_plane():
    """As good as the best of a thousand directions on the half circle, to a few percent."""
    x, y = clouds(60, 60, 2)
    y = y * torch.tensor([2.0, 0.2])
    angles = torch.arange(1000, dtype=torch.float64) * math.pi / 1000
    best = build("min_swgg")(x, y, directions=torch.stack([angles.cos(), angles.sin()], 1)).item()
    distance = build("min_swgg_opt", starts=12, seed=0)
    assert distance(x, y).item() < 1.05 * best
    one = build("min_swgg_opt", seed=0)
    assert distance.draw(x, y).shape == (12, 2)
    assert one.draw(x, y).shape == (1, 2)
    assert distance(x, y) <= one(x, y) * 1.05


def test_given_directions_are_not_searched():
    x, y = clouds()
    theta = sphere(9, 3)
    distance = build("min_swgg_opt", seed=0)
    torch.testing.assert_close(distance(x, y, directions=theta), build("min_swgg")(x, y, directions=theta))
    plan = distance.plan(x, y)
    torch.testing.assert_close((plan * torch.cdist(x, y).square()).sum().sqrt(), distance.eval()(x, y))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"starts": 0}, "starts must be a whole number of at least 1; got 0"),
        ({"copies": 1}, "copies must be a whole number of at least 2; got 1"),
        ({"noise": 0}, "noise must be a number above 0; got 0"),
    ],
)
def test_what_makes_no_sense_is_refused(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        build("min_swgg_opt", **given)
