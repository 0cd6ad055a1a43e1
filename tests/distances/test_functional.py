"""The distance as a function, and its confidence intervals."""

import inspect
import math

import pytest
import torch
from scipy.stats import binom

from aswd.distances import build, sliced_wasserstein
from tests.distances.small import clouds


def test_it_is_the_distance():
    x, y = clouds(12, 15, lead=(2,))
    weights = torch.rand(12, dtype=torch.float64), torch.rand(15, dtype=torch.float64)
    expected = build("qsw_sobol", num_projections=20, order=3, seed=4)(x, y, *weights)
    assert torch.equal(sliced_wasserstein(x, y, *weights, num_projections=20, order=3, sampling="sobol", seed=4), expected)
    theta = torch.randn(5, 3, dtype=torch.float64)
    assert torch.equal(sliced_wasserstein(x, y, directions=theta), build("swd")(x, y, directions=theta))
    assert {"num_projections", "order", "directions", "confidence"} <= set(inspect.signature(sliced_wasserstein).parameters)


@pytest.mark.parametrize("sampling", ["random", "orthogonal", "sobol"])
def test_intervals_cover_the_limit_as_often_as_they_say(sampling):
    """400 intervals at 90 %: the number that contain SW_2 is binomial; level of the test 1e-4 on each side."""
    x, y = clouds(30, 30)
    exact = sliced_wasserstein(x, y, num_projections=200_000, seed=1)
    given = {"num_projections": 200} if sampling == "random" else {"num_projections": 12, "repetitions": 10}
    value, low, high = sliced_wasserstein(x.expand(400, -1, -1), y, sampling=sampling, seed=7, confidence=0.9, **given)
    assert ((low <= value) & (value <= high)).all()
    covered = ((low <= exact) & (exact <= high)).sum().item()
    assert binom.ppf(1e-4, 400, 0.88) <= covered <= binom.ppf(1 - 1e-4, 400, 0.92)


def test_an_estimate_is_differentiable_and_weighted():
    x, y = clouds(6, 7)
    weights = torch.rand(6, dtype=torch.float64) + 0.1, torch.rand(7, dtype=torch.float64) + 0.1
    plain = sliced_wasserstein(x.requires_grad_(), y, *weights, num_projections=8, seed=0)
    estimate = sliced_wasserstein(x, y, *weights, num_projections=8, seed=0, confidence=0.95)
    torch.testing.assert_close(estimate.value, plain)
    torch.testing.assert_close(*(torch.autograd.grad(v, x)[0] for v in (estimate.value, plain)))
    assert not estimate.low.requires_grad


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"confidence": 1.5}, "confidence must be a number .*above 0 and below 1; got 1.5"),
        ({"confidence": math.nan}, "confidence must be"),
        ({"confidence": 0.9, "directions": torch.ones(2, 3)}, "confidence needs random directions"),
        ({"confidence": 0.9, "sampling": "sobol", "randomisation": "none"}, "confidence needs random directions"),
        ({"confidence": 0.9, "num_projections": 1}, "num_projections must be a whole number of at least 2; got 1"),
        ({"confidence": 0.9, "sampling": "sobol", "repetitions": 1}, "repetitions must be a whole number of at least 2; got 1"),
        ({"order": 0.5}, "order must be a number of at least 1; got 0.5"),
    ],
)
def test_bad_arguments(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        sliced_wasserstein(*clouds(), **given)
