"""``aswd compare`` on a small store."""

import re

import numpy as np
import pandas
import pytest

from aswd.cli.main import main
from aswd.runs import records

TINY = ["task.iterations=4", "data.num_samples=20", "trainer.enable_progress_bar=false", "replicas=6"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """SWD, and ASWD with two lambdas, on two targets."""
    folder = tmp_path_factory.mktemp("store")
    common = ["train", "-m", "data=knot,heart", "distance.num_projections=5", *TINY, f"paths.output_dir={folder}"]
    assert main([*common, "distance=swd"]) == 0
    assert main([*common, "distance=aswd", "distance.penalty=0.1,0.5"]) == 0
    return folder


def run(store, capsys, *arguments):
    """The exit code, what is printed, and the table."""
    code = main(["compare", *arguments, f"paths.output_dir={store}"])
    said = capsys.readouterr()
    if code:
        return code, said.err, None
    folder = said.out.splitlines()[-1].removeprefix("figure.png and table.csv in: ")
    frame = pandas.read_csv(f"{folder}/table.csv", keep_default_na=False, na_values=[""])
    for name in ("figure.png", "figure.pdf", "table.md"):
        assert (store.__class__(folder) / name).stat().st_size > 100
    return code, said.out, frame


def test_runs_by_configuration_with_the_options_that_differ(store, capsys):
    code, out, frame = run(store, capsys)
    assert code == 0
    assert frame["runs"].tolist() == ["aswd penalty=0.1", "aswd penalty=0.5", "swd"] * 2
    assert frame["data"].tolist() == ["heart"] * 3 + ["knot"] * 3
    known = records(store)
    values = known[(known["data"] == "knot") & (known["distance"] == "swd")]["log10_w2"]
    row = frame[(frame["data"] == "knot") & (frame["runs"] == "swd")].iloc[0]
    assert row["n"] == 6
    assert (row["mean"], row["median"]) == pytest.approx((values.mean(), values.median()))
    half = 2.5706 * values.std(ddof=1) / np.sqrt(6)  # t of five degrees of freedom
    assert (row["low"], row["high"]) == pytest.approx((values.mean() - half, values.mean() + half), rel=1e-4)
    assert "aswd penalty=0.5" in out


def test_filters_and_metrics(store, capsys):
    _, _, frame = run(store, capsys, "data=knot", "distance.penalty=0.5,7", "--metric", "learned_norm")
    assert (frame["runs"].tolist(), frame["n"].tolist()) == (["aswd"], [6])
    assert frame["mean"].iloc[0] == pytest.approx(records(store).query("data == 'knot' & `distance.penalty` == 0.5")["learned_norm"].mean())


def test_published_values_beside_ours_cell_by_cell(store, capsys):
    _, _, frame = run(store, capsys, "--published", "flow_full")
    assert frame.groupby(["data", "series"]).ngroups == 96
    linear = frame[(frame["data"] == "knot") & (frame["series"] == "Linear")].iloc[0]
    assert (linear["published"], linear["n"], linear["runs"]) == (-3.95, 6, "swd")
    assert linear["difference"] == pytest.approx(linear["mean"] + 3.95)
    ours = frame[(frame["data"] == "heart") & (frame["series"] == "ASWD")]
    assert ours["runs"].tolist() == ["aswd penalty=0.1", "aswd penalty=0.5"]
    assert (frame[frame["series"] == "Circular"]["n"] == 0).all()
    _, _, frame = run(store, capsys, "--published", "ablation_lambda")
    assert "ASWD lambda=0.1" not in set(frame["series"])  # of which nothing is published
    assert frame.groupby(["data", "series"]).ngroups == 88


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["data=knots"], "there are no finished runs in .* with data=knots: aswd list runs"),
        (["dat=knot"], "dat is not a column of the runs: did you mean data"),
        (["--metric", "w3"], "--metric must be a number that the runs have; got 'w3': did you mean w2"),
        (["--published", "flow_ful"], "there is no artifact 'flow_ful': did you mean flow_full"),
        (["--published", "barycenter"], "there are no finished runs in .* with task=barycenter"),
        (["--published", "flow_full", "--metric", "learned_norm"], "--published must be an artifact with published values of learned_norm"),
        (["distance=aswd", "--published", "ablation_lambda"], "no run has the data and the series of a value that is published in"),
        (["knot"], "unknown argument knot"),
    ],
)
def test_mistakes_are_sentences(arguments, sentence, store, capsys):
    code, err, _ = run(store, capsys, *arguments)
    assert code == 2
    assert len(err.splitlines()) == 1
    assert re.search(sentence, err)
