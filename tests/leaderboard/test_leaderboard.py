"""The leaderboard through the real command: from runs to tables, resumed after a kill, with a distance from outside."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas
import pytest

from aswd.cli.main import main
from aswd.runs import records
from tests.conftest import own_names

QUIET = ["trainer.enable_progress_bar=false", "trainer.threads=1", "trainer.accelerator=cpu"]
MINE = """
from aswd.distances import register

@register("doubled_swd", about="twice SWD")
def doubled_swd(x, y, directions=None, seed: int = 0):
    \"\"\"Twice a sliced distance along the axes.\"\"\"
    return 2 * ((x.sort(0).values - y.sort(0).values) ** 2).mean().sqrt()
"""


def command(folder, only, *more):
    return [
        "leaderboard",
        "--scale",
        "smoke",
        "--only",
        only,
        "--tasks",
        "plane,color_transfer,estimation",
        f"paths.output_dir={folder}",
        *QUIET,
        *more,
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two distances of ours and one from a file."""
    folder = tmp_path_factory.mktemp("leaderboard")
    (folder / "mine.py").write_text(MINE)
    arguments = command(folder / "outputs", "doubled_swd,swd,ebsw", f"plugins={folder / 'mine.py'}")
    with own_names():
        assert main(arguments) == 0
        yield folder / "outputs", arguments


def test_a_distance_from_outside_has_its_row(made):
    output, _ = made
    (folder,) = (output / "artifacts" / "leaderboard").iterdir()
    ranks = pandas.read_csv(folder / "table.csv")
    overall = ranks[ranks["data"] == "overall"]
    assert set(overall["label"]) == {"doubled_swd", "swd", "ebsw"}
    assert overall["mean"].sum() == pytest.approx(6)  # 1 + 2 + 3
    methods = pandas.read_csv(folder / "methods.csv")
    assert set(methods["task"]) == {"plane", "color_transfer", "estimation"}
    assert (methods["seconds"] > 0).all()
    assert methods.loc[methods["method"] == "swd", "sorts"].iloc[0] == 20
    assert methods.loc[methods["method"] == "doubled_swd", "sorts"].isna().all()  # unknown
    settings = pandas.read_csv(folder / "settings.csv")
    reasons = settings[settings["task"] == "estimation"].set_index("method")["left_out"]
    assert "must estimate SW_2" in reasons["ebsw"]
    assert json.loads((folder / "summary.json").read_text())["changes"]["only"] == ["doubled_swd", "swd", "ebsw"]
    assert len(list(folder.glob("curves_*.png"))) == 3
    assert main(["report", f"paths.output_dir={output}"]) == 0
    assert "Leaderboard: distances on equal terms" in (output / "report" / "index.html").read_text()


def test_tuning_is_recorded_and_the_best_of_the_grid_counts(made):
    output, _ = made
    (folder,) = (output / "artifacts" / "leaderboard").iterdir()
    tuning = pandas.read_csv(folder / "tuning.csv")
    runs = records(output)
    flow = runs[(runs["task"] == "flow") & (runs["data"] == "gaussians_8") & (runs["distance"] == "swd")]
    held_out = flow[flow["seed"] >= 1000].set_index("task.lr")["w2"]
    scores = tuning[(tuning["task"] == "plane") & (tuning["method"] == "swd")].set_index("options")["score"]
    assert dict(scores) == {f"lr={lr:g}": pytest.approx(np.log10(value), rel=1e-3) for lr, value in held_out.items()}
    assert set(flow.loc[flow["seed"] < 1000, "task.lr"]) == {held_out.idxmin()}
    assert tuning.groupby(["task", "method"])["chosen"].sum().eq(1).all()
    finals = pandas.read_csv(folder / "finals.csv").set_index(["task", "method"]).loc[("plane", "swd")]
    counting = flow[flow["seed"] < 1000].set_index("seed")["w2"]
    np.testing.assert_allclose([finals["seed 0"], finals["seed 1"]], counting.sort_index(), rtol=1e-3)
    overview = (folder / "overview.md").read_text().split("## ")
    assert [part.partition("\n")[0].partition(",")[0] for part in overview[1:]] == [
        "Ranks",
        "Final values",
        "Tuned options",
        "Published advantages",
    ]
    _, value, *others = (cell.strip() for cell in re.search(r"\| `swd` (\|.*)\|", overview[2])[1].split("|"))
    assert float(value) == pytest.approx(np.median(counting), rel=0.06)  # two digits of the median on the only setting
    assert len(others) == 2
    assert f"| `swd` | lr={held_out.idxmin():g} |" in overview[3]


def test_nothing_is_run_twice(made, capsys):
    output, arguments = made
    before = {path: path.stat().st_mtime_ns for path in output.glob("runs/**/status.json")}
    assert main(arguments) == 0
    assert {path: path.stat().st_mtime_ns for path in output.glob("runs/**/status.json")} == before
    assert main([*arguments, "--dry-run"]) == 0
    assert "plane: 3 methods, 6 runs to tune and 3 that count, 0 of them missing" in capsys.readouterr().out


@pytest.mark.slow
def test_a_kill_in_the_middle_loses_nothing(tmp_path):
    arguments = [sys.executable, "-m", "aswd", *command(tmp_path, "swd")]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while len(done := list(tmp_path.glob("runs/**/status.json"))) < 4:
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = {path: path.stat().st_mtime_ns for path in done}
    assert main(command(tmp_path, "swd")) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (records(tmp_path)["state"] == "done").all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--only", "swd,ebws"], "--only must name distances; got 'ebws': did you mean ebsw"),
        (["--tasks", "plain"], "--tasks must name tasks of the leaderboard; got 'plain': did you mean plane"),
        (["--scale", "big"], "--scale must be one of smoke, laptop, paper for leaderboard; got 'big'"),
        (["task.lr=1"], "task.lr=1 must be left out: the leaderboard takes options of launcher"),
        (["trainer.treads=1"], "did you mean trainer.threads"),
        (["--reading", "best"], "reading must be one of"),
    ],
)
def test_mistakes_are_one_sentence_before_any_work(arguments, sentence, tmp_path, capsys):
    assert main(["leaderboard", *arguments, f"paths.output_dir={tmp_path}"]) == 2
    message = capsys.readouterr().err
    assert sentence in message
    assert message.count("\n") == 1
    assert not any(tmp_path.iterdir())
