"""The inner loop in the compiled kernel, against autograd in float64 and with any number of threads."""

import pytest
import torch

from aswd.distances import ascent, build, kernel, sliced
from aswd.distances.workers import workers

pytestmark = pytest.mark.skipif(not kernel.kernel_is_built(), reason="the kernel is built with GCC on x86-64 only")


@pytest.fixture
def calls(monkeypatch):
    """The numbers of steps of all calls of the kernel."""
    taken, original = [], kernel.ascend

    def noting(samples, directions, *rest):
        taken.append(len(directions))
        return original(samples, directions, *rest)

    monkeypatch.setattr(kernel, "ascend", noting)
    return taken


def samples(replicas, n, dim, seed=0):
    torch.manual_seed(seed)
    return torch.randn(replicas, n, dim), torch.randn(replicas, n, dim) + 0.7


def learned(distance):
    return {name: value.clone() for name, value in distance.learned.named_buffers()}


@pytest.mark.parametrize("name", ["aswd", "aswd_non_injective"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"penalty": 0.0, "objective": "mean", "activation": "leaky_relu"},  # without it the bias has no gradient but rounding
        {"activation": "relu", "penalty_form": "moment", "penalty": 1.0},
        {"activation": "leaky_relu", "penalty_form": "algorithm1", "objective": "sum", "expansion": 2},
        {"activation": "tanh", "penalty_relative": True, "order": 1.0},
        {"penalty_form": "moment", "penalty": 2.0, "order": 3.0, "betas": (0.9, 0.99), "lr": 0.01},
    ],
)
@pytest.mark.parametrize(("replicas", "n", "dim"), [(1, 300, 2), (3, 40, 3), (5, 1, 1)])
def test_steps_agree_with_autograd_in_float64(name, options, replicas, n, dim, monkeypatch, calls):
    x, y = samples(replicas, n, dim)
    # Few steps: Adam enlarges differences of rounding where a gradient is close to zero.
    distance, other = (build(name, num_projections=20, steps=3, seed=0, **options) for _ in range(2))
    width = distance.projection.direction_dim(dim)
    theta = torch.nn.functional.normalize(torch.randn(replicas, 20, width), dim=-1)
    distance._start(sliced.Problem.of(x, y, None, None, "mean", False), distance.streams)
    initial = distance.state_dict()
    other.load_state_dict({key: value.double() if torch.is_tensor(value) else value for key, value in initial.items()})
    value = distance(x, y, directions=theta)
    assert calls == [3]
    monkeypatch.setattr(sliced, "has_closed_form", lambda _: False)
    expected = other(x.double(), y.double(), directions=theta.double())
    assert calls == [3]
    torch.testing.assert_close(value.double(), expected, rtol=1e-4, atol=1e-5)
    reference = learned(other)
    for key, parameter in learned(distance).items():
        torch.testing.assert_close(parameter.double(), reference[key], rtol=2e-3, atol=2e-4 * float(reference[key].abs().max() + 1e-6))


@pytest.mark.parametrize(("replicas", "n", "slices"), [(1, 500, 200), (2, 90, 30), (19, 60, 10)])
def test_the_same_bits_with_any_number_of_threads(replicas, n, slices, calls):
    x, y = samples(replicas, n, 2)
    found = []
    for count in (1, 2, 4):
        distance = build("aswd", num_projections=slices, penalty_form="moment", seed=0)
        with workers(count):
            values = [distance(x, y) for _ in range(3)]
        found.append([*values, *learned(distance).values()])
    assert calls == [10] * 9
    assert all(torch.equal(a, b) for others in found[1:] for a, b in zip(found[0], others, strict=True))


def test_a_replica_alone_has_the_same_bits(calls):
    x, y = samples(9, 70, 2)
    together = build("aswd", num_projections=30, seed=5)
    with workers(2):
        together(x, y)
    for i in (0, 8):
        alone = build("aswd", num_projections=30, seed=5 + i)
        alone(x[i], y[i])
        assert all(torch.equal(value[0], learned(together)[key][i]) for key, value in learned(alone).items())
    assert len(calls) == 3


def test_directions_of_many_steps_are_drawn_in_parts(monkeypatch, calls):
    x, y = samples(2, 30, 2)
    found = []
    for most in (1 << 22, 3 * 2 * 10 * 4):
        monkeypatch.setattr(ascent, "_MOST_NUMBERS", most)
        distance = build("aswd", num_projections=10, seed=0)
        found.append([distance(x, y), *learned(distance).values()])
    assert calls == [10, 3, 3, 3, 1]
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("case", ["weights", "sizes", "float64", "dimension", "orthogonal", "algorithm1"])
def test_what_the_kernel_does_not_know_is_left_to_torch(case, calls):
    n, dim = 20, 17 if case == "dimension" else 2
    x, y = samples(1, n, dim)
    options, weights = {"aggregation": "algorithm1"} if case == "algorithm1" else {}, None
    if case == "weights":
        weights = torch.rand(1, n)
    if case == "sizes":
        y = y[:, 1:]
    if case == "float64":
        x, y = x.double(), y.double()
    if case == "orthogonal":
        options = {"sampling": "orthogonal"}
    distance = build("aswd", num_projections=5, seed=0, **options)
    assert torch.isfinite(distance(x, y, x_weights=weights))
    assert calls == ([10] if case == "orthogonal" else [])  # how directions are drawn does not matter
