"""Distances on trees of lines against the network simplex with the metric of the tree."""

import numpy as np
import ot
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from aswd.distances import build

DELTA = 2.0


def cloud(count, dim, generator, shift=0.0):
    return torch.randn(count, dim, dtype=torch.float64, generator=generator) + shift


def weights(count, generator):
    drawn = torch.rand(count, dtype=torch.float64, generator=generator) + 0.1
    return drawn / drawn.sum()


def tree_cost(x, y, a, b, theta):
    """W_1 on one tree by linear programming: nodes are samples on lines, distances run along the lines and through the root."""
    root = (a @ x + b @ y) / 2
    nodes = []
    for points, mass in ((x - root, a), (y - root, b)):
        along = points @ theta.T  # [N, k]
        apart = np.linalg.norm(points[:, None] - along[..., None] * theta, axis=-1)
        share = np.exp(-DELTA * apart)
        share /= share.sum(1, keepdims=True)
        line = np.broadcast_to(np.arange(len(theta)), along.shape)
        nodes.append((along.ravel(), line.ravel(), (share * mass[:, None]).ravel()))
    (t, i, mass), (u, j, other) = nodes
    same = i[:, None] == j[None]
    metric = np.where(same, np.abs(t[:, None] - u[None]), np.abs(t)[:, None] + np.abs(u)[None])
    return ot.emd2(mass, other * mass.sum() / other.sum(), metric)


@settings(deadline=None, max_examples=30)
@given(
    n=st.integers(1, 8),
    m=st.integers(1, 8),
    dim=st.integers(1, 4),
    lines=st.integers(1, 4),
    trees=st.integers(1, 3),
    weighted=st.booleans(),
    shift=st.floats(-3, 3),
    seed=st.integers(0, 2**31),
)
def test_distance_split_against_the_network_simplex(n, m, dim, lines, trees, weighted, shift, seed):
    generator = torch.Generator().manual_seed(seed)
    x, y = cloud(n, dim, generator), cloud(m, dim, generator, shift)
    theta = torch.nn.functional.normalize(cloud(lines * trees, dim, generator), dim=1)
    given = {"x_weights": weights(n, generator), "y_weights": weights(m, generator)} if weighted else {}
    a, b = given.get("x_weights", torch.ones(n).double() / n), given.get("y_weights", torch.ones(m).double() / m)
    expected = np.mean([tree_cost(*(t.numpy() for t in (x, y, a, b)), block.numpy()) for block in theta.split(lines)])
    value = build("db_tsw", lines=lines, delta=DELTA)(x, y, directions=theta, **given)
    assert value.item() == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("lines", [1, 3, 5])
def test_constant_split_is_the_mean_of_w1_over_the_lines(lines):
    generator = torch.Generator().manual_seed(0)
    x, y, theta = cloud(20, 3, generator), cloud(13, 3, generator, 1), cloud(15, 3, generator)
    theta = torch.nn.functional.normalize(theta, dim=1)
    trees = build("tsw_sl", lines=lines)(x, y, directions=theta)
    torch.testing.assert_close(trees, build("swd1")(x, y, directions=theta), rtol=1e-12, atol=0)


def test_directions_beyond_a_multiple_of_the_lines_are_not_used():
    generator = torch.Generator().manual_seed(0)
    x, y, theta = cloud(9, 2, generator), cloud(9, 2, generator), cloud(11, 2, generator)
    distance = build("db_tsw", lines=4)
    assert torch.equal(distance(x, y, directions=theta), distance(x, y, directions=theta[:8]))
    assert torch.equal(distance(x, y, directions=theta[:3]), build("db_tsw", lines=3)(x, y, directions=theta[:3]))


def test_the_maximum_is_over_trees():
    generator = torch.Generator().manual_seed(0)
    x, y, theta = cloud(9, 3, generator), cloud(9, 3, generator), cloud(12, 3, generator)
    each = [build("db_tsw", lines=4)(x, y, directions=block) for block in theta.split(4)]
    assert build("db_tsw", lines=4, aggregation="max")(x, y, directions=theta).item() == pytest.approx(max(each).item())


def test_float32_is_close_to_float64():
    generator = torch.Generator().manual_seed(0)
    x, y = cloud(300, 2, generator), cloud(200, 2, generator, 1)
    theta = torch.nn.functional.normalize(cloud(80, 2, generator), dim=1)
    wide, results = build("db_tsw"), []
    for dtype in (torch.float32, torch.float64):
        leaf = x.to(dtype).requires_grad_()
        value = wide(leaf, y.to(dtype), directions=theta.to(dtype))
        value.backward()
        results.append((value.double(), leaf.grad.double()))
    torch.testing.assert_close(results[0][0], results[1][0], rtol=1e-5, atol=0)
    torch.testing.assert_close(results[0][1], results[1][1], rtol=1e-2, atol=2e-5)


def test_the_split_does_not_depend_on_the_length_of_a_direction():
    """Values on a line do, the distance to it does not: two samples on a line of their own keep their mass together."""
    generator = torch.Generator().manual_seed(0)
    x, y, theta = cloud(9, 2, generator), cloud(9, 2, generator), torch.nn.functional.normalize(cloud(8, 2, generator), dim=1)
    distance = build("db_tsw")
    torch.testing.assert_close(distance(x, y, directions=3 * theta), 3 * distance(x, y, directions=theta), rtol=1e-12, atol=0)
