"""The protocol that the artifact declares: equal grids, disjoint seeds, mistakes in one sentence."""

from dataclasses import replace

import numpy as np
import pytest

from aswd.artifacts.declaration import load
from aswd.distances import available, options
from aswd.leaderboard.planning import Choice
from aswd.leaderboard.protocol import Point, protocol
from aswd.utils.errors import UserError

ARTIFACT = load("leaderboard")


@pytest.mark.parametrize("scale", ARTIFACT.scales)
def test_all_methods_have_as_many_points_and_other_seeds_than_those_that_count(scale):
    made = protocol(ARTIFACT, scale)
    assert {method.distance for method in made.methods} == set(available())
    for discipline in made.disciplines:
        counts = {len(set(made.points(discipline, method))) for method in made.methods}
        assert counts == ({len(made.grid)} if discipline.tuned_on else {1})
        assert bool(discipline.tuned_on) == any(setting.tunes for setting in made.settings[discipline.name])
    assert not set(made.seeds) & set(made.tuning_seeds)
    assert scale == "smoke" or len(made.seeds) >= 20


def test_what_is_tuned_is_an_option_of_the_distance_and_has_its_points_over_the_whole_range():
    for distance, given in ARTIFACT.options["tuned"].items():
        assert set(given) <= set(options(distance))
    made = protocol(ARTIFACT, "laptop", ["swd", "ebsw"])
    plane = made.disciplines[0]
    assert [point.lr for point in made.points(plane, made.methods[0])] == list(made.grid)
    points = made.points(plane, made.methods[1])
    assert {(point.lr, point.value) for point in points} == {(lr, value) for lr in made.grid[::2] for value in ("sum", "mean")}
    assert str(points[0]) == "lr=0.005 distance.energy_scale=sum"


def test_the_sizes_of_the_issue():
    made = protocol(ARTIFACT, "laptop")
    assert [len(made.settings[name]) for name in ("plane", "space", "color_transfer")] == [8, 10, 3]
    assert {method.label for method in made.methods} >= {"swd", "swd1", "ebsw p=1", "aswd p=1", "db_tsw p=2"}


def test_a_choice_is_the_point_of_the_smallest_score():
    points = [Point(lr) for lr in (0.1, 0.2, 0.3, 0.4)]
    assert Choice(dict(zip(points, (np.nan, -1.0, -2.0, np.inf), strict=True))).point.lr == 0.3
    assert Choice(dict.fromkeys(points, np.nan)).point.lr == 0.1


@pytest.mark.parametrize(
    ("only", "sentence"),
    [(["swdd"], "--only must name distances; got 'swdd': did you mean swd"), (["ebsw p=3"], "did you mean ebsw")],
)
def test_unknown_distances(only, sentence):
    with pytest.raises(UserError, match="--only") as caught:
        protocol(ARTIFACT, "smoke", only)
    assert sentence in str(caught.value)


def changed(**options):
    return replace(ARTIFACT, options={**ARTIFACT.options, **options})


@pytest.mark.parametrize(
    ("artifact", "sentence"),
    [
        (changed(tuned={"ebsw": {"temperature": [1, 2, 3, 4]}}), "must be one option with values whose number divides 6"),
        (changed(tuned={"ebsw": {"temperature": [1, 2], "energy": ["a", "b"]}}), "must be one option"),
        (changed(tuning_seeds={"first": 10, "laptop": 2}), "tuning_seeds.first must be at least 20"),
        (changed(tasks={}), "data must name tasks of options.tasks; got 'plane'"),
        (changed(tasks={"plane": {"tusk": "flow"}}), "options.tasks.plane.tusk is not an option: did you mean task"),
        (
            changed(tasks={"plane": {**ARTIFACT.options["tasks"]["plane"], "tuned_on": ["nut"]}}),
            "tuned_on must name its settings; got 'nut'",
        ),
    ],
)
def test_mistakes_in_the_file(artifact, sentence):
    with pytest.raises(UserError) as caught:
        protocol(artifact, "laptop")
    assert sentence in str(caught.value)
