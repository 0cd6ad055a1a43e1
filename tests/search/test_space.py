"""What a search may be asked to look at."""

import pytest

from aswd.cli.main import main
from aswd.search.space import parse
from aswd.utils.errors import UserError


@pytest.mark.parametrize(
    ("text", "kind", "extremes"),
    [
        ("distance.penalty=log(0.01,1)", "log", ("0.01", "1")),
        ("distance.lr=log(1e-4, 1e-1)", "log", ("0.0001", "0.1")),
        ("task.lr=linear(0.001,0.1)", "linear", ("0.001", "0.1")),
        ("distance.steps=int(0,20)", "int", ("0", "20")),
        ("distance.num_projections=intlog(10,1000)", "intlog", ("10", "1000")),
        ("distance.num_projections=10,100,1000", "choice", ("10", "100", "1000")),
        ("distance=swd,aswd", "choice", ("swd", "aswd")),
    ],
)
def test_axes_are_read(text, kind, extremes):
    axis = parse(text)
    assert axis.kind == kind
    assert tuple(axis.extremes) == extremes


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("distance.penalty", "must be OPTION="),
        ("distance.penalty=", "must be OPTION="),
        ("distance.penalty=0.1", "at least two different values"),
        ("distance.penalty=log(1,0.1)", "a lower end below its upper one"),
        ("distance.penalty=log(0,1)", "ends above 0"),
        ("distance.penalty=log(a,b)", "numbers as its ends"),
        ("distance.penalty=log(0.1,1,2)", "of at least two different values"),
        ("distance.penalty=exp(0.1,1)", "log(LOW,HIGH)"),
        ("distance.steps=int(0.5,3)", "whole numbers"),
    ],
)
def test_axes_that_make_no_sense_are_a_sentence(text, why):
    with pytest.raises(UserError) as error:
        parse(text)
    assert why in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "--over OPTION=VALUES must say"),
        (["--over", "distance.penlty=log(0.1,1)"], "distance.penlty is not an option"),
        (["--over", "distance.num_projections=10,ten"], "num_projections must be"),
        (["--over", "distance.penalty=linear(-1,1)"], "distance.penalty must be"),
        (["--over", "distance.penalty=0.1,1", "distance.penalty=2"], "distance.penalty must be given once"),
        (["--over", "trainer.threads=1,2"], "changes the numbers of a run"),
        (["--over", "distance.penalty=0.1,1", "replicas=3"], "--seeds is the number of seeds per trial"),
    ],
)
def test_mistakes_end_before_any_work(arguments, why, tmp_path, capsys):
    assert main(["search", "distance=aswd", *arguments, f"paths.output_dir={tmp_path}"]) == 2
    said = capsys.readouterr().err
    assert why in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())
