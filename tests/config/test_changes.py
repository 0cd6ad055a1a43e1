"""Names that tell runs apart."""

from aswd.config.changes import changed_options, differing_options, options_text, titles
from aswd.config.composition import CommandLine, plan_runs


def runs(*overrides):
    return plan_runs(CommandLine(list(overrides), multirun=True))


def test_what_differs_from_the_defaults_of_the_names_is_shown():
    default, weak = runs("distance=aswd", "distance.penalty=0.05,0.1")
    assert changed_options(default) == {}
    assert changed_options(weak) == {"distance.penalty": 0.1}
    assert options_text(changed_options(weak)) == "penalty=0.1"


def test_titles_of_a_sweep_have_the_options_in_which_its_runs_differ():
    sweep = runs("data=knot", "distance=swd,aswd", "task.lr=0.01,0.02", "seed=0,1")
    names = titles(sweep)
    assert names[:4] == ["flow knot swd lr=0.01"] * 1 + ["flow knot swd lr=0.01"] + ["flow knot swd lr=0.02"] * 2
    assert len(set(names)) == 4
    assert titles(runs("distance=swd,aswd")) == ["flow swiss_roll swd", "flow swiss_roll aswd"]


def test_options_of_the_same_name_keep_their_section():
    both = differing_options([{"task": {"lr": 1.0, "name": "a"}, "distance": {"lr": 0.1}}, {"task": {"lr": 2.0}, "distance": {"lr": 0.2}}])
    assert both == [{"task.lr": 1.0, "distance.lr": 0.1}, {"task.lr": 2.0, "distance.lr": 0.2}]
    assert options_text(both[0]) == "task.lr=1 distance.lr=0.1"
