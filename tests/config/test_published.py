"""What papers and codes say: rules in files, composed by Hydra, under the user's overrides."""

import pytest

from aswd.config import config_dir
from aswd.config.composition import CommandLine, plan_runs
from aswd.config.published import load_rules, published_distance, published_task
from aswd.distances import available, options
from aswd.utils.errors import UserError


def run(*overrides):
    (config,) = plan_runs(CommandLine(list(overrides)))
    return config


def test_readings_of_the_aswd_in_the_flow():
    runs = plan_runs(CommandLine(["distance=aswd", "reading=reference,paper,algorithm1"], multirun=True))
    assert [config.distance["penalty"] for config in runs] == [0.05, 0.1, 0.1]
    assert [config.distance["penalty_relative"] for config in runs] == [True, False, False]
    assert [config.distance["activation"] for config in runs] == ["none", "relu", "relu"]
    assert [config.distance["penalty_form"] for config in runs] == ["mean_norm", "moment", "algorithm1"]
    assert len({config.key for config in runs}) == 3


@pytest.mark.parametrize(
    ("overrides", "section", "option", "value"),
    [
        # FACTS of the paper and of the released codes, not of our files.
        (["task=gan", "data=cifar10"], "task", "epochs", 200),
        (["task=gan", "data=celeba"], "task", "epochs", 100),
        (["task=gan", "data=celeba"], "task", "evaluate_epochs", 5),
        (["task=gan", "data=cifar10"], "task", "latent_dim", 32),
        (["task=gan", "data=cifar10", "reading=paper"], "task", "latent_dim", 100),
        (["task=gan", "distance=aswd"], "distance", "penalty", 0.5),
        (["task=gan", "distance=aswd", "reading=paper"], "distance", "penalty", 1.01),
        (["task=gan", "distance=gswd_circular"], "distance", "radius", 1000.0),
        (["task=gan", "distance=dswd"], "distance", "lr", 0.0005),
        (["task=gan", "distance=max_swd"], "distance", "lr", 0.0001),
        (["task=flow", "distance=gswd_circular"], "distance", "radius", 1.0),
        (["task=flow", "distance=aswd"], "distance", "steps", 10),
        (["task=generator", "distance=dswd"], "distance", "penalty", 1.0),
        (["task=generator", "distance=aswd"], "distance", "steps", 10),
        (["task=swae", "distance=swd"], "task", "distance_weight", 10.0),
        (["task=swae", "distance=swd", "reading=paper"], "task", "squared", False),
        (["task=swae", "distance=swd"], "distance", "num_projections", 50),
        (["task=color_transfer", "distance=max_swd"], "distance", "warm_start", True),
    ],
)
def test_values_are_those_of_the_papers(overrides, section, option, value):
    config = run(*overrides)
    assert (config.distance[option] if section == "distance" else getattr(config.task, option)) == value


@pytest.mark.parametrize(
    ("task", "reading", "name", "expected"),
    [
        ("flow", "reference", "aswd", {"penalty": 0.05, "penalty_relative": True}),
        ("flow", "paper", "aswd", {}),
        ("flow", "reference", "dswd", {}),
        ("flow", "reference", "aswd_radial", {"penalty": 0.05, "penalty_relative": True, "layers": 1, "lr": 0.0005}),
        ("flow", "paper", "aswd_planar", {"layers": 1, "lr": 0.0005}),
        ("barycenter", "reference", "aswd", {"penalty": 0.1, "penalty_relative": True, "objective": "mean", "num_projections": 100}),
        ("barycenter", "paper", "swd", {"num_projections": 100}),
        ("barycenter", "reference", "max_swd", {}),
        ("barycenter", "reference", "wasserstein", {}),
    ],
)
def test_what_a_task_sets_for_its_distance(task, reading, name, expected):
    assert published_distance(load_rules(config_dir() / "published" / f"{task}.yaml"), reading, name) == expected


def test_every_distance_is_a_choice_with_its_options():
    for name in available():
        task = "color_transfer" if name in ("qsw_spiral", "qsw_equal_area") else "flow"  # point sets in three dimensions
        config = run(f"distance={name}", f"task={task}")
        assert set(config.distance) == set(options(name))


def test_the_user_wins_over_what_is_published():
    config = run("task=gan", "data=celeba", "distance=aswd", "task.epochs=3", "distance.penalty=0.7")
    assert (config.task.epochs, config.distance["penalty"]) == (3, 0.7)


RULES = """
- {having: [radius], set: {distance: {radius: 7.0}}}
- {reading: [paper], distance: ["aswd*"], set: {distance: {penalty: 0.3}}}
- {data: [knot], set: {task: {lr: 0.5}}}
- {reading: [paper], set: {task: {iterations: 9}}}
"""


def test_rules_apply_where_their_conditions_hold(tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES)
    rules = load_rules(tmp_path / "rules.yaml")
    assert published_distance(rules, "reference", "gswd_circular") == {"radius": 7.0}
    assert published_distance(rules, "reference", "aswd_planar") == {}
    assert published_distance(rules, "paper", "aswd_planar") == {"penalty": 0.3}
    assert published_task(rules, "reference", "knot") == {"lr": 0.5}
    assert published_task(rules, "paper", "knot") == {"lr": 0.5, "iterations": 9}
    assert published_task(rules, "paper", "heart") == {"iterations": 9}


@pytest.mark.parametrize(
    "rule", ["- {redding: [paper], set: {task: {lr: 1}}}", "- {reading: [paper]}", "- {data: [knot], set: {distance: {order: 1}}}", "- ["]
)
def test_a_rule_that_is_not_understood_is_named(rule, tmp_path):
    (tmp_path / "rules.yaml").write_text(rule)
    with pytest.raises(UserError, match=r"rules\.yaml"):
        load_rules(tmp_path / "rules.yaml")
