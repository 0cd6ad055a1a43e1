"""The 1-D solver against POT's general solver, scipy and itself without the fast path."""

import numpy as np
import ot
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from aswd.distances import build, sorting, wasserstein_1d


def transport_cost(u, v, a, b, order):
    """W_k^k by the network simplex on the whole cost matrix: no sorting involved."""
    cost = np.abs(u[:, None] - v[None]) ** order
    return ot.emd2(a / a.sum(), b / b.sum(), cost)


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 12),
    m=st.integers(1, 12),
    order=st.sampled_from([1.0, 1.5, 2.0, 3.0]) | st.floats(1, 4),
    weighted=st.booleans(),
    scale=st.floats(1e-3, 1e3),
    ties=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_equals_the_network_simplex(n, m, order, weighted, scale, ties, seed):
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, n)), rng.normal(size=(2, m)) + 0.3
    if ties:
        u, v = np.round(u), np.round(v)
    u, v = u * scale, v * scale
    a, b = (rng.uniform(0, 1, size) + (rng.uniform(size=size) < 0.8) * 0.1 for size in (n, m)) if weighted else (np.ones(n), np.ones(m))
    weights = (torch.from_numpy(a), torch.from_numpy(b)) if weighted else (None, None)
    ours = wasserstein_1d(torch.from_numpy(u), torch.from_numpy(v), *weights, order=order, root=False)
    expected = [transport_cost(u[i], v[i], a, b, order) for i in range(2)]
    np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12 * scale**order)
    single = wasserstein_1d(*(torch.from_numpy(t).float() for t in (u, v)), *weights, order=order, root=False)
    np.testing.assert_allclose(single, expected, rtol=2e-4, atol=1e-5 * scale**order)


def test_order_one_equals_scipy():
    rng = np.random.default_rng(0)
    u, v, a, b = rng.normal(size=30), rng.normal(size=17), rng.uniform(size=30), rng.uniform(size=17)
    ours = wasserstein_1d(*(torch.from_numpy(t) for t in (u, v, a, b)), order=1)
    assert ours.item() == pytest.approx(wasserstein_distance(u, v, a, b), rel=1e-10)


def test_gaussians_have_their_closed_form():
    """W_2 between quantiles of N(0, 1) and N(3, 2^2) tends to the root of 3^2 + (2 - 1)^2."""
    normal = torch.distributions.Normal(0.0, 1.0).icdf((torch.arange(200_000, dtype=torch.float64) + 0.5) / 200_000)
    assert wasserstein_1d(normal, 3 + 2 * normal[torch.randperm(200_000)]).item() == pytest.approx(10**0.5, rel=1e-4)


def rows(kind, n, m):
    generator = torch.Generator().manual_seed(3)
    u, v = torch.randn(70, n, generator=generator), torch.randn(70, m, generator=generator) + 1
    return {
        "normal": (u, v),
        "ties": ((2 * u).round(), (2 * v).round()),
        "negative ties": (-(u.abs() + 1).round(), -v.abs().round()),
        "tiny": (u * 1e-30, v * 1e-30),
        "huge": (u * 1e15, v * 1e15),
        "zeros of both signs": (torch.where(u > 0, u, 0.0 * u), torch.where(v > 0, v, 0.0 * v)),
        "constant": (torch.full_like(u, -2.5), torch.full_like(v, 1.5)),
    }[kind]


KINDS = ["normal", "ties", "negative ties", "tiny", "huge", "zeros of both signs", "constant"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "m", "weighted"), [(300, 300, False), (300, 170, False), (90, 60, True)])
def test_fast_path_on_and_off_agree(monkeypatch, kind, n, m, weighted):
    u, v = rows(kind, n, m)
    weights = (torch.rand(n), torch.rand(m)) if weighted else (None, None)
    results = []
    for fast in (True, False):
        monkeypatch.setattr(sorting, "_fast_sort", fast)
        a, b = u.clone().requires_grad_(), v.clone().requires_grad_()
        value = wasserstein_1d(a, b, *weights, root=False)
        value.sum().backward()
        results.append((value.detach(), a.grad, b.grad))
    for fast, plain in zip(*results, strict=True):
        torch.testing.assert_close(fast, plain, rtol=1e-5, atol=0)


def test_fast_path_on_and_off_agree_where_zeros_have_signs(monkeypatch):
    """-0.0 and 0.0, as projections of zero have them, tie."""
    x, y = torch.randn(200, 1).round(), torch.randn(200, 1).round()
    grads = []
    for fast in (True, False):
        monkeypatch.setattr(sorting, "_fast_sort", fast)
        leaf = x.clone().requires_grad_()
        build("swd", num_projections=9, seed=0)(leaf, y).backward()
        grads.append(leaf.grad)
    torch.testing.assert_close(*grads, rtol=1e-5, atol=1e-7)


@pytest.mark.skipif(not torch.set_flush_denormal(False), reason="this processor cannot take denormal numbers for zero")
def test_zeros_where_the_processor_takes_denormal_numbers_for_zero():
    u = torch.zeros(8, requires_grad=True)
    torch.set_flush_denormal(True)
    try:
        wasserstein_1d(u, torch.arange(1.0, 9.0), root=False).backward()
    finally:
        torch.set_flush_denormal(False)
    torch.testing.assert_close(u.grad.sort().values, -torch.arange(8.0, 0.0, -1) / 4)


def test_autocast_changes_nothing():
    u, v = torch.randn(50), torch.randn(30)
    expected = wasserstein_1d(u, v)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(wasserstein_1d(u, v), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sort_is_a_stable_sort(kind):
    values = rows(kind, 300, 300)[0] + 0
    ordered, index = sorting.sort_rows(values, True, 0)
    expected = values.sort(dim=1, stable=True)
    assert torch.equal(ordered, expected.values)
    assert torch.equal(index, expected.indices)


def test_rows_with_infinities_fall_back():
    values = torch.tensor([[1.0, float("inf"), -float("inf"), 0.0, float("inf")]])
    ordered, index = sorting.sort_rows(values, True, 0)
    assert torch.equal(ordered, values.sort().values)
    assert torch.equal(index, values.sort(stable=True).indices)


def test_long_rows_and_many_blocks():
    u, v = torch.randn(3, 100_000), torch.randn(3, 100_000)
    torch.testing.assert_close(wasserstein_1d(u, v), (u.sort().values - v.sort().values).square().mean(1).sqrt())


def test_the_number_of_threads_changes_nothing():
    u, v = torch.randn(2000, 300, requires_grad=True), torch.randn(2000, 300)
    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        value = wasserstein_1d(u, v)
        results.append((value, *torch.autograd.grad(value.sum(), u)))
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))


def test_leading_dimensions_and_types():
    u, v = torch.randn(2, 3, 5, dtype=torch.bfloat16), torch.randn(2, 3, 7)
    assert wasserstein_1d(u, v).shape == (2, 3)
    assert wasserstein_1d(u, v).dtype == torch.float32
    assert wasserstein_1d(u, u + 1).dtype == torch.bfloat16


@pytest.mark.parametrize("weighted", [False, True])
def test_gradient(weighted):
    u, v = torch.randn(2, 6, dtype=torch.float64, requires_grad=True), torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    weights = (torch.rand(2, 6).double(), torch.rand(4).double()) if weighted else (None, None)
    for order in (1.0, 2.0, 2.7):
        assert torch.autograd.gradcheck(lambda a, b, k=order: wasserstein_1d(a, b, *weights, order=k), (u, v))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"x": torch.zeros(2, 3), "y": torch.zeros(3)}, "same leading dimensions"),
        ({"x": torch.zeros(0), "y": torch.zeros(3)}, "x must hold at least one sample"),
        ({"x": torch.zeros(3), "y": torch.zeros(3), "order": 0.9}, "order must be a number of at least 1; got 0.9"),
        ({"x": torch.tensor([0.0, float("nan")]), "y": torch.zeros(3)}, "x must be finite; got nan"),
        ({"x": torch.zeros(3), "y": torch.zeros(3), "y_weights": -torch.ones(3)}, "y_weights must be finite and not negative; got -1"),
    ],
)
def test_bad_input(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        wasserstein_1d(**arguments)
