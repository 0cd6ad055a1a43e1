"""Averaged alignments against plain loops and against POT."""

import numpy as np
import ot
import pytest
import torch

from aswd.distances import build
from aswd.tasks.alignment import averaged_alignment, barycentric_projection

RNG = np.random.default_rng(0)


def by_loops(u, v, y):
    """One direction after the other, one sample after the other."""
    new = np.zeros((u.shape[1], y.shape[1]))
    for row_u, row_v in zip(u, v, strict=True):
        for place_x, place_y in zip(np.argsort(row_u), np.argsort(row_v), strict=True):
            new[place_x] += y[place_y]
    return new / len(u)


def by_plans(u, v, y, a, b):
    """The barycentric projections of POT's plans on the line, averaged."""
    plans = [ot.emd_1d(row_u, row_v, a, b) for row_u, row_v in zip(u, v, strict=True)]
    return np.mean([plan @ y / a[:, None] for plan in plans], axis=0)


@pytest.mark.parametrize("directions", [1, 7, 300])
def test_equal_counts_agree_with_a_plain_loop(directions, monkeypatch):
    monkeypatch.setattr("aswd.tasks.alignment._CHUNK", 1000)  # several chunks
    u, v, y = RNG.standard_normal((directions, 50)), RNG.standard_normal((directions, 50)), RNG.random((50, 3))
    new = averaged_alignment(*map(torch.from_numpy, (u, v, y)))
    np.testing.assert_allclose(new.numpy(), by_loops(u, v, y), atol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(50, 50), (20, 33), (33, 20), (1, 5), (5, 1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_unequal_counts_and_weights_agree_with_plans(n, m, weighted):
    u, v, y = RNG.standard_normal((9, n)), RNG.standard_normal((9, m)), RNG.random((m, 3))
    a, b = (RNG.random(k) + 0.01 for k in (n, m)) if weighted else (np.ones(n), np.ones(m))
    given = (torch.from_numpy(a), torch.from_numpy(b)) if weighted else ()
    new = averaged_alignment(*map(torch.from_numpy, (u, v, y)), *given)
    np.testing.assert_allclose(new.numpy(), by_plans(u, v, y, a / a.sum(), b / b.sum()), atol=1e-9)


def test_equal_weights_are_no_weights():
    u, v = (torch.from_numpy(RNG.standard_normal((9, 40))) for _ in range(2))
    y, ones = torch.from_numpy(RNG.random((40, 3))), torch.ones(40)
    torch.testing.assert_close(averaged_alignment(u, v, y, ones, ones), averaged_alignment(u, v, y))


@pytest.mark.parametrize("name", ["swd", "gswd_poly3", "gswd_circular", "max_swd", "dswd", "aswd", "gswd_nn1", "max_gswd_circular"])
def test_the_same_colours_in_another_order_come_back(name):
    x = torch.from_numpy(RNG.random((60, 3)))
    distance = build(name, seed=0)
    y = x[torch.from_numpy(RNG.permutation(60))]
    distance(x, y)
    torch.testing.assert_close(averaged_alignment(*distance.project(x, y), y), x, atol=1e-12, rtol=0)


def test_a_shift_is_found_exactly_by_all_directions():
    x = torch.from_numpy(RNG.random((80, 3)))
    y = (x + torch.tensor([0.3, -0.2, 0.1]))[torch.from_numpy(RNG.permutation(80))]
    new = averaged_alignment(*build("swd", seed=1).project(x, y), y)
    torch.testing.assert_close(new, x + torch.tensor([0.3, -0.2, 0.1]), atol=1e-12, rtol=0)


def test_on_one_axis_it_is_the_optimal_map():
    x, y = (torch.zeros(70, 3, dtype=torch.float64) for _ in range(2))
    x[:, 0], y[:, 0] = torch.from_numpy(RNG.random(70)), torch.from_numpy(RNG.random(70) ** 2)
    one = torch.tensor([[1.0, 0, 0]], dtype=torch.float64)
    distance = build("swd")
    torch.testing.assert_close(averaged_alignment(*distance.project(x, y, directions=one), y), barycentric_projection(x, y))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_barycentric_projection_agrees_with_pot(weighted):
    x, y = RNG.random((25, 3)), RNG.random((25 + 10 * weighted, 3))
    a, b = (RNG.random(len(c)) + 0.1 for c in (x, y)) if weighted else (np.ones(25), np.ones(25))
    plan = ot.emd(a / a.sum(), b / b.sum(), ot.dist(x, y))
    given = (torch.from_numpy(a), torch.from_numpy(b)) if weighted else ()
    new = barycentric_projection(torch.from_numpy(x), torch.from_numpy(y), *given)
    np.testing.assert_allclose(new.numpy(), plan @ y / plan.sum(1, keepdims=True), atol=1e-9)
