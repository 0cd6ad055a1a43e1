"""Names, and how a distance of one's own joins them."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from aswd.distances import (
    Linear,
    Polynomial,
    Projection,
    Single,
    SlicedDistance,
    Uniform,
    available,
    build,
    distance_info,
    option_types,
    options,
    origin,
    register,
    registry,
)
from aswd.utils import plugins
from tests.distances.small import clouds

PAPER_NAMES = [
    *("swd", "gswd_poly3", "gswd_poly5", "gswd_circular", "gswd_nn1", "gswd_nn2", "gswd_nn3"),
    *("max_swd", "max_gswd_poly3", "max_gswd_poly5", "max_gswd_circular", "max_gswd_nn1", "max_gswd_nn2", "max_gswd_nn3"),
    *("dswd", "dgswd_circular", "aswd", "aswd_vanilla", "aswd_non_injective", "aswd_vanilla_non_injective"),
    *("aswd_planar", "aswd_radial", "wasserstein"),
]
FIELD_NAMES = [
    *("swd1", "osw", "qsw_spiral", "qsw_equal_area", "qsw_sobol", "qsw_halton"),
    *("ebsw", "swd_lcv", "swd_ucv", "swd_shcv", "min_swgg", "est", "pwd"),
    *("tsw_sl", "db_tsw", "max_k_swd", "vdsw", "msw", "rpsw", "iwrpsw", "min_swgg_opt"),
]


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))


def test_all_names_are_there():
    assert sorted(available()) == sorted(PAPER_NAMES + FIELD_NAMES)


def test_unknown_name_lists_the_nearest():
    with pytest.raises(ValueError, match=r"there is no distance 'awsd': did you mean .*aswd"):
        build("awsd")
    with pytest.raises(ValueError, match="there is no distance 'qqqq': known are: aswd,"):
        build("qqqq")


def test_a_custom_projection_class():
    """One class with one method; its gradient, replicas, weights and chunks come by themselves."""

    @register("gswd_sine")
    @register("max_gswd_sine", directions=Single, maximised="directions", warm_start=False)
    @dataclass
    class Sine(Projection):
        frequency: float = 1.0

        def values(self, features, directions):
            return torch.sin(self.frequency * directions @ features.mT)

    assert {"frequency", "num_projections", "order"} <= set(options("gswd_sine"))
    x, y = clouds(8, 8, lead=(2,))
    theta = torch.randn(5, 3, dtype=torch.float64)
    value = build("gswd_sine", frequency=2.0)(x, y, directions=theta)
    u, v = (torch.sin(2 * theta @ t.mT).sort(-1).values for t in (x, y))
    torch.testing.assert_close(value, (u - v).square().mean((1, 2)).sqrt())
    distance = build("gswd_sine", num_projections=4, seed=0)

    def fixed(a, b):
        return distance(a, b, directions=theta)

    assert torch.autograd.gradcheck(fixed, (x.requires_grad_(), y.requires_grad_()))
    optimised, drawn = (build("max_gswd_sine", steps=steps, betas=(0.9, 0.99), seed=0)(x.detach(), y.detach()) for steps in (200, 0))
    assert optimised.mean() > drawn.mean()


def test_a_plain_class_can_be_restored():
    """Its state names what it belongs to, and that is no address in memory."""

    @register("swd_plain")
    class Plain(Projection):
        def values(self, features, directions):
            return directions @ features.mT

    x, y = clouds()
    distance, restored = build("swd_plain", seed=0), build("swd_plain", seed=1)
    distance(x, y)
    restored.load_state_dict(distance.state_dict())
    assert torch.equal(restored(x, y), distance(x, y))


def test_a_composition_in_a_function():
    @register("swd_of_unit_balls")
    def unit_balls(num_projections=10, seed=None):
        return SlicedDistance(Linear(), Uniform(num_projections), order=1, seed=seed)

    x, y = clouds()
    assert build("swd_of_unit_balls", seed=1)(x, y) == build("swd", num_projections=10, order=1, seed=1)(x, y)
    with pytest.raises(ValueError, match="swd_of_unit_balls has no option 'radius'"):
        build("swd_of_unit_balls", radius=1)


def test_a_custom_module():
    @register("energy")
    class Energy(torch.nn.Module):
        def forward(self, x, y, x_weights=None, y_weights=None, directions=None):
            return (2 * torch.cdist(x, y).mean() - torch.cdist(x, x).mean() - torch.cdist(y, y).mean()).clamp_min(0).sqrt()

    x, _ = clouds()
    assert build("energy")(x, x).item() == pytest.approx(0, abs=1e-6)
    assert build("energy").name == "energy"


def test_names_in_capitals_and_an_option_called_name():
    with pytest.raises(ValueError, match="there is no distance 'ASWD': did you mean aswd"):
        build("ASWD")
    with pytest.raises(ValueError, match="swd has no option 'name'"):
        build("swd", name="x")


def test_a_module_replaces_what_it_registered_itself():
    for frequency in (1.0, 2.0):

        @register("swd_scaled", frequency=frequency)
        @dataclass
        class Scaled(Projection):
            frequency: float = 0.0

            def values(self, features, directions):
                return self.frequency * directions @ features.mT

    assert options("swd_scaled")["frequency"] == 2.0
    assert origin("swd_scaled") == __name__


def test_a_name_is_taken_once():
    sentence = "the name 'swd' is taken by the distance that aswd.distances.names registers: choose another name in tests.distances"
    with pytest.raises(ValueError, match=sentence):
        register("swd")(Linear)
    with pytest.raises(ValueError, match="made of letters, digits and underscores; got 'my distance'"):
        register("my distance")


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"degre": 3}, "has no option 'degre' to give a default to: did you mean degree"),
        ({"maximised": "directions"}, "needs directions with parameters, such as Single or PushForward; got Uniform"),
        ({"maximised": "projection"}, "needs a projection with parameters; Polynomial does not initialise any"),
        ({"directions": None}, "needs a projection with directions of its own; Polynomial has none"),
    ],
)
def test_what_makes_no_distance_is_refused_when_it_is_registered(keywords, sentence):
    with pytest.raises(ValueError, match=sentence):
        register("nonsense", **keywords)(Polynomial)
    assert "nonsense" not in available()


def test_entry_points_register_too(tmp_path, monkeypatch):
    (tmp_path / "plugin_distance.py").write_text(
        "from aswd.distances import Linear, register\nregister('swd_from_outside', num_projections=3)(Linear)\n"
    )
    info = tmp_path / "plugin_distance-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-distance\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[aswd.distances]\nplugin = plugin_distance\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "_entry_points_loaded", False)
    try:
        assert "swd_from_outside" in available()
        assert options("swd_from_outside")["num_projections"] == 3
        assert origin("swd_from_outside") == "plugin_distance"
        assert distance_info("swd_from_outside")["version"] == "1.0"
    finally:
        sys.modules.pop("plugin_distance", None)


def test_a_distance_says_what_it_is():
    text = repr(build("aswd", num_projections=7))
    assert "num_projections=7" in text
    assert "NormPenalty" in text
    assert math.isclose(build("swd", order=3).order, 3.0)


def test_a_bare_module_has_no_options_and_a_number_is_no_distance():
    @register("bare")
    class Bare(torch.nn.Module):
        def forward(self, x, y, x_weights=None, y_weights=None, directions=None):
            return (x.mean() - y.mean()).abs()

    build("bare")
    with pytest.raises(ValueError, match="bare has no option 'colour'"):
        build("bare", colour=1)
    with pytest.raises(ValueError, match="a distance must be a Projection class, a module class or a function; got 5 for 'five'"):
        register("five")(5)


def test_option_types():
    @register("typed")
    class Typed(torch.nn.Module):
        def __init__(self, width: int | None = 3, anything=1):
            super().__init__()

    assert option_types("typed") == {"width": int | None, "anything": Any}
    for name in available():
        types = option_types(name)
        assert list(types) == list(options(name))
        assert name == "typed" or Any not in types.values()
    assert option_types("aswd")["betas"] == tuple[float, float]
    assert option_types("max_gswd_nn1")["objective"] == str | float
    assert option_types("wasserstein")["seed"] == int | Sequence[int] | None


def test_types_that_cannot_be_resolved_are_any():
    @register("unresolved")
    @dataclass
    class Unresolved(Linear):
        width: "Missing" = 3  # noqa: F821

    assert option_types("unresolved")["width"] is Any


def test_the_code_of_a_distance():
    assert distance_info("swd") is None
    assert distance_info("wasserstein") is None
    register("swd_from_a_test")(Linear)
    assert distance_info("swd_from_a_test")["module"] == __name__


def test_what_cannot_be_called_with_options_is_refused():
    def positional(width, /):
        return torch.nn.Identity()

    with pytest.raises(ValueError, match="options of the distance 'p' must be named arguments; got 'width', which is positional only"):
        register("p")(positional)
    with pytest.raises(ValueError, match="options of the distance 'p' must be named arguments; <class 'type'> has no signature"):
        register("p")(type)
    with pytest.raises(ValueError, match="must be a Projection class, a module class or a function; got Identity"):
        register("p")(torch.nn.Identity())
    with pytest.raises(ValueError, match=r"register\('p', num_projections=\.\.\.\) needs a Projection class; got <function"):
        register("p", num_projections=3)(lambda: None)
    assert "p" not in available()


def test_a_required_option():
    @register("required")
    def required(width):
        return torch.nn.PairwiseDistance(width)

    assert options("required") == {"width": None}
    with pytest.raises(ValueError, match="required needs a value for the option 'width', which has no default"):
        build("required")


def test_names_that_begin_as_the_unknown_one_does_are_the_nearest():
    with pytest.raises(ValueError, match="did you mean gswd_circular or gswd_nn1 or"):
        build("gswd")
