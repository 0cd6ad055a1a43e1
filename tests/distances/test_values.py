"""Values against independent implementations and closed forms."""

import itertools

import numpy as np
import ot
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from aswd.distances import Circular, CosinePenalty, Linear, Slices, build, wasserstein_1d
from aswd.distances.aggregations import Mean
from aswd.distances.slicing import mean_slice_cost
from tests.distances.small import clouds, frozen, small


def sphere(count, dim, seed=0):
    theta = torch.randn(count, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return theta / theta.norm(dim=1, keepdim=True)


def brute_force(u, v, order, a=None, b=None):
    """(mean_l W_k^k)^(1/k) of values [N, L] and [M, L] by the network simplex, a slice at a time."""
    a, b = (np.full(len(t), 1 / len(t)) if w is None else w / w.sum() for t, w in ((u, a), (v, b)))
    costs = [ot.emd2(a, b, np.abs(u[:, None, i] - v[None, :, i]) ** order) for i in range(u.shape[1])]
    return np.mean(costs) ** (1 / order)


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(1, 15),
    m=st.integers(1, 15),
    dim=st.integers(1, 6),
    order=st.sampled_from([1, 2, 3]),
    weighted=st.booleans(),
    scale=st.floats(1e-2, 1e2),
    seed=st.integers(0, 2**31),
)
def test_swd_equals_pot(n, m, dim, order, weighted, scale, seed):
    x, y = (scale * t for t in clouds(n, m, dim, seed=seed))
    theta = sphere(9, dim, seed)
    weights = [torch.rand(size, dtype=torch.float64) + 0.05 if weighted else None for size in (n, m)]
    normalised = [None if w is None else w / w.sum() for w in weights]
    ours = build("swd", order=order)(x, y, *weights, directions=theta)
    theirs = ot.sliced_wasserstein_distance(x, y, *normalised, projections=theta.T, p=order)
    torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-9)


def test_max_swd_takes_the_largest_of_given_directions_as_pot_does():
    x, y = clouds(20, 15)
    theta = sphere(30, 3)
    ours = build("max_swd")(x, y, directions=theta)
    torch.testing.assert_close(ours, ot.max_sliced_wasserstein_distance(x, y, projections=theta.T), rtol=1e-9, atol=0)


def monomials(x, degree):
    exponents = [e for e in itertools.product(range(degree + 1), repeat=x.shape[1]) if sum(e) == degree]
    return np.stack([np.prod(x ** np.array(e), axis=1) for e in sorted(exponents, reverse=True)], 1)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["gswd_poly3", "gswd_poly5", "max_gswd_poly3", "max_gswd_poly5"])
def test_polynomial_equals_brute_force(name, order, weighted):
    x, y = clouds(8, 6)
    degree = int(name[-1])
    fx, fy = monomials(x.numpy(), degree), monomials(y.numpy(), degree)
    theta = sphere(1 if name.startswith("max") else 5, fx.shape[1])
    weights = [torch.rand(len(t), dtype=torch.float64) if weighted else None for t in (x, y)]
    expected = brute_force(fx @ theta.numpy().T, fy @ theta.numpy().T, order, *(None if w is None else w.numpy() for w in weights))
    assert build(name, order=order)(x, y, *weights, directions=theta).item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("dim", [2, 16, 17, 40])
@pytest.mark.parametrize("radius", [1.0, 1000.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_circular_equals_brute_force(dim, radius, dtype):
    x, y = clouds(8, 6, dim)
    theta = 1.3 * sphere(5, dim)  # used as they are: not on the sphere
    values = [np.linalg.norm(side.numpy()[:, None] - radius * theta.numpy()[None], axis=-1) for side in (x, y)]
    ours = build("gswd_circular", radius=radius)(x.to(dtype), y.to(dtype), directions=theta)
    assert ours.item() == pytest.approx(brute_force(*values, 2), rel=1e-8 if dtype == torch.float64 else 1e-5)


def test_circular_on_the_circle_itself():
    """Samples that lie on centres of the circles: values right, gradients finite."""
    theta = sphere(50, 2).float()
    x = theta[:20].clone().requires_grad_()
    y = theta[20:40] * 0.9
    ours = build("gswd_circular", radius=1.0)(x, y, directions=theta)
    ours.backward()
    values = [np.linalg.norm(s.detach().double().numpy()[:, None] - theta.double().numpy()[None], axis=-1) for s in (x, y)]
    assert ours.item() == pytest.approx(brute_force(*values, 2), rel=1e-5)
    assert torch.isfinite(x.grad).all()


def test_gradients_of_the_circular_distance_close_to_the_centre():
    """A sample has a gradient of its full length however close it is."""
    theta = sphere(1, 2)
    x = theta + 1e-6 * sphere(6, 2, seed=3)
    y = (theta + 0.3 * sphere(1, 2, seed=4)).expand(6, 2)  # one point, so that it does not matter which is matched with which
    grads = []
    for dtype in (torch.float32, torch.float64):
        leaf = x.float().to(dtype).requires_grad_()  # the same points
        build("gswd_circular", radius=1.0, root=False)(leaf, y.to(dtype), directions=theta.float().to(dtype)).backward()
        grads.append(leaf.grad.double())
    torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_neural_equals_an_mlp(depth):
    x, y = clouds(9, 7)
    distance = small(f"gswd_nn{depth}", num_projections=6)
    value = distance(x, y)
    state = {k.removeprefix("learned."): v[0] for k, v in distance.named_buffers()}
    layers = []
    for i in range(depth):
        layers += [nn.Linear(3 if i == 0 else 32, 32, dtype=torch.float64), nn.LeakyReLU()]
        layers[-2].load_state_dict({"weight": state[f"hidden{i}_weight"], "bias": state[f"hidden{i}_bias"]})
    last = nn.Linear(32, 6, dtype=torch.float64)
    last.load_state_dict({"weight": state["last_weight"], "bias": state["last_bias"]})
    mlp = nn.Sequential(*layers, last)
    expected = brute_force(mlp(x).detach().numpy(), mlp(y).detach().numpy(), 2)
    assert value.item() == pytest.approx(expected, rel=1e-9)


def learned(distance):
    return {k.removeprefix("learned."): v[0] for k, v in distance.named_buffers() if "__" not in k}


@pytest.mark.parametrize("activation", ["relu", "none", "leaky_relu", "tanh"])
@pytest.mark.parametrize("name", ["aswd", "aswd_non_injective", "aswd_vanilla", "aswd_vanilla_non_injective"])
def test_augmented_equals_brute_force(name, activation):
    x, y = clouds(8, 6)
    expansion = 2
    injective = "non_injective" not in name
    theta = sphere(5, 3 * (expansion + injective))
    distance = small(name, activation=activation, expansion=expansion)
    value = distance(x, y, directions=theta)
    phi, act = learned(distance), {"relu": nn.ReLU(), "none": nn.Identity(), "leaky_relu": nn.LeakyReLU(), "tanh": nn.Tanh()}[activation]
    images = [act(t @ phi["phi_weight"].T + phi["phi_bias"]) for t in (x, y)]
    g = [torch.cat([t, image], 1) if injective else image for t, image in zip((x, y), images, strict=True)]
    assert value.item() == pytest.approx(brute_force(*((t @ theta.T).numpy() for t in g), 2), rel=1e-9)


def planar(z, p):
    for u, w, b in zip(p["planar_u"], p["planar_w"], p["planar_b"], strict=True):
        wu = w @ u
        u_hat = u + (-1 + torch.log1p(torch.exp(wu)) - wu) * w / (w @ w)
        z = z + u_hat * torch.tanh(z @ w + b)[:, None]
    return z


def radial(z, p):
    for centre, a, b in zip(p["radial_centre"], p["radial_alpha"], p["radial_beta"], strict=True):
        alpha = torch.log1p(torch.exp(a))
        beta = -alpha + torch.log1p(torch.exp(b))
        r = (z - centre).norm(dim=1, keepdim=True)
        z = z + beta / (alpha + r) * (z - centre)
    return z


@pytest.mark.parametrize(("name", "flow"), [("aswd_planar", planar), ("aswd_radial", radial)])
def test_flows_equal_brute_force(name, flow):
    x, y = clouds(8, 6)
    theta = sphere(5, 3)
    distance = small(name, layers=3)
    value = distance(x, y, directions=theta)
    parameters = learned(distance)
    assert value.item() == pytest.approx(brute_force(*((flow(t, parameters) @ theta.T).numpy() for t in (x, y)), 2), rel=1e-9)


@pytest.mark.parametrize("name", ["dswd", "dgswd_circular"])
def test_given_directions_are_pushed_forward(name):
    x, y = clouds(8, 6)
    base = sphere(5, 3)
    distance = small(name)
    value = distance(x, y, directions=base)
    f = learned(distance)
    theta = base @ f["f_weight"].T + f["f_bias"]
    theta = theta / theta.norm(dim=1, keepdim=True)
    values = [t @ theta.T if name == "dswd" else torch.cdist(t, theta) for t in (x, y)]
    assert value.item() == pytest.approx(brute_force(*(v.numpy() for v in values), 2), rel=1e-9)


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
@pytest.mark.parametrize(("n", "m", "weighted"), [(20, 20, False), (20, 13, False), (20, 20, True)])
def test_wasserstein_equals_emd2(order, n, m, weighted):
    x, y = clouds(n, m)
    a, b = (torch.rand(size, dtype=torch.float64) if weighted else torch.ones(size, dtype=torch.float64) for size in (n, m))
    expected = ot.emd2((a / a.sum()).numpy(), (b / b.sum()).numpy(), (torch.cdist(x, y) ** order).numpy()) ** (1 / order)
    weights = (a, b) if weighted else (None, None)
    assert build("wasserstein", order=order)(x, y, *weights).item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["swd", "max_swd", "dswd", "wasserstein"])
def test_translation(name):
    x, y = clouds()
    call = frozen(small(name), x, y)
    torch.testing.assert_close(call(x + 5, y + 5), call(x, y), rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=20)
@given(scale=st.floats(1e-4, 1e4), name=st.sampled_from(["swd", "wasserstein"]), order=st.floats(1, 3))
def test_scaling(scale, name, order):
    x, y = clouds()
    call = frozen(small(name, order=order), x, y)
    torch.testing.assert_close(call(scale * x, scale * y), scale * call(x, y), rtol=1e-7, atol=0)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_swd_on_the_line_is_transport_on_the_line(order):
    x, y = clouds(dim=1)
    assert build("swd", order=order)(x, y).item() == pytest.approx(wasserstein_1d(x[:, 0], y[:, 0], order=order).item(), rel=1e-12)


def test_swd_of_a_shift_has_its_closed_form():
    """Between x and x + c, SWD^2 is |c|^2 times the mean of a squared coordinate on the sphere, 1/d."""
    x, _ = clouds(50, dim=5)
    shift = torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0], dtype=torch.float64)
    value = build("swd", num_projections=200_000, seed=0)(x, x + shift)
    assert value.item() == pytest.approx(shift.norm().item() / 5**0.5, rel=0.01)


@settings(deadline=None, max_examples=25)
@given(
    shape=st.tuples(st.integers(1, 4), st.integers(1, 30), st.integers(1, 30), st.integers(1, 20)),
    name=st.sampled_from(["swd", "gswd_poly3", "gswd_circular", "gswd_nn1", "dswd", "aswd"]),
    order=st.floats(1, 3),
)
def test_any_shape_and_order(shape, name, order):
    replicas, n, m, dim = shape
    x, y = clouds(n, m, dim, lead=(replicas,), dtype=torch.float32)
    value = small(name, order=order)(x.requires_grad_(), y)
    value.sum().backward()
    assert value.shape == (replicas,)
    assert (value >= 0).all()
    assert torch.isfinite(x.grad).all()


def test_chunks_change_nothing(monkeypatch):
    from aswd.distances import chunks

    x, y = clouds(50, 40, lead=(3,))
    for name in ("aswd", "gswd_circular", "dswd"):
        values = []
        for budget in (1 << 20, 100):
            monkeypatch.setattr(chunks, "_chunk_size", lambda device, budget=budget: budget)
            xr = x.clone().requires_grad_()
            value = small(name, num_projections=150)(xr, y)
            value.sum().backward()
            values.append((value.detach(), xr.grad))
        for whole, pieces in zip(*values, strict=True):
            torch.testing.assert_close(whole, pieces, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("order", [2, 3, 10])
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_exact_distance_scales_also_where_the_simplex_finds_it(order, scale):
    x, y = clouds(20, 13, 3)
    distance = build("wasserstein", order=order)
    torch.testing.assert_close(distance(scale * x, scale * y), scale * distance(x, y), rtol=1e-9, atol=0)


def test_the_exact_distance_of_what_overflows_is_no_number():
    x, y = clouds(20, 13, 3)
    assert not torch.isfinite(build("wasserstein", order=10)(1e31 * x, 1e31 * y))


@pytest.mark.parametrize("dim", [2, 17])
def test_circular_keeps_float32_precision_with_a_large_radius(dim):
    x, _ = clouds(64, 64, dim, dtype=torch.float32)
    y, theta = x + 1e-4 * torch.randn(64, dim), sphere(50, dim)
    distance = build("gswd_circular", radius=1000.0)
    expected = distance(x.double(), y.double(), directions=theta)
    assert distance(x, y, directions=theta.float()).item() == pytest.approx(expected.item(), rel=2e-3)


@pytest.mark.parametrize("dim", [3, 20])
def test_circular_with_a_radius_beyond_float32_and_with_none(dim):
    x, y = clouds(10, 10, dim, dtype=torch.float32)
    assert not torch.isfinite(build("gswd_circular", radius=1e20, seed=0)(x, y))
    zero = torch.zeros(3, dim)
    assert build("gswd_circular")(zero, zero + 1, directions=torch.zeros(2, dim)).item() == pytest.approx(dim**0.5, rel=1e-6)


@pytest.mark.parametrize("dim", [3, 20, 40])
@pytest.mark.parametrize("projection", [Linear(), Circular(radius=2.0)], ids=["linear", "circular"])
def test_gradients_to_directions_match_finite_differences(projection, dim):
    x, y = (side[None].requires_grad_() for side in clouds(4, 4, dim))
    theta = sphere(3, dim)[None].requires_grad_()
    assert torch.autograd.gradcheck(
        lambda a, b, theta: mean_slice_cost(Slices(projection, {}, a, b, a, b, theta, None, None, 2.0), Mean()),
        (x, y, theta),
        atol=1e-6,
        rtol=1e-4,
    )


@settings(deadline=None, max_examples=60)
@given(
    count=st.integers(1, 40),
    replicas=st.integers(1, 3),
    dim=st.sampled_from([2, 3]),
    angles=st.lists(st.floats(-7, 7), max_size=5),
    seed=st.integers(0, 2**31),
)
def test_cosine_penalty_against_all_pairs(count, replicas, dim, angles, seed):
    """In the plane by sorted angles, elsewhere by matrix products; with directions that are repeated, opposite and of length zero."""
    theta = torch.stack([sphere(count, dim, seed + i) for i in range(replicas)])
    special = torch.tensor([[np.cos(a), np.sin(a), 0][:dim] for a in angles], dtype=torch.float64).reshape(-1, dim)
    special = torch.cat([special, -special, special, torch.zeros(1, dim)])
    theta = torch.cat([theta, special.expand(replicas, -1, -1)], 1)
    pairs = theta.shape[1] ** 2
    cosine = (theta[:, :, None] * theta[:, None]).sum(-1)
    slices = Slices(None, {}, None, None, None, None, theta.clone().requires_grad_(), None, None, 2)
    penalty = CosinePenalty(penalty=3.0)
    value = penalty(slices)
    torch.testing.assert_close(value, 3 * cosine.abs().sum((1, 2)) / pairs)
    gradient = torch.autograd.grad(value.sum(), slices.theta)[0]
    subtracted = torch.zeros_like(gradient)
    penalty.subtract_gradients(slices, None, None, subtracted)
    torch.testing.assert_close(-subtracted, gradient)
    # At a right angle any slope between the two one-sided ones is a gradient.
    slack = 6 / pairs * (cosine.abs() < 1e-12).double() @ theta.norm(dim=-1, keepdim=True)
    expected = 6 / pairs * (torch.where(cosine.abs() < 1e-12, 0, cosine.sign())[..., None] * theta[:, None]).sum(2)
    assert ((gradient - expected).norm(dim=-1) <= slack[..., 0] + 1e-12).all()
