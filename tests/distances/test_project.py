"""What a distance shows of its projections is what it compares."""

import copy

import pytest
import torch

from aswd.distances import Slices, options, wasserstein_1d
from aswd.distances.slice_costs import Sorted
from tests.distances.small import NAMES, clouds, small

SLICED = [name for name in NAMES if isinstance(getattr(small(name), "slice_cost", None), Sorted)]


@pytest.mark.parametrize("name", SLICED)
@pytest.mark.parametrize(("n", "m", "lead"), [(20, 20, ()), (15, 20, (3,))])
def test_the_mean_cost_of_the_projections_is_the_distance(name, n, m, lead):
    x, y = clouds(n, m, lead=lead)
    distance = small(name, **({"energy_scale": "mean"} if "energy_scale" in options(name) else {}))
    for _ in range(2):
        distance(x, y)
    before = copy.deepcopy(distance)
    u, v = distance.project(x, y)
    assert u.shape[:-2] == v.shape[:-2] == lead
    assert (u.shape[-1], v.shape[-1]) == (n, m)
    sides = [side.reshape(-1, *side.shape[-2:]) for side in (x, y)]
    theta = distance.streams.restarted()
    theta.prepare(len(sides[0]), x.device, x.dtype)
    theta = theta.sphere(12, 3) if "cv" in name else None
    slices = Slices(None, {}, *sides, *sides, theta, None, None, distance.order)
    costs = wasserstein_1d(u, v, order=distance.order, root=False)
    expected = distance.aggregation(costs.reshape(-1, costs.shape[-1]), slices).reshape(lead) ** (1 / distance.order)
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
