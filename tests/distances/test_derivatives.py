"""Second derivatives, and the transforms of torch that are refused."""

import pytest
import torch
from torch.autograd import forward_ad, functional, gradgradcheck

from aswd.distances import options, wasserstein_1d
from tests.distances.small import NAMES, clouds, frozen, small

SENTENCE = "^x and y must be plain tensors; got those of torch.func .*: use torch.autograd for first and second derivatives[^\n]*$"


def numerical_hessian(call, x, step=1e-5):
    """Central differences of the first gradient."""
    columns = []
    for i in range(x.numel()):
        shift = torch.zeros_like(x).view(-1).index_fill_(0, torch.tensor(i), step).view_as(x)
        plus, minus = (torch.autograd.grad(call(moved), moved)[0] for moved in ((x + s).requires_grad_() for s in (shift, -shift)))
        columns.append(((plus - minus) / (2 * step)).flatten())
    return torch.stack(columns, 1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "m", "weighted"), [(5, 5, False), (5, 4, False), (5, 4, True)])
def test_second_derivatives_match_finite_differences(name, n, m, weighted):
    x, y = clouds(n, m)
    weights = {"x_weights": torch.rand(n) + 0.1, "y_weights": torch.rand(m) + 0.1} if weighted else {}
    call = frozen(small(name, order=2), x, y)
    hessian = functional.hessian(lambda a: call(a, y, **weights), x).reshape(x.numel(), -1)
    expected = numerical_hessian(lambda a: call(a, y, **weights), x)
    assert expected.abs().max() > 1e-3
    torch.testing.assert_close(hessian, expected, rtol=1e-4, atol=1e-6)
    vectorised = functional.hessian(lambda a: call(a, y, **weights), x, vectorize=True)
    torch.testing.assert_close(vectorised.reshape_as(hessian), hessian)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("given", [{"order": 3.0}, {"order": 1.0}, {"root": False}, {"reduction": "sum"}])
def test_second_derivatives_with_options(name, given):
    x, y = clouds(5, 5)
    call = frozen(small(name, **given), x, y)
    hessian = functional.hessian(lambda a: call(a, y), x).reshape(x.numel(), -1)
    torch.testing.assert_close(hessian, numerical_hessian(lambda a: call(a, y), x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["swd", "aswd", "gswd_poly3", "gswd_circular", "wasserstein"])
def test_second_derivatives_of_both_sides_and_replicas(name):
    x, y = clouds(4, 4, lead=(2,))
    call = frozen(small(name), x, y)
    assert gradgradcheck(call, (x.requires_grad_(), y.requires_grad_()), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["aswd", "dswd", "max_gswd_nn1"])
def test_second_derivatives_of_the_objective(name):
    x, y = clouds(4, 4)
    distance = small(name, **({"penalty_form": "moment"} if "penalty_form" in options(name) else {}))
    distance(x, y)
    hessian = functional.hessian(lambda a: distance.eval().objective(a, y), x).reshape(x.numel(), -1)
    torch.testing.assert_close(hessian, numerical_hessian(lambda a: distance.objective(a, y), x), rtol=1e-4, atol=1e-6)


def test_algorithm1_has_second_derivatives():
    x, y = clouds(4, 4)
    call = frozen(small("aswd", aggregation="algorithm1"), x, y)
    torch.testing.assert_close(
        functional.hessian(lambda a: call(a, y), x).reshape(12, 12), numerical_hessian(lambda a: call(a, y), x), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_gradient_penalty_can_be_minimised(name):
    """create_graph and backward through a norm of the gradient, in float32, also where the two sides are equal."""
    x, y = clouds(dtype=torch.float32)
    for target in (y, x.clone()):
        x = x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(small(name, order=2)(x, target), x, create_graph=True)
        gradient.square().sum().backward()
        assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("order", [1, 1.5, 2, 3])
def test_second_derivatives_on_the_line(order):
    x, y = clouds(2, 2, dim=6)
    weights = torch.rand(6, dtype=torch.float64)
    inputs = x.requires_grad_(), y[:, :5].clone().requires_grad_()
    assert gradgradcheck(lambda a, b: wasserstein_1d(a, b, order=order), inputs)
    assert gradgradcheck(lambda a, b: wasserstein_1d(a, b, weights, order=order), inputs)


@pytest.mark.parametrize("name", NAMES)
def test_transforms_are_refused_in_one_sentence(name):
    x, y = clouds(dtype=torch.float32)
    distance = small(name)
    with pytest.raises(ValueError, match=SENTENCE):
        torch.func.grad(distance)(x, y)
    with pytest.raises(ValueError, match=SENTENCE):
        torch.func.vmap(distance, in_dims=(0, None))(x[None].repeat(2, 1, 1), y)
    with pytest.raises(ValueError, match=SENTENCE):
        torch.func.jvp(lambda a: distance(a, y), (x,), (x,))
    with forward_ad.dual_level(), pytest.raises(ValueError, match=SENTENCE):
        distance(y=y, x=forward_ad.make_dual(x, x))


def test_transforms_on_the_line_are_refused():
    with pytest.raises(ValueError, match=SENTENCE):
        torch.func.vmap(wasserstein_1d)(torch.rand(3, 5), torch.rand(3, 5))
