"""Distances of matched samples in many dimensions: all pairs, gathered rows and gathered columns are one and the same, and exact."""

import pytest
import torch

from aswd.distances import build, matched
from aswd.distances.matched import all_pairs_are_cheaper, squared_distances
from tests.distances.small import clouds
from tests.distances.test_values import sphere

LIFTED = ["min_swgg", "est", "pwd"]


@pytest.fixture(params=["all pairs", "rows", "columns"])
def way(request, monkeypatch):
    """In which way the squared distances of matches are computed."""
    monkeypatch.setattr(matched, "_COLUMNS_UP_TO", 100 if request.param == "columns" else 0)
    monkeypatch.setattr(matched, "_MOST_PAIRS", 1 << 26 if request.param == "all pairs" else 0)
    return request.param


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize(("dtype", "rel"), [(torch.float32, 3e-6), (torch.float64, 1e-11)])
def test_all_pairs_by_brute_force(dtype, rel, offset):
    """Far, close (1e-4 of the norm, where the expansion loses all digits of float32) and equal samples, far from the origin or not."""
    x, y = (side.to(dtype) + offset for side in clouds(30, 40, 50))
    y[:10] = x[:10] + 1e-4 * (1 + offset) * torch.randn(10, 50, dtype=dtype)
    y[10:15] = x[10:15]
    exact = (x.double()[:, None] - y.double()).square().sum(-1)
    squares = squared_distances(x[None], y[None])[0]
    torch.testing.assert_close(squares.double(), exact, rtol=rel, atol=0)
    assert (squares.diagonal()[10:15] == 0).all()


def test_pieces_change_nothing(monkeypatch):
    x, y = clouds(30, 40, 50)
    x[:20] = y[:20]  # pairs whose differences are computed
    whole = squared_distances(x[None], y[None])
    monkeypatch.setattr(matched, "_HELD", 100)
    torch.testing.assert_close(squared_distances(x[None], y[None]), whole, rtol=1e-11, atol=0)


def test_all_pairs_are_taken_where_they_are_cheaper():
    x, y = torch.empty(1, 500, 64), torch.empty(1, 500, 64)
    assert all_pairs_are_cheaper(x, y, 100)
    assert not all_pairs_are_cheaper(x, y, 1)
    assert not all_pairs_are_cheaper(x[..., :2], y[..., :2], 100)
    big = torch.empty(1, 10_000, 64)
    assert not all_pairs_are_cheaper(big, big, 1000)


@pytest.mark.parametrize("order", [1, 1.5, 2, 3])
@pytest.mark.parametrize(("n", "m", "weighted"), [(12, 12, False), (12, 9, False), (9, 12, True)])
@pytest.mark.parametrize("name", LIFTED)
def test_value_and_gradient_by_autograd_of_brute_force(way, name, n, m, weighted, order):
    x, y = clouds(n, m, 20, lead=(2,))
    theta = sphere(7, 20)
    weights = [torch.rand(2, k, dtype=torch.float64) + 0.1 for k in (n, m)] if weighted else []
    x.requires_grad_()
    y.requires_grad_()
    value = build(name, order=order)(x, y, *weights, directions=theta)
    distances = (x[:, :, None] - y[:, None]).square().sum(-1).pow(order / 2)
    costs = []
    for direction in theta:
        plan = build("pwd").plan((x @ direction)[..., None], (y @ direction)[..., None], *weights, directions=torch.ones(1, 1).double())
        costs.append((plan * distances).sum((1, 2)))
    costs = torch.stack(costs, 1)
    expected = {"min_swgg": costs.amin(1), "pwd": costs.mean(1), "est": (torch.softmax(-costs, 1) * costs).sum(1)}[name] ** (1 / order)
    torch.testing.assert_close(value, expected)
    for ours, theirs in zip(*(torch.autograd.grad(v.sum(), (x, y)) for v in (value, expected)), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", LIFTED)
def test_zero_with_zero_gradient_at_equality(way, name):
    """In float32, far from the origin and with repeated samples, which can be matched with each other's copies."""
    x = (clouds(6, dim=40, dtype=torch.float32)[0] + 100).repeat(3, 1)
    y = x[torch.randperm(18, generator=torch.Generator().manual_seed(0))]
    x.requires_grad_()
    value = build(name, num_projections=20, seed=0)(x, y)
    value.backward()
    assert value.item() == 0
    assert not x.grad.any()


@pytest.mark.parametrize("name", LIFTED)
def test_small_distances_keep_their_digits(way, name):
    """Samples of norm 6 that are 1e-4 apart: value and gradient in float32 against float64."""
    x = clouds(40, dim=40, dtype=torch.float32)[0].requires_grad_()
    y = x.detach() + 1e-5 * torch.randn(40, 40, generator=torch.Generator().manual_seed(1))
    theta = sphere(60, 40)
    results = []
    for dtype in (torch.float32, torch.float64):
        a = x.detach().to(dtype).requires_grad_()
        value = build(name)(a, y.to(dtype), directions=theta.to(dtype))
        value.backward()
        results.append((value.double(), a.grad.double()))
    torch.testing.assert_close(results[0][0], results[1][0], rtol=1e-5, atol=0)
    difference = (results[0][1] - results[1][1]).norm() / results[1][1].norm()
    assert difference < 1e-4
