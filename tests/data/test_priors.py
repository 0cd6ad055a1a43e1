"""The priors of a code against their laws."""

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.datasets import make_circles, make_swiss_roll

from aswd.data.priors import PRIORS, check_prior, draw_prior

N = 20_000


def drawn(name, dim=2, place=(3, 8, 5)):
    points = draw_prior(name, N, dim, place)
    assert points.shape == (N, dim)
    assert points.dtype == torch.float32
    return points.double().numpy()


def fits(values, law):
    return stats.kstest(values, law).pvalue > 1e-3


def angles(points):
    return np.arctan2(points[:, 1], points[:, 0]) / (2 * np.pi) % 1


def test_the_ring_is_that_of_make_circles():
    ours = drawn("ring")
    points, which = make_circles(2 * N, noise=0.01, random_state=0)
    theirs = points[which == 0]
    for project in (lambda p: np.hypot(*p.T), lambda p: p[:, 0], lambda p: p @ [0.6, -0.8]):
        assert stats.ks_2samp(project(ours), project(theirs)).pvalue > 1e-3
    assert fits((np.hypot(*ours.T) - 1) / 0.01, "norm")
    even = 2 * np.pi / N * np.arange(N)
    noise = (ours - np.stack([np.cos(even), np.sin(even)], 1)) / 0.01  # float32 leaves it 1e-5 of its size
    assert fits(noise[:, 0], "norm")
    assert fits(noise[:, 1], "norm")


def test_disk_and_square_are_uniform():
    disk, square = drawn("disk"), drawn("square")
    assert fits((disk**2).sum(1), "uniform")
    assert fits(angles(disk), "uniform")
    assert fits(square[:, 0] / 2 + 0.5, "uniform")
    assert fits(square[:, 1] / 2 + 0.5, "uniform")
    assert abs(np.corrcoef(square.T)[0, 1]) < 0.03


def test_gaussian_and_mixture_in_several_dimensions():
    gaussian, mixture = drawn("gaussian", 5), drawn("mixture", 4)
    assert all(fits(column, "norm") for column in gaussian.T)
    np.testing.assert_allclose(np.cov(gaussian.T), np.eye(5), atol=0.04)
    mode = np.round(10 * angles(mixture)).astype(int) % 10
    assert stats.chisquare(np.bincount(mode, minlength=10)).pvalue > 1e-3
    centre = np.stack([np.cos(2 * np.pi * mode / 10), np.sin(2 * np.pi * mode / 10)], 1)
    # Nearly all points are nearest to the mode that they come from: 3 standard deviations lie between a mode and its border.
    np.testing.assert_allclose((mixture[:, :2] - centre).std(0), 0.1, rtol=0.02)
    assert all(fits(column / 0.1, "norm") for column in mixture[:, 2:].T)


def test_the_swiss_roll_is_that_of_scikit_learn_at_a_fixed_scale():
    ours = drawn("swiss_roll")
    theirs = make_swiss_roll(N, random_state=0)[0][:, [0, 2]] / (4.5 * np.pi)
    for project in (lambda p: np.hypot(*p.T), lambda p: p[:, 0], lambda p: p @ [0.6, -0.8]):
        assert stats.ks_2samp(project(ours), project(theirs)).pvalue > 1e-3
    radius = np.hypot(*ours.T)
    assert fits((radius - 1 / 3) * 1.5, "uniform")
    np.testing.assert_allclose(np.cos(4.5 * np.pi * radius), ours[:, 0] / radius, atol=1e-4)


@pytest.mark.parametrize("name", PRIORS)
def test_a_draw_depends_on_its_place_alone(name):
    first = draw_prior(name, 30, 2, (0, 8, 1))
    torch.rand(3)
    assert torch.equal(first, draw_prior(name, 30, 2, (0, 8, 1)))
    assert all(not torch.equal(first, draw_prior(name, 30, 2, place)) for place in ((0, 8, 2), (1, 8, 1), (0, 9, 1)))


@pytest.mark.parametrize(
    ("prior", "dim", "sentence"),
    [
        ("ring", 3, "latent_dim must be 2 for prior 'ring'"),
        ("disk", 1, "latent_dim must be 2 for prior 'disk'"),
        ("mixture", 1, "latent_dim must be at least 2 for prior 'mixture'"),
        ("donut", 2, "prior must be one of 'ring', 'disk', 'square', 'gaussian', 'mixture', 'swiss_roll'; got 'donut'"),
    ],
)
def test_priors_that_are_not_there_are_refused(prior, dim, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_prior(prior, dim)
    check_prior("gaussian", 1)
    check_prior("mixture", 16)
