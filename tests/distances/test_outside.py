"""Distances that are not built of our parts: what they may return, and how they are called."""

import copy
import pickle

import pytest
import torch

from aswd.distances import Linear, SlicedDistance, Uniform, build, options, register, registry
from tests.distances.small import clouds


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))


class Energy(torch.nn.Module):
    """A scalar, whatever the leading dimensions."""

    def __init__(self, power=1.0):
        super().__init__()
        self.power = power
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x, y, x_weights=None):
        self.calls += 1
        weights = x_weights if x_weights is not None else torch.full(x.shape[:1], 1 / len(x), dtype=x.dtype)
        return self.power * (weights @ torch.cdist(x, y)).mean() - torch.cdist(x, x).mean() / 2 - torch.cdist(y, y).mean() / 2

    def twice_the_power(self):
        return 2 * self.power


def returns(value):
    """Register a module that returns ``value(x, y)``."""

    @register("outside")
    class Outside(torch.nn.Module):
        supports_replicas = True

        def forward(self, x, y):
            return value(x, y)


def test_replicas_of_a_scalar_are_evaluated_one_by_one():
    register("energy")(Energy)
    x, y = clouds(lead=(2, 3))
    x.requires_grad_()
    distance = build("energy", power=1.5)
    assert not distance.supports_replicas
    values = distance(x, y)
    assert values.shape == (2, 3)
    values.sum().backward()
    for i in range(2):
        for j in range(3):
            alone = x[i, j].detach().requires_grad_()
            value = Energy(1.5)(alone, y[i, j])
            value.backward()
            assert torch.equal(values[i, j], value)
            torch.testing.assert_close(x.grad[i, j], alone.grad)
    assert torch.equal(distance(x, y[0, 0]), distance(x, y[0, 0].expand_as(y)))
    assert distance(x[:1, 0], y[0, 0]).shape == (1,)


def test_it_stays_what_it_is():
    register("energy")(Energy)
    x, y = clouds()
    distance = build("energy")
    distance(x, y)
    assert distance.twice_the_power() == 2.0
    assert (distance.name, distance.reading) == ("energy", "reference")
    assert "Energy()" in repr(distance)
    for other in (copy.deepcopy(distance), pickle.loads(pickle.dumps(distance))):
        assert other.calls == 1
    restored = build("energy")
    restored.load_state_dict(distance.state_dict())
    assert restored.calls == 1
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = distance.nothing_of_the_kind


def test_weights_are_handed_on_where_the_module_takes_them():
    register("energy")(Energy)
    x, y = clouds(lead=(2,))
    weights = torch.rand(2, 20, dtype=x.dtype)
    weights /= weights.sum(1, keepdim=True)
    values = build("energy")(x, y, x_weights=weights)
    assert torch.equal(values, torch.stack([Energy()(x[i], y[i], weights[i]) for i in range(2)]))
    with pytest.raises(ValueError, match="y_weights must be left out: the distance 'energy' does not take it"):
        build("energy")(x, y, y_weights=weights)


def test_a_function_of_x_and_y():
    @register("mean_gap")
    def mean_gap(x, y, scale: float = 1.0, *, x_weights=None):
        centre = x.mean(0) if x_weights is None else x_weights @ x
        return scale * (centre - y.mean(0)).norm()

    x, y = clouds(lead=(3,))
    assert options("mean_gap") == {"scale": 1.0}
    torch.testing.assert_close(build("mean_gap", scale=2.0)(x, y), 2 * (x.mean(1) - y.mean(1)).norm(dim=1))
    assert build("mean_gap")(x[0], y[0], x_weights=torch.eye(20, dtype=x.dtype)[0]) == (x[0, 0] - y[0].mean(0)).norm()
    with pytest.raises(ValueError, match="mean_gap has no option 'sclae': did you mean scale"):
        build("mean_gap", sclae=1)


def test_a_module_that_says_so_takes_all_replicas_at_once():
    shapes = []

    def gap(x, y):
        shapes.append(x.shape)
        return (x - y).square().mean((-2, -1))

    returns(gap)
    x, y = clouds(lead=(2, 3))
    assert build("outside").supports_replicas
    assert build("outside")(x, y).shape == (2, 3)
    assert shapes == [x.shape]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (lambda x, y: 1.0, r"^the distance 'outside' must return a tensor of floating point numbers; got 1\.0$"),
        (lambda x, y: None, "must return a tensor of floating point numbers; got None"),
        (lambda x, y: (x > y).sum(), "must return a tensor of floating point numbers; got a tensor of torch.int64"),
        (lambda x, y: x.mean(), r"must return one value per replica, a tensor of shape \[3\]; got one of shape \[\]"),
        (lambda x, y: x.mean(-1), r"must return one value per replica, a tensor of shape \[3\]; got one of shape \[3, 20\]"),
        (lambda x, y: x.detach().mean((1, 2)), "must be differentiable with respect to its samples; got a result without a gradient"),
    ],
)
def test_what_it_returns_is_checked(value, sentence):
    returns(value)
    x, y = clouds(lead=(3,))
    with pytest.raises(ValueError, match=sentence):
        build("outside")(x.requires_grad_(), y)


def test_one_value_of_a_single_problem():
    returns(lambda x, y: (x - y).square().mean(-1))
    with pytest.raises(ValueError, match=r"must return a scalar, a tensor of shape \[\]; got one of shape \[20\]"):
        build("outside")(*clouds())


def test_no_gradient_is_needed_where_none_is_wanted():
    returns(lambda x, y: x.detach().mean())
    x, y = clouds()
    build("outside")(x, y)
    with torch.no_grad():
        build("outside")(x.requires_grad_(), y)


def test_bad_samples_are_refused_as_by_every_distance():
    register("energy")(Energy)
    with pytest.raises(ValueError, match="same dimension; got x of dimension 2 and y of dimension 3"):
        build("energy")(torch.zeros(5, 2), torch.zeros(5, 3))
    with pytest.raises(ValueError, match=r"leading dimensions.*\[2\] and \[3\]"):
        build("energy")(torch.zeros(2, 5, 2), torch.zeros(3, 5, 2))


def test_seeds_of_one_replica_and_of_several():
    @register("seeded")
    class Seeded(torch.nn.Module):
        def __init__(self, seed=None):
            super().__init__()
            self.seed = seed

    assert build("seeded", seed=[7]).seed == 7
    assert build("seeded", seed=7).seed == 7
    with pytest.raises(ValueError, match=r"seed must be one whole number for seeded, .*; got \[7, 8\]"):
        build("seeded", seed=[7, 8])
    Seeded.supports_replicas = True
    assert build("seeded", seed=[7]).seed == [7]
    assert build("seeded", seed=[7, 8]).seed == [7, 8]


def test_a_function_that_gives_one_of_ours_keeps_replicas():
    @register("of_ours")
    def of_ours(seed=None):
        return SlicedDistance(Linear(), Uniform(10), seed=seed)

    x, y = clouds(lead=(2,))
    distance = build("of_ours", seed=[3, 4])
    assert distance.supports_replicas
    assert torch.equal(distance(x, y), build("swd", num_projections=10, seed=[3, 4])(x, y))


def test_a_factory_must_return_a_module():
    register("number")(lambda: 5)
    with pytest.raises(ValueError, match=r"the distance 'number' must be a torch\.nn\.Module; its factory returned 5"):
        build("number")


def test_a_module_for_replicas_that_does_not_say_so_gets_a_hint():
    @register("silent")
    class Silent(torch.nn.Module):
        def forward(self, x, y):
            return (x - y).square().mean((1, 2))

    with pytest.raises(IndexError) as caught:
        build("silent")(*clouds(lead=(2,)))
    assert "supports_replicas = True" in caught.value.__notes__[0]
