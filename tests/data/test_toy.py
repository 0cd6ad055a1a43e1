"""The eight targets, against what the paper says of them."""

import math

import numpy as np
import pytest
import torch

from aswd.data import data_config
from aswd.data.points import TARGETS, target
from aswd.data.registry import data_module


@pytest.mark.parametrize("name", TARGETS)
def test_target_is_a_function_of_its_seed(name):
    first, again, other = (target(name, 500, seed) for seed in (0, 0, 1))
    assert first.shape == (500, 2)
    assert first.dtype == torch.float32
    assert torch.equal(first, again)
    assert torch.equal(first, other) == (name in ("knot", "heart"))  # curves, without chance
    assert torch.isfinite(first).all()


@pytest.mark.parametrize("name", ["swiss_roll", "heart"])
def test_each_axis_is_scaled_to_one(name):
    assert target(name, 500, 3).abs().amax(0).tolist() == [1.0, 1.0]


def test_targets_as_other_codes_draw_them():
    roll, (mine,) = target("swiss_roll", 500, 3), data_module("swiss_roll")(name="swiss_roll", one_scale=True, seeds=[3]).samples()
    ratio = roll / mine
    torch.testing.assert_close(ratio, ratio[:1].expand(500, 2))
    assert mine.abs().max() == 1
    assert ratio[0, 0] != ratio[0, 1]
    (wide,) = data_module("gaussians_25")(name="gaussians_25", std=0.05, centred=True, num_samples=5000, seeds=[3]).samples()
    assert wide.mean(0).abs().max() < 1e-6
    assert wide.view(25, 200, 2).std(1).mean().item() == pytest.approx(0.05, rel=0.02)


def test_moons_are_scaled_together():
    points = target("moons", 500, 0)
    assert points.abs().max().item() == pytest.approx(1)
    upper = points[points[:, 1] > 0.3]
    radius = 1 / 2  # of a moon: it spans 3 units before it is divided by the largest coordinate, 2
    assert torch.allclose(upper.norm(dim=1), torch.full((len(upper),), radius), atol=1e-6)


def test_circle_is_a_ring():
    radii = target("circle", 500, 0).norm(dim=1)
    assert radii.mean().item() == pytest.approx(1, abs=2e-3)
    assert radii.std().item() == pytest.approx(0.01, rel=0.15)


def test_rectangle_is_uniform():
    points = target("rectangle", 20_000, 0)
    assert points.abs().max() <= 1
    assert torch.allclose(points.var(0), torch.full((2,), 1 / 3), rtol=0.03)


def test_eight_gaussians_are_filled_sixty_at_a_time():
    points = target("gaussians_8", 500, 0).double().numpy()
    angles = np.round(np.degrees(np.arctan2(points[:, 0], points[:, 1])) / 45) % 8
    assert np.bincount(angles.astype(int)).tolist() == [80, 60, 60, 60, 60, 60, 60, 60]
    assert np.abs(np.hypot(*points.T) - math.sqrt(2)).max() < 0.06


def test_twenty_five_gaussians_share_evenly():
    points = target("gaussians_25", 500, 0)
    cells = ((points + math.sqrt(2)) / (math.sqrt(2) / 2)).round().long()
    assert torch.bincount(cells[:, 0] * 5 + cells[:, 1]).tolist() == [20] * 25
    assert len(target("gaussians_25", 90, 0)) == 90


def test_knot_is_the_curve_of_the_paper():
    points, t = target("knot", 500, 0).double().numpy(), 2 * np.pi / 500 * 123
    np.testing.assert_allclose(points[123], [np.sin(np.pi * t) * np.cos(t), np.sin(np.pi * t) * np.sin(t)], atol=1e-6)


def test_more_dimensions_hold_the_target_in_a_plane():
    points = target("heart", 50, 0, dim=4)
    assert torch.equal(points[:, :2], target("heart", 50, 0))
    assert not points[:, 2:].any()


def test_data_module_draws_each_seed_alone():
    for name in TARGETS:
        samples = data_module(name)(name=name, num_samples=40, seeds=[5, 2]).samples()
        assert samples.shape == (2, 40, 2)
        assert torch.equal(samples[1], target(name, 40, 2))


@pytest.mark.parametrize(
    ("options", "word"), [({"num_samples": 3}, "num_samples"), ({"dim": 1}, "dim"), ({"num_samples": 2.5}, "num_samples")]
)
def test_impossible_sizes_are_refused(options, word):
    with pytest.raises(ValueError, match=word):
        data_config("knot")(name="knot", **options)


@pytest.mark.parametrize("count", [8, 60, 100, 480, 500])
def test_eight_gaussians_are_eight_however_few_points_there_are(count):
    points = target("gaussians_8", count, seed=0).numpy()
    centres = np.round(np.degrees(np.arctan2(points[:, 0], points[:, 1])) / 45).astype(int) % 8
    assert set(centres) == set(range(8))
    if count == 500:
        assert np.bincount(centres).tolist() == [80, *[60] * 7]
