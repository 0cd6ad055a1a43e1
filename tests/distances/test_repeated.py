"""A side that does not change is sorted once: the same bits as without, and no stale values."""

import copy

import pytest
import torch

from aswd.distances import build, kernel, repeated
from aswd.distances.workers import workers

pytestmark = pytest.mark.skipif(not kernel.kernel_is_built(), reason="the kernel is built with GCC on x86-64 only")

FIXED = [
    ("gswd_nn1", {}),
    ("gswd_nn3", {"order": 1.0}),
    ("qsw_sobol", {"randomisation": "none"}),
]


@pytest.fixture
def known(monkeypatch):
    """Of every call that the kernel gets: whether it knows y already; ``None`` where nothing is looked up."""
    seen, original = [], kernel._run

    def noting(*args, **kwargs):
        entry = args[7] if len(args) > 7 else None
        seen.append(None if entry is None else entry.filled)
        return original(*args, **kwargs)

    monkeypatch.setattr(kernel, "_run", noting)
    return seen


def gradient(distance, x, y, **options):
    x = x.clone().requires_grad_()
    value = distance(x, y, **options)
    return value.detach(), torch.autograd.grad(value.sum(), x)[0]


def samples(n=70, replicas=3):
    torch.manual_seed(0)
    return torch.randn(replicas, n, 2), torch.randn(replicas, n, 2)


def same(a, b):
    return all(torch.equal(first, second) for first, second in zip(a, b, strict=True))


@pytest.mark.parametrize("n", [70, 1500])  # the two widths of registers
@pytest.mark.parametrize(("name", "options"), FIXED)
def test_the_same_bits_and_new_values_for_new_samples(name, options, n, known):
    x, y = samples(n)
    distance = build(name, num_projections=37, seed=0, **options)
    first = gradient(distance, x, y)
    with workers(3):
        assert same(gradient(distance, x, y), first)
    assert same(gradient(distance, x, y), first)
    assert known == [None, False, True]
    moved = gradient(distance, x + 1, y)
    assert known[-1] is True
    y[1, 5] += 0.25  # in place
    other = gradient(distance, x, y)
    assert known[-1] is None
    assert torch.equal(other[0][0], first[0][0])
    assert not torch.equal(other[0][1], first[0][1])
    fresh = build(name, num_projections=37, seed=0, **options)
    assert same(other, gradient(fresh, x, y))
    assert not same(moved, first)


def test_directions_that_are_given_count_too(known):
    x, y = samples()
    distance = build("swd", seed=0)
    theta = torch.nn.functional.normalize(torch.randn(20, 2), dim=-1)
    values = [gradient(distance, x, y, directions=theta) for _ in range(3)]
    assert known == [None, False, True]
    assert same(values[0], values[2])
    other = gradient(distance, x, y, directions=theta.flip(1))
    assert known[-1] is None
    assert not torch.equal(other[0], values[0][0])


@pytest.mark.parametrize(("name", "options"), [("swd", {}), ("qsw_sobol", {}), ("aswd", {}), ("dswd", {}), ("max_gswd_nn1", {})])
def test_nothing_is_kept_where_directions_change(name, options, known):
    x, y = samples()
    distance = build(name, num_projections=10, seed=0, **options)
    for _ in range(3):
        gradient(distance, x, y)
    assert set(known) <= {None}
    assert distance._repeated._seen is None


def test_a_gradient_to_y_sorts_y():
    x, y = samples()
    distance = build("gswd_nn1", num_projections=10, seed=0)
    for _ in range(3):
        gradient(distance, x, y)
    y.requires_grad_()
    (grad,) = torch.autograd.grad(distance(x, y).sum(), y)
    (expected,) = torch.autograd.grad(build("gswd_nn1", num_projections=10, seed=0)(x, y).sum(), y)
    assert torch.equal(grad, expected)


def test_too_many_values_are_not_kept(monkeypatch, known):
    monkeypatch.setattr(repeated, "MOST_VALUES", 3 * 70 * 16 - 1)
    x, y = samples()
    distance = build("gswd_nn1", num_projections=10, seed=0)
    values = [gradient(distance, x, y) for _ in range(3)]
    assert known == [None] * 3
    assert same(values[0], values[2])


def test_a_copy_and_a_state_are_without_them():
    x, y = samples()
    distance = build("gswd_nn1", num_projections=10, seed=0)
    values = [gradient(distance, x, y) for _ in range(3)]
    twin = copy.deepcopy(distance)
    assert twin._repeated._seen is None
    assert same(gradient(twin, x, y), values[0])
    assert not any("repeated" in key for key in distance.state_dict())
