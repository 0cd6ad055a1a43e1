"""The contract as users run it: good distances from outside pass, broken ones are named with what is broken."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from aswd.distances import Linear, Projection, Single, SlicedDistance, Uniform, register, registry
from aswd.testing import check_distance

FOREIGN = ["shapes", "dtypes", "reproducibility", "identity", "permutations", "gradients", "two calls", "state_dict", "bad input"]


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))


def energy(x, y):
    return 2 * torch.cdist(x, y).mean((-2, -1)) - torch.cdist(x, x).mean((-2, -1)) - torch.cdist(y, y).mean((-2, -1))


class Seeded(nn.Module):
    """A sliced distance of order one, written plainly, with a generator of its own whose state is kept."""

    def __init__(self, seed=None, num_projections=5):
        super().__init__()
        self.count = num_projections
        self.generator = torch.Generator().manual_seed(seed or 0)

    def forward(self, x, y):
        theta = torch.randn(x.shape[-1], self.count, generator=self.generator, dtype=x.dtype)
        return ((x @ theta).sort(0).values - (y @ theta).sort(0).values).abs().mean()

    def get_extra_state(self):
        return self.generator.get_state()

    def set_extra_state(self, state):
        self.generator.set_state(state)

    def __deepcopy__(self, memo):
        other = type(self)(num_projections=self.count).train(self.training)
        other.generator.set_state(self.generator.get_state())
        return other


def test_a_custom_projection_has_all_properties():
    @register("gswd_sine_tested")
    @register("max_gswd_sine_tested", directions=Single, maximised="directions")
    @dataclass
    class Sine(Projection):
        frequency: float = 1.0

        def values(self, features, directions):
            return torch.sin(self.frequency * directions @ features.mT)

    everything = check_distance("swd")
    assert {"symmetry", "replicas", "evaluation mode", "weights", "numbers of samples"} <= set(everything)
    assert check_distance("gswd_sine_tested", frequency=2.0) == everything
    assert check_distance("max_gswd_sine_tested") == everything


def test_a_function_that_gives_one_of_ours():
    @register("of_ours")
    def of_ours(seed=None):
        return SlicedDistance(Linear(), Uniform(7), seed=seed)

    assert check_distance("of_ours") == check_distance("swd")


def test_a_module_is_checked_only_for_what_it_can_promise():
    @register("energy")
    class Energy(nn.Module):
        def forward(self, x, y):
            return energy(x, y)

    assert check_distance("energy") == FOREIGN
    Energy.symmetric = True
    Energy.supports_replicas = True
    assert sorted(check_distance("energy")) == sorted([*FOREIGN, "symmetry", "replicas"])


def test_a_function_of_x_and_y():
    @register("energy_function")
    def energy_function(x, y, x_weights=None, y_weights=None):
        if x_weights is None:
            return energy(x, y)
        a, b = (weights.to(x.dtype) / weights.sum() for weights in (x_weights, y_weights))
        return 2 * a @ torch.cdist(x, y) @ b - a @ torch.cdist(x, x) @ a - b @ torch.cdist(y, y) @ b

    assert sorted(check_distance("energy_function")) == sorted([*FOREIGN, "weights"])


def test_a_module_with_a_seed():
    register("seeded")(Seeded)
    assert sorted(check_distance("seeded")) == sorted([*FOREIGN, "random state"])


def test_what_is_asymmetric_passes_if_it_does_not_promise_symmetry():
    @register("one_sided")
    def one_sided(x, y):
        return torch.cdist(x, y).amin(1).mean()

    assert check_distance("one_sided") == FOREIGN
    one_sided.symmetric = True
    with pytest.raises(AssertionError, match=r"^one_sided: symmetry: D\(x, y\) must be D\(y, x\); got 1\.\d+ and 1\.\d+$"):
        check_distance("one_sided")


def test_an_inexact_gradient_is_allowed_if_it_is_said():
    @register("half_gradient")
    def half_gradient(x, y):
        return energy(x, y) / 2 + energy(x, y).detach() / 2

    sentence = "half_gradient: gradients: the gradient must agree with finite differences; they differ by up to "
    with pytest.raises(AssertionError, match=sentence):
        check_distance("half_gradient")
    half_gradient.finite_differences = False
    assert "gradients" in check_distance("half_gradient")


class Forgetful(Seeded):
    def get_extra_state(self):
        return torch.zeros(1)

    def set_extra_state(self, state):
        pass


class Global(Seeded):
    def forward(self, x, y):
        torch.rand(1)
        return super().forward(x, y)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x, y):
        self.calls += 1
        return energy(x, y) * self.calls


class Overwriting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(3, dtype=torch.float64))

    def forward(self, x, y):
        self.scale.add_(0.1)
        return energy(x * self.scale.to(x.dtype), y)


class Mixing(nn.Module):
    supports_replicas = True

    def forward(self, x, y):
        return energy(x, y) - energy(x, y).mean()


class Strict(nn.Module):
    def forward(self, x, y):
        return energy(x.double(), y.double())


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (
            lambda x, y: energy(x, y).item(),
            "shapes: raised ValueError: the distance 'broken' must return a tensor of floating point numbers",
        ),
        (
            lambda x, y: torch.cdist(x, y).mean(0),
            r"shapes: raised ValueError: .* must return a scalar, a tensor of shape \[\]; got .* \[12\]",
        ),
        (lambda x, y: energy(x.detach(), y.detach()), "dtypes: raised ValueError: .* must be differentiable"),
        (lambda x, y: energy(x.detach().round() + x - x.detach(), y), "gradients: the gradient must agree with finite differences"),
        (lambda x, y: (energy(x, y) - energy(x, y)).sqrt(), "gradients: the gradient with respect to x must be finite"),
        (lambda x, y: energy(x, y) * np.random.default_rng().uniform(1, 2), "reproducibility: the same random state of torch must give"),
        (lambda x, y: -energy(x, y), r"identity: D\(x, x\) must not be above D\(x, y\)"),
        (lambda x, y: (x - y).square().mean(), "permutations: the value must not depend on the order of the samples"),
        (lambda x, y: energy(x, y) if x.dtype == torch.float64 else 1 / 0, "dtypes: raised ZeroDivisionError: division by zero"),
        (Strict, "dtypes: samples of torch.float32 must give a value of that type; got torch.float64"),
        (Forgetful, "state_dict: a distance restored from its state_dict must continue with the same values; got"),
        (Global, "random state: a distance with a seed must leave the random state of torch and numpy alone"),
        (Counting, "state_dict: a distance restored from its state_dict must continue with the same values; got"),
        (Overwriting, "two calls: raised RuntimeError: one of the variables needed for gradient computation has been modified"),
        (Mixing, "replicas: replica 0 must have the value that it has alone"),
    ],
)
def test_what_is_broken_is_named_in_one_sentence(target, sentence):
    register("broken")(target)
    with pytest.raises(AssertionError, match=f"^broken: ({sentence})") as caught:
        check_distance("broken")
    assert "\n" not in str(caught.value)


def test_the_random_state_of_the_caller_is_left_alone():
    before = torch.get_rng_state()
    check_distance("swd", seed=None)
    assert torch.equal(torch.get_rng_state(), before)


def test_no_such_distance_or_option():
    with pytest.raises(ValueError, match="there is no distance 'swdd'"):
        check_distance("swdd")
    with pytest.raises(ValueError, match="swd has no option 'colour'"):
        check_distance("swd", colour=1)
