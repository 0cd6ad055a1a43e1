"""What the page shows, as it is packed."""

import base64
import json

import numpy as np
import pytest

from aswd.artifacts import views
from aswd.utils.statistics import mean_and_band


def unpack(packed):
    return np.frombuffer(base64.b64decode(packed["data"]), packed["type"]).reshape(packed["shape"])


def test_a_curve_keeps_its_ends_and_the_means_of_all_seeds():
    steps, values = np.arange(1000), np.random.default_rng(0).normal(size=(1000, 20))
    made = views.curve("A", steps, values, range(20), steps=100)
    x = unpack(made["x"]).astype(int)
    assert (len(x), x[0], x[-1]) == (100, 0, 999)
    np.testing.assert_allclose(unpack(made["values"]), values[x, :10].T, rtol=1e-6)
    np.testing.assert_allclose(unpack(made["summary"]), mean_and_band(values[x], axis=1), rtol=1e-5)
    assert made["seeds"] == list(range(10))


def test_few_seeds_have_no_band():
    assert unpack(views.curve("A", np.arange(3), np.ones((3, 4)), range(4))["summary"]).shape == (1, 3)
    assert unpack(views.curve("A", np.arange(3), np.ones((3, 5)), range(5))["summary"]).shape == (3, 3)


def test_particles_are_where_they_were_to_a_thousandth_of_the_box_and_those_outside_at_its_edge():
    rng = np.random.default_rng(0)
    target = rng.uniform(-2, 2, (60, 2))
    frames = np.stack([100 + target, target + 0.1, target])
    group = views.moving("knot", {"A": ([0, 5, 9], frames), "B": ([0, 9], frames[1:])}, target)
    assert group["steps"] == [0, 5, 9]
    still, moved = unpack(group["target"]) / 32000, unpack(group["panels"][0]["frames"]) / 32000
    scale = np.ptp(target, axis=0) / np.ptp(still, axis=0)
    np.testing.assert_allclose(still * scale - (still * scale).mean(0), target - target.mean(0), atol=2e-3 * np.abs(target).max())
    np.testing.assert_allclose(moved[2], still, atol=1e-4)
    assert (moved[0] == 1).all()
    assert np.abs(still).max() < 0.9


@pytest.mark.parametrize(("dim", "expected"), [(1, 0.0), (2, 3.0), (5, 3.0)])
def test_points_of_any_dimension_are_shown_in_the_plane(dim, expected):
    (view,) = views.clouds("Codes", {"A": (np.full((4, dim), 3.0), np.arange(4))})
    np.testing.assert_array_equal(unpack(view["panels"][0]["points"]), np.tile([3.0, expected], (4, 1)))
    assert unpack(view["panels"][0]["classes"]).tolist() == [0, 1, 2, 3]


def test_the_largest_figure_stays_small():
    """Eight targets, twelve distances, twenty seeds, as Figure 4 at laptop scale."""
    rng = np.random.default_rng(0)
    steps = max(views.MIN_STEPS, views.MAX_VALUES // 96)
    series = [views.curve(f"{i}", np.arange(400), rng.normal(size=(400, 20)), range(20), steps=steps) for i in range(96)]
    frames = {f"{i}": (range(40), rng.normal(size=(40, 500, 2))) for i in range(views.MAX_MOVING)}
    shown = [*views.curves("Curves", [views.panel("", "x", "y", series)]), *views.particles("P", "step", [views.moving("", frames)])]
    assert len(json.dumps(shown)) < 550_000


def test_nothing_to_show_is_no_view():
    assert views.curves("Curves", [views.panel("", "x", "y", [])]) == []
    assert views.particles("P", "step", []) == views.clouds("Codes", {}) == views.images("Images", {}) == []
