"""Exact W2 against POT, brute force and a closed form."""

import itertools

import numpy as np
import ot
import pytest
import torch

from aswd.metrics import ExactWasserstein, exact_wasserstein


def emd(x, y, order=2.0):
    cost = ((x[:, None] - y[None]) ** 2).sum(-1) ** (order / 2)
    return ot.emd2(np.full(len(x), 1 / len(x)), np.full(len(y), 1 / len(y)), cost) ** (1 / order)


@pytest.mark.parametrize(("n", "m"), [(40, 40), (30, 45)])
@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
def test_agrees_with_pot_for_every_replica(n, m, order):
    x, y = torch.randn(3, n, 2), torch.randn(3, m, 2) + 1
    expected = [emd(a.double().numpy(), b.double().numpy(), order) for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(exact_wasserstein(x, y, order).numpy(), expected, rtol=1e-9)


def test_agrees_with_pot_in_many_dimensions_far_from_the_origin():
    x, y = torch.rand(30, 784) + 100, torch.rand(30, 784) + 100
    np.testing.assert_allclose(exact_wasserstein(x, y).item(), emd(x.double().numpy(), y.double().numpy()), rtol=1e-9)
    moved = x.double() + 1e-6  # nearly the same
    np.testing.assert_allclose(exact_wasserstein(x.double(), moved).item(), 28e-6, rtol=1e-6)


def test_agrees_with_all_permutations():
    x, y = torch.randn(5, 3, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64)
    best = min(((x - y[list(p)]) ** 2).sum(-1).mean() for p in itertools.permutations(range(5)))
    assert exact_wasserstein(x, y).item() == pytest.approx(best.sqrt().item(), rel=1e-12)


def test_tiny_distances_are_not_lost_in_rounding():
    x = torch.randn(200, 2)
    assert exact_wasserstein(x, x.double() + 1e-6).item() == pytest.approx(2**0.5 * 1e-6, rel=1e-6)


def test_metric_joins_what_it_is_shown_and_forgets():
    x, y = torch.randn(2, 30, 2), torch.randn(2, 30, 2)
    metric = ExactWasserstein()
    metric.update(x[:, :10], y[:, :10])
    metric.update(x[:, 10:], y[:, 10:])
    torch.testing.assert_close(metric.compute(), exact_wasserstein(x, y))
    metric.reset()
    with pytest.raises(ValueError, match="called before update"), pytest.warns(UserWarning, match="before the ``update``"):
        metric.compute()


def test_metric_is_not_differentiated_and_takes_half_precision():
    x = torch.randn(1, 20, 2, requires_grad=True)
    metric = ExactWasserstein()
    metric.update(x, torch.zeros(1, 20, 2))
    assert not metric.compute().requires_grad
    assert exact_wasserstein(x.half(), torch.zeros(20, 2).half()).dtype == torch.float64
