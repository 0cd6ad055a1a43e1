"""Special cases of the ASWD, orders of the family, and plans against POT."""

import ot
import pytest
import torch

from aswd.distances import Linear, SlicedDistance, Uniform, build
from aswd.distances.projections import Polynomial
from tests.distances.small import clouds
from tests.distances.test_values import sphere


class Monomials(Linear):
    """g(x): all monomials of degree two in two dimensions."""

    def direction_dim(self, dim):
        return 3

    def features(self, x, parameters):
        a, b = x.unbind(-1)
        return torch.stack([a * a, a * b, b * b], -1)


def test_the_identity_as_g_is_the_swd_and_monomials_are_the_polynomial_gswd():
    x, y = clouds(15, 12, 2)
    # phi = 0 and directions in the first coordinates: g(x) = [x, 0]
    aswd = build("aswd_vanilla", seed=0)
    aswd(x, y)
    for buffer in aswd.learned.buffers():
        buffer.zero_()
    theta = sphere(9, 2)
    padded = torch.cat([theta, torch.zeros_like(theta)], 1)
    torch.testing.assert_close(aswd.eval()(x, y, directions=padded), build("swd")(x, y, directions=theta))
    theta = sphere(9, 3)
    values = [SlicedDistance(p, Uniform(9))(x, y, directions=theta) for p in (Monomials(), Polynomial(2))]
    torch.testing.assert_close(*values)


@pytest.mark.parametrize("dim", [2, 3, 20])
@pytest.mark.parametrize("seed", range(5))
def test_the_family_is_ordered(seed, dim):
    x, y = clouds(15, 15, dim, seed=seed)
    theta = sphere(30, dim, seed)
    first = [build("swd", aggregation=name)(x, y, directions=theta) for name in ("mean", "softmax", "max")]
    last = [build(name)(x, y, directions=theta) for name in ("min_swgg", "est", "pwd")]
    values = torch.stack([*first, build("wasserstein")(x, y), *last])
    assert (values.diff() >= -1e-12).all(), values


@pytest.mark.parametrize("dim", [3, 20])
def test_sliced_plans_of_pot(dim):
    """For equally many samples; for others see below."""
    x, y = clouds(12, 12, dim)
    theta = sphere(7, dim)
    given = {"projections": theta.T.numpy(), "metric": "sqeuclidean"}
    plan, cost = ot.min_sliced_transport_plan(x.numpy(), y.numpy(), **given)
    best = build("min_swgg", root=False)
    torch.testing.assert_close(best(x, y, directions=theta), torch.tensor(float(cost), dtype=torch.float64))
    torch.testing.assert_close(best.plan(x, y, directions=theta), torch.as_tensor(plan))
    for name, beta in (("pwd", 0.0), ("est", 1.0)):
        plan, cost = ot.expected_sliced_plan(x.numpy(), y.numpy(), beta=beta, n_projections=7, **given)
        distance = build(name, root=False)
        torch.testing.assert_close(distance(x, y, directions=theta), torch.tensor(float(cost), dtype=torch.float64))
        torch.testing.assert_close(distance.plan(x, y, directions=theta), torch.as_tensor(plan))


def test_slices_of_different_sizes_by_the_network_simplex():
    """Costs under the optimal plan on the line by ot.emd. POT 0.9.7's own sliced plans of 12 and 9 samples have other costs."""
    x, y = clouds(12, 9)
    theta, metric = sphere(7, 3), ot.dist(*(side.numpy() for side in clouds(12, 9)))
    for direction in theta:
        on_line = ot.dist((x @ direction).numpy()[:, None], (y @ direction).numpy()[:, None])
        expected = (ot.emd([], [], on_line) * metric).sum()
        assert build("pwd", root=False)(x, y, directions=direction[None]).item() == pytest.approx(expected, rel=1e-9)
