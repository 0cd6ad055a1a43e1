"""What a distance shows of its projections is what it compares."""

import copy

import pytest
import torch

from aswd.distances import SlicedDistance, wasserstein_1d
from tests.distances.small import NAMES, clouds, small

SLICED = [name for name in NAMES if isinstance(small(name), SlicedDistance)]


@pytest.mark.parametrize("name", SLICED)
@pytest.mark.parametrize(("n", "m", "lead"), [(20, 20, ()), (15, 20, (3,))])
def test_the_mean_cost_of_the_projections_is_the_distance(name, n, m, lead):
    x, y = clouds(n, m, lead=lead)
    distance = small(name)
    for _ in range(2):
        distance(x, y)
    before = copy.deepcopy(distance)
    u, v = distance.project(x, y)
    assert u.shape[:-2] == v.shape[:-2] == lead
    assert (u.shape[-1], v.shape[-1]) == (n, m)
    expected = wasserstein_1d(u, v, root=False).mean(-1).sqrt()
    torch.testing.assert_close(before.eval()(x, y), expected)
    for kept, now in zip(before.learned.buffers(), distance.learned.buffers(), strict=True):
        assert torch.equal(kept, now)  # nothing is moved


@pytest.mark.parametrize("name", ["swd", "aswd", "dswd", "max_swd"])
def test_directions_and_weights_are_taken_as_in_a_call(name):
    x, y = clouds(12, 17)
    a, b = torch.rand(12, dtype=torch.float64) + 0.1, torch.rand(17, dtype=torch.float64) + 0.1
    distance = small(name)
    distance(x, y)
    distance.eval()
    theta = torch.nn.functional.normalize(torch.randn(9, distance.projection.direction_dim(3), dtype=torch.float64), dim=-1)
    u, v = distance.project(x, y, a, b, theta)
    assert len(u) == (1 if name == "max_swd" else 9)
    torch.testing.assert_close(distance(x, y, a, b, theta), wasserstein_1d(u, v, a, b, root=False).mean().sqrt())
