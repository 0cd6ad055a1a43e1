"""What holds for every distance; a new one joins by being registered."""

import io
from fractions import Fraction

import pytest
import torch

from aswd import testing
from aswd.distances import options
from tests.distances.small import NAMES, clouds, frozen, skip_unless_defined, small

pytestmark = pytest.mark.parametrize("name", NAMES)


def close(a, b, rel=1e-9):
    torch.testing.assert_close(a, b, rtol=rel, atol=rel)


@pytest.mark.parametrize("given", [{}, {"seed": None}])
def test_public_contract(name, given):
    """All of it: symmetry, permutations, unit weights, seeds, evaluation mode and others are checked nowhere else."""
    expected = [prop.name for prop in testing._PROPERTIES if prop.name != "random state" or not given]
    assert testing.check_distance(name, **given) == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_zero_with_zero_gradient_at_equality(name, dtype):
    x, _ = clouds(dtype=dtype)
    x, y = x.requires_grad_(), x.detach().clone().requires_grad_()
    value = small(name)(x, y)
    value.backward()
    assert value.item() == 0.0
    assert torch.equal(x.grad, torch.zeros_like(x))
    assert torch.equal(y.grad, torch.zeros_like(y))


@pytest.mark.parametrize("order", [2, 10])
@pytest.mark.parametrize("same", [True, False])
def test_zero_at_equality_with_weights(name, order, same):
    """Also where samples repeat, or where one side has equal weights and the other none: no rounding error of the mass under a root."""
    x = clouds(n=5)[0].repeat(4, 1).requires_grad_()
    weights = (torch.rand(20),) * 2 if same else (torch.ones(20), None)
    value = small(name, order=order)(x, x.detach().clone(), *weights)
    value.backward()
    assert value.item() == 0.0
    assert torch.equal(x.grad, torch.zeros_like(x))


@pytest.mark.parametrize("order", [1, 1.5, 2, 3])
def test_not_negative_and_finite(name, order):
    x, y = clouds(n=15, m=22)
    value = small(name, order=order)(x.requires_grad_(), y)
    value.backward()
    assert value.item() > 0
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_the_scale_of_weights_does_not_matter(name, scale):
    """Also where it is out of range in the dtype of the samples."""
    x, y = clouds(dtype=torch.float32)
    weights = torch.rand(20, dtype=torch.float64)
    first, second = small(name), small(name)
    close(first(x, y, x_weights=weights * scale), second(x, y, x_weights=weights), rel=1e-5)


@pytest.mark.parametrize("dim", [3, 20])
def test_overflow_is_not_taken_for_agreement(name, dim):
    """Powers beyond float32 give an infinity or a NaN, never a distance of zero."""
    skip_unless_defined(name, dim)
    x, y = clouds(dim=dim, dtype=torch.float32)
    value = small(name, order=2)(x * 1e25, y * 1e25)
    assert not torch.isfinite(value)


def test_powers_too_small_for_float32_have_finite_gradients(name):
    x, y = clouds(dtype=torch.float32)
    x = (5e-5 * x).requires_grad_()
    value = small(name, order=10)(x, 5e-5 * y)
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(x.grad).all()


def test_a_doubled_sample_is_a_double_weight(name):
    x, y = clouds(n=6, m=9)
    weights = torch.tensor([1.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    x_doubled = torch.cat([x, x[1:2]])
    scale = {option: "mean" for option in ("objective", "energy_scale") if option in options(name)}  # a sum counts seven samples, not six
    first, second = small(name, **scale), small(name, **scale)
    close(first(x, y, x_weights=weights), second(x_doubled, y), rel=1e-8)


@pytest.mark.parametrize(("n", "m", "weighted"), [(7, 7, False), (7, 5, False), (6, 6, True)])
def test_gradients_match_finite_differences(name, n, m, weighted):
    x, y = clouds(n, m)
    weights = {"x_weights": torch.rand(n) + 0.1, "y_weights": torch.rand(m) + 0.1} if weighted else {}
    call = frozen(small(name), x, y)
    assert torch.autograd.gradcheck(lambda a, b: call(a, b, **weights), (x.requires_grad_(), y.requires_grad_()), atol=1e-6, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [20, 40])  # other products than in few dimensions
def test_gradients_match_finite_differences_in_many_dimensions(name, dim):
    skip_unless_defined(name, dim)
    x, y = clouds(4, 4, 6 if "poly" in name else dim)  # of which 56 and 252 monomials are made
    call = frozen(small(name), x, y)
    assert torch.autograd.gradcheck(call, (x.requires_grad_(), y.requires_grad_()), atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("given", [{"order": 3.0}, {"order": 1.0}, {"root": False}, {"reduction": "sum"}])
def test_gradients_match_finite_differences_with_options(name, given):
    x, y = clouds(7, 7)
    call = frozen(small(name, **given), x, y)
    assert torch.autograd.gradcheck(call, (x.requires_grad_(), y.requires_grad_()), atol=1e-5, rtol=1e-4)


def test_reduction_and_root(name):
    x, y = clouds(n=20, m=20)
    mean, total, power = (frozen(small(name, order=2, **o), x, y)(x, y) for o in ({}, {"reduction": "sum"}, {"root": False}))
    close(total, mean * 20**0.5)
    close(power, mean**2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_dtype_is_kept_and_arithmetic_is_float32_at_least(name, dtype):
    x, y = (t.to(dtype) for t in clouds())
    x.requires_grad_()
    value = small(name)(x, y)
    value.backward()
    assert value.dtype == x.grad.dtype == dtype
    compute = torch.promote_types(dtype, torch.float32)
    assert value == small(name)(x.detach().to(compute), y.to(compute)).to(dtype)


def test_autocast_changes_nothing(name):
    x, y = clouds(dtype=torch.float32)
    expected = small(name)(x, y)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(small(name)(x, y), expected)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_works_without_gradients(name, context):
    x, y = clouds(dtype=torch.float32)
    expected = small(name)(x, y)
    x.requires_grad_()
    with context():
        value = small(name)(x, y.clone())
        assert torch.equal(value, expected)
    assert not value.requires_grad


@pytest.mark.parametrize("setting", [torch.bfloat16, torch.float16, torch.float64, torch.device("meta")])
def test_torch_s_defaults_change_nothing(name, setting):
    x, y = clouds(dtype=torch.float32)
    first, second = small(name), small(name)
    for _ in range(2):
        expected = first(x, y)
        if isinstance(setting, torch.device):
            with setting:
                value = second(x, y)
        else:
            torch.set_default_dtype(setting)
            try:
                value = second(x, y)
            finally:
                torch.set_default_dtype(torch.float32)
        assert torch.equal(value, expected)


@pytest.mark.parametrize(("dtype", "rel"), [(torch.float64, 1e-7), (torch.float32, 2e-3)])
def test_replicas_equal_single_runs(name, dtype, rel):
    """Value, gradient and learned parameters, over several calls, to rounding."""
    seeds = [5, 0, 11]
    x, y = clouds(lead=(3,), dtype=dtype)
    together = small(name, seed=seeds)
    alone = [small(name, seed=seed) for seed in seeds]
    for call in range(3):
        x = (x + 0.1 * call).detach().requires_grad_()
        values = together(x, y)
        values.sum().backward()
        for i, distance in enumerate(alone):
            xi = x[i].detach().requires_grad_()
            value = distance(xi, y[i])
            value.backward()
            close(values[i], value, rel)
            close(x.grad[i], xi.grad, rel)
            state, learned = together.state_dict(), distance.state_dict()
            for key in (k for k in learned if k.startswith("learned.") and not k.endswith("_extra_state")):
                close(state[key][i : i + 1], learned[key], rel)


def test_leading_dimensions(name):
    x, y = clouds(lead=(2, 3))
    values = small(name)(x, y)
    assert values.shape == (2, 3)
    assert torch.equal(values.flatten(), small(name)(x.flatten(0, 1), y.flatten(0, 1)))
    one_target = small(name)(x, y[0, 0])
    assert torch.equal(one_target, small(name)(x, y[0, 0].expand_as(y)))
    x, y = x.flatten(0, 1), y[0, 0][: len(x.flatten(0, 1))]  # as many replicas as samples of the target
    assert torch.equal(small(name)(x, y), small(name)(x, y.expand(len(x), *y.shape)))


def test_nothing_learned_is_handed_out(name):
    x, y = clouds()
    distance = small(name)
    distance(x.requires_grad_(), y).backward()
    assert list(distance.parameters()) == []
    assert all(not b.requires_grad and b.grad is None for b in distance.buffers())


def test_a_restored_distance_goes_on_exactly(name):
    x, y = clouds(lead=(2,), dtype=torch.float32)
    distance = small(name)
    for _ in range(2):
        distance(x, y)
    file = io.BytesIO()
    torch.save(distance.state_dict(), file)
    file.seek(0)
    restored = small(name, seed=99)
    restored.load_state_dict(torch.load(file, weights_only=True))
    for _ in range(3):
        assert torch.equal(distance(x, y), restored(x, y))
    ours, theirs = distance.state_dict(), restored.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[k], theirs[k]) for k in ours if isinstance(ours[k], torch.Tensor))


def test_a_state_that_is_kept_does_not_change_any_more(name):
    x, y = clouds()
    distance = small(name)
    distance(x, y)
    state = distance.state_dict()
    expected = [distance(x, y) for _ in range(3)]
    restored = small(name)
    restored.load_state_dict(state)
    assert all(torch.equal(restored(x, y), value) for value in expected)


@pytest.mark.parametrize("given", [{"seed": 3}, {"seed": None}, {"seed": 3, "warm_start": False}])
def test_the_same_pair_has_the_same_value_in_evaluation_mode(name, given):
    """Before and after training, whatever is evaluated in between; and training continues as if nothing had been evaluated."""
    if "warm_start" in given and "steps" not in options(name):
        pytest.skip("nothing is learned")
    x, y = clouds(dtype=torch.float32)
    distance, undisturbed = small(name, **given), small(name, **given)
    for _ in range(2):
        torch.manual_seed(0)  # from which seed=None takes its seed, at the first call
        first = distance.eval()(x, y)
        distance(y + 3, x)
        assert torch.equal(distance(x, y), first)
        if hasattr(distance, "project"):
            assert torch.equal(distance.project(x, y)[0], distance.project(x, y)[0])
        torch.manual_seed(0)
        assert torch.equal(distance.train()(x, y), undisturbed(x, y))


def test_takes_the_device_of_the_samples(name):
    """The meta device raises at any look at a value: nothing here may copy to the host or wait for a GPU."""
    x, y = (t.to("meta") for t in clouds(lead=(2,), dtype=torch.float32))
    if name == "wasserstein":  # the exact plan is computed on the host, as documented
        with pytest.raises(ValueError, match="x must hold values"):
            small(name)(x, y)
        return
    x.requires_grad_()
    value = small(name)(x, y)
    assert value.device.type == "meta"
    value.sum().backward()
    assert x.grad.shape == x.shape


@pytest.mark.parametrize(
    ("x", "y", "given", "sentence"),
    [
        (torch.zeros(5, 2), torch.zeros(5, 3), {}, "same dimension; got x of dimension 2 and y of dimension 3"),
        (torch.zeros(0, 2), torch.zeros(5, 2), {}, r"x must hold at least one sample.*\[0, 2\]"),
        (torch.zeros(5), torch.zeros(5, 2), {}, r"x must have the shape.*\[5\]"),
        (torch.zeros(5, 2, dtype=torch.int64), torch.zeros(5, 2), {}, "x must be of a floating point type.*int64"),
        (torch.zeros(5, 2).to_sparse(), torch.zeros(5, 2), {}, "x must be a dense tensor; got one of torch.float32, torch.sparse"),
        (torch.zeros(5, 2), torch.zeros(5, 2).to(torch.float8_e5m2), {}, "y must be of a floating point type of at least 16 bits"),
        (torch.full((5, 2), float("nan")), torch.zeros(5, 2), {}, "x must be finite; got nan"),
        (torch.zeros(5, 2), torch.full((5, 2), float("inf")), {}, "y must be finite; got inf"),
        (torch.zeros(5, 2), torch.zeros(4, 2), {"reduction": "sum"}, "reduction='sum'; got 5 and 4"),
        (torch.zeros(2, 5, 2), torch.zeros(3, 5, 2), {}, r"leading dimensions.*\[2\] and \[3\]"),
        ([[0.0]], torch.zeros(5, 2), {}, "x must be a dense tensor; got list"),
    ],
)
def test_bad_samples(name, x, y, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        small(name, **given)(x, y)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (torch.tensor([1.0, -0.5, 1.0]), "x_weights must be finite and not negative; got -0.5"),
        (torch.tensor([1.0, 1.0]), r"x_weights must have one weight per sample.*\[3\].*\[2\]"),
        (torch.zeros(3), "x_weights must not sum to zero"),
        (torch.tensor([1.0, float("nan"), 1.0]), "x_weights must be finite and not negative; got nan"),
        (torch.ones(3, dtype=torch.complex64), "x_weights must be a dense tensor of real numbers; got one of torch.complex64"),
        (torch.ones(3).to(torch.float8_e5m2), "x_weights must be whole numbers or of a floating point type of at least 16 bits"),
        (torch.ones(3, device="meta"), "x_weights must be on the device of its samples, cpu; got meta"),
    ],
)
def test_bad_weights(name, weights, sentence):
    x, y = clouds(3, 3)
    with pytest.raises(ValueError, match=sentence):
        small(name)(x, y, x_weights=weights)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"order": 0.5}, "order must be a number of at least 1; got 0.5"),
        ({"order": float("nan")}, "order must be.*got nan"),
        ({"order": "2"}, "order must be.*got '2'"),
        ({"order": Fraction(3, 2)}, r"order must be.*got Fraction\(3, 2\)"),
        ({"order": 10**400}, "order must be.*got 1000"),
        ({"reduction": "max"}, "reduction must be one of 'mean', 'sum'; got 'max'"),
        ({"root": 1}, "root must be one of True, False; got 1"),
        ({"validate": "no"}, "validate must be one of True, False; got 'no'"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"seed": {1: 2}}, "seed must be a whole number from 0"),
        ({"seed": torch.full((2, 2), 0.5)}, "^seed must be a whole number from 0[^\n]*$"),
        ({"colour": 1}, "has no option 'colour'"),
    ],
)
def test_bad_options(name, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        small(name, **given)
