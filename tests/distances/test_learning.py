"""What is maximised, how, and what keeps it in bounds."""

import copy
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import torch

from aswd.distances import READINGS, Single, build, options, sliced, wasserstein_1d
from aswd.distances.aggregations import Mean
from aswd.distances.maximiser import AdamState, Maximiser, by_autograd
from tests.distances.small import LEARNING, NAMES, clouds, small
from tests.distances.test_values import learned, sphere


# One direction that is searched: tests of their own. min_swgg_opt: test_descended.py.
@pytest.mark.parametrize("name", [n for n in LEARNING if not n.startswith(("max_", "min_")) or "_nn" in n])
def test_inner_steps_raise_the_objective_on_held_out_directions(name):
    x, y = clouds(60, 60, 4)
    distance = small(name, steps=60, lr=0.005, num_projections=40)
    replaced = distance.directions is None or distance.directions.replaced_by_given  # by those given: the next ones of the stream instead
    given = {} if replaced else {"directions": sphere(300, distance.projection.direction_dim(4), seed=5)}
    untouched = copy.deepcopy(distance)
    untouched.maximiser.steps = 0
    untouched(x, y)
    distance(x, y)
    assert distance.objective(x, y, **given) > untouched.objective(x, y, **given) * 1.01


@pytest.mark.parametrize("name", [n for n in LEARNING if n.startswith("max_") and "_nn" not in n])
def test_the_search_finds_a_larger_direction(name):
    x, y = clouds(60, 60, 4)
    optimised, drawn = small(name, steps=300, lr=0.02)(x, y), small(name, steps=0)(x, y)
    assert optimised > drawn * 1.05


def test_max_swd_finds_the_direction_of_a_shift():
    """To a hundredth: Adam normalises each coordinate's step, so the published search ends at (1, 1) instead of (3, 4)."""
    x, _ = clouds(40, 40, 5)
    shift = torch.tensor([0.0, 3.0, 0.0, 4.0, 0.0], dtype=torch.float64)
    assert small("max_swd", steps=2000, lr=0.01, betas=(0.9, 0.999))(x, x + shift).item() == pytest.approx(7 / 2**0.5, rel=1e-3)


def test_steps_are_adam_s():
    """Against torch's own optimiser on the same objective, warm start included."""
    target = torch.randn(1, 3, 2, dtype=torch.float64)
    ours = {"w": torch.zeros_like(target)}
    theirs = torch.zeros_like(target, requires_grad=True)
    maximiser = Maximiser(steps=7, lr=0.03, betas=(0.9, 0.99))
    optimiser = torch.optim.Adam([theirs], lr=0.03, betas=(0.9, 0.99), maximize=True)
    moments = AdamState.zeros_like(ours)
    for _ in range(2):
        gradients = partial(by_autograd, lambda p: -(p["w"] - target).pow(4).sum((1, 2)))
        maximiser.ascend(gradients, ours, moments, lambda _: None)
        for _ in range(7):
            optimiser.zero_grad()
            (-(theirs - target).pow(4).sum()).backward()
            optimiser.step()
        torch.testing.assert_close(ours["w"], theirs.detach(), rtol=1e-12, atol=0)


NORM_PENALTY = [
    {},
    {"penalty_relative": True},
    {"objective": "mean", "activation": "relu"},
    {"order": 3.0, "objective": "sum", "activation": "tanh"},
    {"penalty_form": "moment", "activation": "leaky_relu"},
    {"penalty_form": "moment", "order": 1.5},
    {"reading": "paper"},
    {"reading": "algorithm1"},
    {"penalty": 1e-3},  # without any, the bias has no gradient but rounding
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, options) for name in ("aswd", "aswd_non_injective") for options in NORM_PENALTY),
        *((name, options) for name in ("aswd_planar", "aswd_radial") for options in ({}, {"layers": 1}, {"reading": "algorithm1"})),
        *((f"max_gswd_nn{depth}", {"order": order}) for depth in (1, 2, 3) for order in (2.0, 1.5)),
        *((name, {"order": order}) for name in ("max_swd", "max_gswd_poly3", "max_gswd_circular") for order in (2.0, 3.0)),
        *(
            (name, options)
            for name in ("dswd", "dgswd_circular")
            for options in ({}, {"penalty": 0.0}, {"objective": "mean", "order": 1.5})
        ),
    ],
)
def test_closed_form_of_the_inner_step_is_what_autograd_finds(name, weighted, options, monkeypatch):
    if weighted and options.get("reading") == "algorithm1":
        options = {**options, "reduction": "mean"}  # a sum takes no weights
    x, y = clouds(20, 20 if options.get("reading") == "algorithm1" else 14, 3, lead=(2,))
    weights = tuple(torch.rand(side.shape[:2], dtype=torch.float64) for side in (x, y)) if weighted else (None, None)
    few = {} if isinstance(build(name).directions, Single) else {"num_projections": 12}
    assert sliced.has_closed_form(build(name, **few, **options))
    first, results = [], []
    ascend = Maximiser.ascend

    def noting(self, gradients, parameters, *rest):
        with torch.no_grad():
            first.append(gradients(parameters))
        ascend(self, gradients, parameters, *rest)

    monkeypatch.setattr(Maximiser, "ascend", noting)
    for closed in (True, False):
        if not closed:
            monkeypatch.setattr(sliced, "has_closed_form", lambda distance: False)
        distance = build(name, **few, steps=3, seed=0, **options)
        results.append((distance(x, y, *weights), learned(distance)))
    torch.testing.assert_close(*first, rtol=1e-9, atol=1e-15)
    if "_nn" not in name:  # the bias of a unit that is on for all samples has no gradient but rounding, of which Adam makes a whole step
        torch.testing.assert_close(*results, rtol=1e-9, atol=1e-12)


def test_aswd_follows_the_released_code_s_inner_loop():
    """An independent loop with nn.Linear and torch.optim.Adam, fed with the same initial phi and directions."""
    x, y = clouds(30, 30, 2)
    theta = sphere(20, 4)
    distance = build("aswd", steps=0, seed=0)
    distance(x, y, directions=theta)
    phi = torch.nn.Linear(2, 2, dtype=torch.float64)
    phi.load_state_dict({"weight": learned(distance)["phi_weight"], "bias": learned(distance)["phi_bias"]})
    optimiser = torch.optim.Adam(phi.parameters(), lr=0.005, betas=(0.999, 0.999))
    lam = 0.05 / y.abs().mean()
    for _ in range(20):
        gx, gy = (torch.cat([t, phi(t)], -1) for t in (x, y))
        u, v = ((theta @ g.T).sort(1).values for g in (gx, gy))
        value = ((u - v).abs().pow(2).sum(1) * 512 / 30).mean().pow(0.5)
        loss = lam * (gx.norm(dim=1) + gy.norm(dim=1)).mean() - value
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    ours = build("aswd", penalty=0.05, penalty_relative=True, seed=0)
    for _ in range(2):  # the state of the optimiser is kept between calls
        ours(x, y, directions=theta)
    torch.testing.assert_close(learned(ours)["phi_weight"], phi.weight.detach(), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(learned(ours)["phi_bias"], phi.bias.detach(), rtol=1e-9, atol=1e-12)


def test_dswd_follows_the_released_code_s_inner_loop():
    x, y = clouds(30, 30, 3)
    base = sphere(20, 3)
    start = build("dswd", steps=0, seed=0)
    start(x, y, directions=base)
    f = torch.nn.Linear(3, 3, dtype=torch.float64)
    f.load_state_dict({"weight": learned(start)["f_weight"], "bias": learned(start)["f_bias"]})
    optimiser = torch.optim.Adam(f.parameters(), lr=0.005, betas=(0.999, 0.999))
    for _ in range(10):
        theta = f(base)
        theta = theta / theta.norm(dim=1, keepdim=True)
        penalty = 10 * (theta @ theta.T).abs().mean()
        u, v = ((theta @ t.T).sort(1).values for t in (x, y))
        loss = penalty - (u - v).abs().pow(2).sum(1).mean().pow(0.5)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    ours = build("dswd", seed=0)
    ours(x, y, directions=base)
    torch.testing.assert_close(learned(ours)["f_weight"], f.weight.detach(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["max_gswd_nn1", "max_gswd_nn3"])
def test_max_gswd_nn_follows_the_released_code_s_inner_loop(name):
    x, y = clouds(30, 30, 3)
    start = build(name, num_projections=7, steps=0, seed=0)
    start(x, y)
    p, depth = learned(start), int(name[-1])
    layers = []
    for i in range(depth):
        layers += [torch.nn.Linear(3 if i == 0 else 32, 32, dtype=torch.float64), torch.nn.LeakyReLU()]
        layers[-2].load_state_dict({"weight": p[f"hidden{i}_weight"], "bias": p[f"hidden{i}_bias"]})
    last = torch.nn.Linear(32, 7, dtype=torch.float64)
    last.load_state_dict({"weight": p["last_weight"], "bias": p["last_bias"]})
    net = torch.nn.Sequential(*layers, last)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.005, betas=(0.999, 0.999))
    for _ in range(10):
        u, v = (net(t).T.sort(1).values for t in (x, y))
        loss = -(u - v).abs().pow(2).sum(1).mean().pow(0.5)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    ours = build(name, num_projections=7, seed=0)
    value = ours(x, y)
    torch.testing.assert_close(learned(ours)["last_weight"], last.weight.detach(), rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(learned(ours)["hidden0_bias"], layers[0].bias.detach(), rtol=1e-7, atol=1e-9)
    u, v = (net(t).T.sort(1).values for t in (x, y))
    torch.testing.assert_close(value, (u - v).square().mean().sqrt().detach(), rtol=1e-7, atol=0)


@pytest.mark.parametrize("order", [2.0, 3.0])
@pytest.mark.parametrize("form", ["mean_norm", "moment", "algorithm1"])
@pytest.mark.parametrize("weighted", [False, True])
def test_penalty_forms(order, form, weighted):
    x, y = clouds(9, 9)
    theta = sphere(6, 6)
    weights = [torch.rand(9, dtype=torch.float64) if weighted else None for _ in range(2)]
    lam = 0.3
    values = {}
    for penalty in (0.0, lam):
        distance = build("aswd", penalty=penalty, penalty_form=form, order=order, steps=0, seed=0)
        values[penalty] = distance.objective(x, y, *weights, directions=theta)
    phi = learned(distance)
    total = 0.0
    for t, w in zip((x, y), weights, strict=True):
        norm = torch.cat([t, t @ phi["phi_weight"].T + phi["phi_bias"]], 1).norm(dim=1)
        share = torch.full_like(norm, 1 / 9) if w is None else w / w.sum()
        total += {
            "mean_norm": (share * norm).sum(),
            "moment": (share * norm**order).sum() ** (1 / order),
            "algorithm1": ((share * norm**order) ** (1 / order)).sum(),
        }[form]
    torch.testing.assert_close(values[0.0] - values[lam], lam * total, rtol=1e-9, atol=1e-12)


def test_penalty_of_a_neural_projection_is_the_norm_of_its_outputs():
    x, y = clouds(9, 9)
    objective = [small("max_gswd_nn1", penalty=lam, steps=0, seed=0).objective(x, y) for lam in (0.0, 0.5)]
    distance = small("max_gswd_nn1", steps=0, seed=0)
    distance(x, y)
    p = learned(distance)
    hidden = [torch.nn.functional.leaky_relu(t @ p["hidden0_weight"].T + p["hidden0_bias"]) for t in (x, y)]
    size = sum((h @ p["last_weight"].T + p["last_bias"]).norm(dim=1).mean() for h in hidden)
    torch.testing.assert_close(objective[0] - objective[1], 0.5 * size, rtol=1e-9, atol=0)


def test_readings_have_names_and_reference_is_the_default():
    assert list(READINGS) == ["reference", "paper", "algorithm1"]
    default, paper, algorithm1 = build("aswd"), build("aswd", reading="paper"), build("aswd", reading="algorithm1")
    assert default.reading == "reference"
    assert (default.projection.activation, default.penalty.penalty_form, default.penalty.objective) == ("none", "mean_norm", 512)
    assert (paper.projection.activation, paper.penalty.penalty_form, paper.penalty.objective) == ("relu", "moment", "mean")
    assert (algorithm1.projection.activation, algorithm1.penalty.penalty_form) == ("relu", "algorithm1")
    assert build("aswd", reading="paper", activation="tanh").projection.activation == "tanh"
    assert isinstance(build("swd", reading="algorithm1").aggregation, Mean)


def test_algorithm1_is_the_pseudo_code():
    """D = sum_l (1/L sum_n |.|^k)^(1/k), and the objective D minus its own penalty."""
    x, y = clouds(9, 9)
    theta = sphere(6, 6)
    lam = 0.1
    distance = build("aswd", reading="algorithm1", steps=0, seed=0, penalty=lam)
    value, objective = distance(x, y, directions=theta), distance.objective(x, y, directions=theta)
    phi = learned(distance)
    g = [torch.cat([t, torch.relu(t @ phi["phi_weight"].T + phi["phi_bias"])], 1) for t in (x, y)]
    d, penalty = 0.0, 0.0
    for t in theta:
        u, v = ((side @ t).sort().values for side in g)
        d += ((u - v).pow(2).sum() / len(theta)) ** 0.5
    for n in range(9):
        penalty += lam * sum((side[n].norm() ** 2 / 9) ** 0.5 for side in g)
    torch.testing.assert_close(value, d, rtol=1e-10, atol=0)
    torch.testing.assert_close(objective, d - penalty, rtol=1e-10, atol=0)


@pytest.mark.parametrize("name", LEARNING)
def test_warm_start(name):
    x, y = clouds()
    kept, anew = small(name, warm_start=True), small(name, warm_start=False)
    kept(x, y)
    anew(x, y)
    assert dict(kept.named_buffers())
    assert not dict(anew.named_buffers())
    before = copy.deepcopy(dict(kept.named_buffers()))
    kept(x, y)
    assert any(not torch.equal(v, before[k]) for k, v in kept.named_buffers())


def test_a_single_direction_stays_on_the_sphere():
    x, y = clouds()
    distance = small("max_swd", warm_start=True, lr=0.5)
    distance(x, y)
    torch.testing.assert_close(learned(distance)["theta"].norm(), torch.tensor(1.0, dtype=torch.float64))


@pytest.mark.parametrize("name", ["aswd", "aswd_planar", "aswd_radial"])
def test_g_separates_points(name):
    """Also with parameters far from where they started, and for points that are close."""
    x, y = clouds(200, 200, 2)
    distance = small(name, steps=30, lr=0.3)
    for _ in range(3):
        distance(x, y)
    z = torch.cat([x, y, x[:50] + 1e-4, y[:50] - 1e-4])
    parameters = {k: v.unsqueeze(0) for k, v in learned(distance).items()}
    g = distance.projection.features(z[None], parameters)[0]
    apart = torch.cdist(g, g) + torch.eye(len(z), dtype=torch.float64)
    assert apart.min() > 1e-7


def test_planar_and_radial_layers_keep_their_constraints():
    """Each is increasing along its own direction, which makes it invertible, whatever its parameters are."""
    line = torch.linspace(-6, 6, 4001, dtype=torch.float64)
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        u, w, b = (3 * torch.randn(1, size, dtype=torch.float64, generator=generator) for size in (2, 2, 1))
        unit = w / w.norm()
        alpha, beta = 3 * torch.randn(2, 1, 1, dtype=torch.float64, generator=generator)
        for name, values in (("aswd_planar", (u, w, b)), ("aswd_radial", (torch.zeros_like(u), alpha, beta))):
            projection = small(name, layers=1).projection
            parameters = {key: value[:, None] for key, value in zip(projection.names, values, strict=True)}
            out = projection.features((line[:, None] * unit)[None], parameters)[0] @ unit[0]
            assert (out.diff() > 0).all()


def test_non_injective_need_not_separate_points():
    """With ReLU, all points where phi is negative go to zero; with g = [x, phi(x)] they stay apart."""
    x = torch.tensor([[-3.0, -3.0], [-5.0, -4.0]], dtype=torch.float64)
    together = {"phi_weight": torch.eye(2, dtype=torch.float64)[None], "phi_bias": torch.zeros(1, 2, dtype=torch.float64)}
    g = [small(name, activation="relu").projection.features(x[None], together)[0] for name in ("aswd_non_injective", "aswd")]
    assert torch.equal(g[0][0], g[0][1])
    assert not torch.equal(g[1][0], g[1][1])


def test_options_of_the_issue_are_there():
    common = {"order", "reduction", "root", "seed", "validate"}
    inner = {"steps", "lr", "betas", "warm_start"}
    expected = {
        "swd": {"num_projections"},
        "gswd_poly3": {"num_projections", "degree"},
        "gswd_circular": {"num_projections", "radius"},
        "gswd_nn1": {"num_projections", "depth", "width"},
        "max_swd": inner,
        "max_gswd_nn1": inner | {"penalty", "penalty_form", "penalty_relative", "width"},
        "dswd": inner | {"num_projections", "penalty"},
        "aswd": inner | {"num_projections", "activation", "expansion", "penalty", "penalty_form", "penalty_relative"},
        "aswd_planar": inner | {"layers", "penalty"},
    }
    for name, wanted in expected.items():
        assert wanted | common <= set(options(name))
    assert "steps" not in options("aswd_vanilla")
    assert "num_projections" not in options("max_swd")


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("swd", {"num_projections": 0}, "num_projections must be a whole number of at least 1; got 0"),
        ("swd", {"num_projections": 2.5}, "num_projections must be a whole number.*got 2.5"),
        ("swd", {"radius": 1.0}, "swd has no option 'radius'"),
        ("swd", {"num_projection": 5}, "swd has no option 'num_projection': did you mean num_projections"),
        ("gswd_circular", {"radius": 0}, "radius must be a number above 0; got 0"),
        ("gswd_poly3", {"degree": 0}, "degree must be a whole number of at least 1; got 0"),
        ("gswd_nn1", {"depth": 0}, "depth must be a whole number of at least 1; got 0"),
        ("aswd", {"activation": "gelu"}, "activation must be one of 'none', 'relu', 'leaky_relu', 'tanh'; got 'gelu'"),
        ("aswd", {"expansion": 0}, "expansion must be a whole number of at least 1; got 0"),
        ("aswd", {"penalty": -1}, "penalty must be a number of at least 0; got -1"),
        ("aswd", {"penalty_form": "l1"}, "penalty_form must be one of .*; got 'l1'"),
        ("aswd", {"objective": "median"}, "objective must be 'mean', 'sum' or a number above 0; got 'median'"),
        ("aswd", {"steps": -1}, "steps must be a whole number of at least 0; got -1"),
        ("aswd", {"lr": 0}, "lr must be a number above 0; got 0"),
        ("aswd", {"betas": (0.9, 1.0)}, r"betas must be two numbers of at least 0 and below 1; got \(0.9, 1.0\)"),
        ("aswd", {"reading": "papre"}, "reading must be one of 'reference', 'paper', 'algorithm1'; got 'papre'"),
        ("aswd_planar", {"layers": 0}, "layers must be a whole number of at least 1; got 0"),
    ],
)
def test_bad_options(name, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        build(name, **given)


def test_other_problem_than_the_one_learned_for():
    x, y = clouds(lead=(2,))
    distance = small("aswd")
    distance(x, y)
    with pytest.raises(ValueError, match=r"x must have 2 replicas of dimension 3.*got 1 of dimension 3"):
        distance(x[0], y[0])
    distance.reset(seed=0)
    assert distance(x[0], y[0]).shape == ()


def test_reset_starts_again():
    x, y = clouds()
    distance = small("aswd", seed=4)
    first = [distance(x, y) for _ in range(2)]
    distance.reset()
    assert [distance(x, y) for _ in range(2)] == first
    distance.reset(seed=5)
    assert distance(x, y) == small("aswd", seed=5)(x, y)


def test_the_state_of_another_distance_is_refused():
    x, y = clouds()
    states = {}
    for key, other in {"dswd": small("dswd"), "wide": small("aswd", expansion=2)}.items():
        other(x, y)
        states[key] = other.state_dict()
    for state in states.values():
        distance = small("aswd")
        with pytest.raises(ValueError, match=r"state_dict must be of a distance made of Augmented\(.*; got one of"):
            distance.load_state_dict(state)
        assert torch.equal(distance(x, y), small("aswd")(x, y))


def test_a_partial_state_takes_nothing_away():
    x, y = clouds()
    distance, twin = small("aswd"), small("aswd")
    distance(x, y)
    twin(x, y)
    distance.load_state_dict({}, strict=False)
    assert torch.equal(distance(x, y), twin(x, y))


def test_relative_penalty_of_a_target_at_zero():
    x, _ = clouds()
    distance = small("aswd", penalty_relative=True)
    assert distance(x, torch.zeros_like(x)) > 0
    assert all(torch.isfinite(b).all() for b in distance.buffers())


def test_as_many_seeds_as_replicas():
    x, y = clouds(lead=(3,))
    with pytest.raises(ValueError, match="seed has 2 values but the samples have 3 replicas"):
        small("swd", seed=[1, 2])(x, y)


@pytest.mark.parametrize("name", ["gswd_nn1", "max_gswd_nn2", "wasserstein"])
def test_no_directions_to_be_given(name):
    x, y = clouds()
    with pytest.raises(ValueError, match="directions must be left out"):
        small(name)(x, y, directions=sphere(4, 3))


def test_directions_of_the_wrong_shape():
    x, y = clouds(lead=(2,))
    for wrong in (sphere(4, 2), sphere(4, 3)[0], sphere(4, 3).expand(3, 4, 3), sphere(4, 3)[:0]):
        with pytest.raises(ValueError, match="directions must have the shape"):
            small("swd")(x, y, directions=wrong)
    with pytest.raises(ValueError, match="directions must be finite"):
        small("swd")(x, y, directions=torch.full((4, 3), float("nan")))
    with pytest.raises(ValueError, match="directions must be on the device of the samples, cpu; got meta"):
        small("swd")(x, y, directions=sphere(4, 3).to("meta"))


@pytest.mark.parametrize("name", ["gswd_poly5", "max_gswd_poly5"])
def test_monomials_that_do_not_fit_are_refused_before_they_are_made(name):
    x, y = clouds(512, 512, 8192, dtype=torch.float32)
    with pytest.raises(ValueError, match=r"which would take .* GiB for 16 samples and 1000000000 directions"):
        build("gswd_poly3", num_projections=10**9)(x[:8, :30], y[:8, :30])
    with pytest.raises(ValueError, match=r"degree=5 in dimension 8192 has [\d,]+ monomials, which would take .* GiB"):
        small(name)(x, y)


def test_numbers_of_numpy_are_numbers():
    x, y = clouds(lead=(2,))
    expected = build("aswd", num_projections=5, order=2, steps=2, lr=0.01, seed=[3, 4])(x, y)
    for seed in (np.array([3, 4]), torch.tensor([3, 4]), range(3, 5), np.int64(3)):
        given = {"num_projections": np.int64(5), "order": np.float32(2), "steps": np.int32(2), "lr": np.float64(0.01), "seed": seed}
        assert torch.equal(build("aswd", **given)(x, y), expected)


@pytest.mark.parametrize("seed", ["0", 1.5, [], [1, 2.5], True, -1, 2**32, torch.tensor(0.5), [[0]]])
def test_bad_seeds(seed):
    with pytest.raises(ValueError, match="seed must be a whole number from 0 to"):
        build("swd", seed=seed)


@pytest.mark.parametrize("name", NAMES)
def test_a_first_call_in_inference_mode_leaves_nothing_unusable(name):
    """In a fresh thread, whose scratch memory is made in that mode."""

    def run():
        x, y = clouds(9, 7, dtype=torch.float32)
        distance = small(name)
        with torch.inference_mode():
            distance(x, y)
            wasserstein_1d(x[:, 0], y[:, 0])
        distance(x.requires_grad_(), y).backward()
        wasserstein_1d(x[:, 0], y[:, 0]).backward()
        return x.grad

    with ThreadPoolExecutor(1) as pool:
        assert torch.isfinite(pool.submit(run).result()).all()
