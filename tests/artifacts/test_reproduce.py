"""Artifacts through the real commands."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from matplotlib.figure import Figure

from aswd.artifacts.claims import OPEN
from aswd.artifacts.declaration import artifact_names, artifacts, load
from aswd.artifacts.drawing.curves import curve
from aswd.artifacts.forecast import amount
from aswd.artifacts.reproduction import Reproduction, judgement
from aswd.cli.main import main
from aswd.runs.locks import Locks
from aswd.runs.store import RECORD_FILES
from aswd.tasks.flow import Flow
from aswd.utils.files import digests, write_json

TINY = ["task.iterations=4", "data.num_samples=25", "trainer.enable_progress_bar=false"]


def reproduce(folder, name, *arguments):
    return main(["reproduce", name, "--scale", "smoke", f"paths.output_dir={folder}", *arguments, *TINY])


FLOWS = [artifact.name for artifact in artifacts() if artifact.task == "flow"]
# Those of one line are drawn from the same runs, or nearly.
OTHERS = [
    ("table1", "fid_curves", "gan_samples"),
    ("mnist_curves", "mnist_samples", "mnist_cost"),
    ("swae_curves", "swae_latent", "swae_samples"),
    ("color_transfer",),
    ("barycenter",),
    ("cost_scaling",),
]


def test_all_artifacts_are_tried_here():
    assert {*FLOWS, *(name for names in OTHERS for name in names), "projections", "leaderboard"} == set(artifact_names())


@pytest.mark.slow
@pytest.mark.parametrize("names", OTHERS, ids=lambda names: names[0])
def test_artifacts_of_other_tasks_run_at_smoke_scale(names, tmp_path, capsys, monkeypatch):
    from aswd.artifacts.drawing import scaling

    monkeypatch.setattr(scaling, "DIM", 20)
    for name in names:
        artifact = load(name)
        quiet = ["trainer.enable_progress_bar=false", "trainer.threads=1", "trainer.accelerator=cpu"] if artifact.task != "none" else []
        command = ["reproduce", name, "--scale", "smoke", f"paths.output_dir={tmp_path}", *quiet]
        assert main(command) == 0, capsys.readouterr().err
        folder = tmp_path / "artifacts" / name / "reference-smoke"
        frame = pandas.read_csv(folder / "table.csv")
        taken = frame[frame["metric"] != "fid"]  # which is left out at this scale
        assert (taken["n"] == artifact.scale("smoke").seeds).all()
        assert taken["mean"].notna().all()
        assert (folder / "figure.png").stat().st_size > 10_000
        summary = json.loads((folder / "summary.json").read_text())
        assert [verdict["claim"] for verdict in summary["verdicts"]] == list(artifact.claims)
        assert r"\toprule" in (folder / "table.tex").read_text()
    assert main(["report", f"paths.output_dir={tmp_path}"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOWS)
def test_every_artifact_of_the_flow_runs_at_smoke_scale(name, tmp_path, capsys):
    assert reproduce(tmp_path, name) == 0
    (folder,) = (tmp_path / "artifacts" / name).iterdir()
    assert folder.name.startswith("reference-smoke-")  # with a mark: the overrides make another artifact of it
    artifact = load(name)
    frame = pandas.read_csv(folder / "table.csv")
    frame = frame[frame["metric"] == artifact.metric]
    assert len(frame) == len(artifact.scale("smoke").data or artifact.data) * len(artifact.series)
    assert (frame["n"] == 2).all()
    assert {"figure.png", "figure.pdf", "curves.csv", "table.md", "table.tex", "summary.json"} <= {path.name for path in folder.iterdir()}
    summary = json.loads((folder / "summary.json").read_text())
    assert [verdict["claim"] for verdict in summary["verdicts"]] == list(artifact.claims)
    capsys.readouterr()
    assert reproduce(tmp_path, name) == 0
    assert f"{len(frame)} of {len(frame)} cells are done; 0 to run" in capsys.readouterr().out


@pytest.mark.slow
def test_all_goes_on_past_what_cannot_be_made_and_ends_with_the_report(tmp_path, monkeypatch, capsys):
    from aswd.artifacts import reproduce_all
    from aswd.artifacts.drawing import projections

    monkeypatch.setattr(projections, "CALLS", 10)
    few = [load("projections"), replace(load("table1"), name="no_such"), load("ablation_large_lambda")]
    monkeypatch.setattr(reproduce_all, "artifacts", lambda config_dirs: few)
    command = [
        "reproduce",
        "all",
        "--scale",
        "smoke",
        f"paths.output_dir={tmp_path}",
        "trainer.max_steps=3",
        "trainer.enable_progress_bar=false",
    ]
    assert main(command) == 1
    said = capsys.readouterr()
    assert "2 of 3 artifacts were reproduced" in said.out
    assert "no_such could not be reproduced" in said.err
    assert {folder.name for folder in (tmp_path / "artifacts").iterdir()} == {"projections", "ablation_large_lambda"}
    assert (tmp_path / "report" / "index.html").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["task.iterations=3"],
            "task.iterations=3 must be left out: all takes options of launcher, logger, trainer, paths, plugins, force only",
        ),
        (["launcher=poool"], "launcher has no choice 'poool': did you mean pool?"),
        (["--scale", "smok"], "--scale must be one of smoke, laptop, paper"),
    ],
)
def test_a_mistake_in_all_is_told_once_and_before_anything_is_run(arguments, sentence, tmp_path, capsys):
    assert main(["reproduce", "all", f"paths.output_dir={tmp_path}", *arguments]) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_first_figure_is_measured_on_the_distances(tmp_path, monkeypatch, capsys):
    from aswd.artifacts.drawing import projections

    monkeypatch.setattr(projections, "CALLS", 10)
    assert main(["reproduce", "projections", "--scale", "smoke", f"paths.output_dir={tmp_path}"]) == 0
    frame = pandas.read_csv(tmp_path / "artifacts/projections/reference-smoke/curves.csv")
    assert len(frame) == 2 * 2 * 100
    swd = frame[frame["label"] == "SWD"]
    # Two unit Gaussians a shift m apart: along theta W2 is abs <m, theta>, of which the mean square is norm(m)^2 / d, and a little noise.
    assert (swd["distance"] ** 2).mean() == pytest.approx(projections.SHIFT**2 / 100, rel=0.35)
    assert (swd["separation"] / swd["distance"]).mean() == pytest.approx(1, rel=0.05)
    assert main(["report", f"paths.output_dir={tmp_path}"]) == 0
    assert main(["reproduce", "projections", f"paths.output_dir={tmp_path}", "task.lr=1"]) == 2
    assert "has no runs that it could change" in capsys.readouterr().err


def test_failures_are_passed_over_and_shown_and_the_next_start_completes(tmp_path, capsys, monkeypatch):
    real = Flow.validation_step

    def validation_step(self, *batch):
        if self.distance.name == "dswd":
            raise RuntimeError("a cosmic ray")
        return real(self, *batch)

    with monkeypatch.context() as patch:
        patch.setattr(Flow, "validation_step", validation_step)
        assert reproduce(tmp_path, "flow_main") == 1
    assert "RuntimeError: a cosmic ray" in capsys.readouterr().err
    (folder,) = (tmp_path / "artifacts/flow_main").iterdir()
    frame = pandas.read_csv(folder / "table.csv").set_index("label")
    assert frame.loc["DSWD", "n"].tolist() == [0] * 4
    assert frame.loc["ASWD", "n"].tolist() == [2] * 4
    assert "failed" in (folder / "table.md").read_text()
    assert reproduce(tmp_path, "flow_main") == 0
    assert "20 of 24 cells are done; 4 to run" in capsys.readouterr().out


def test_runs_of_another_version_and_of_a_half_finished_sweep_are_named_and_kept(tmp_path, capsys):
    assert reproduce(tmp_path, "ablation_max_gswnn_penalty") == 0
    (old,) = (tmp_path / "runs/flow/knot/aswd").glob("*/seed=0/result.json")
    content = json.loads(old.read_text())
    del content["final"]["log10_w2"]
    write_json(old, content)
    reseal(old.parent)
    (elsewhere,) = (tmp_path / "runs/flow/heart/aswd").glob("*/seed=1")
    (elsewhere / "status.json").unlink()
    capsys.readouterr()
    locks = Locks()
    assert locks.acquire(elsewhere / "lock")  # another process runs it
    try:
        assert reproduce(tmp_path, "ablation_max_gswnn_penalty") == 3
    finally:
        locks.release()
    err = capsys.readouterr().err
    assert "1 runs have no log10_w2 and are left out" in err
    assert "drawn with 47 of 48 runs" in err
    assert json.loads(old.read_text()) == content


def reseal(folder):
    """Make what was changed in a record part of it."""
    write_json(folder / "status.json", {"status": "done", "digests": digests(folder, RECORD_FILES)})


def test_damaged_records_are_named_left_out_and_said_in_table_figure_and_report(tmp_path, capsys, monkeypatch):
    """Another process holds their locks, so that they are not executed again."""
    assert reproduce(tmp_path, "ablation_max_gswnn_penalty", "replicas=3") == 0
    (edited,) = (tmp_path / "runs/flow/knot/aswd").glob("*/seed=0")
    content = json.loads((edited / "result.json").read_text())
    content["final"]["log10_w2"] = -99.0
    write_json(edited / "result.json", content)
    (emptied,) = (tmp_path / "runs/flow/heart/aswd").glob("*/seed=1")
    (emptied / "metrics.csv").write_text("")
    assert main(["list", "runs", "--failed", f"paths.output_dir={tmp_path}"]) == 0
    out = capsys.readouterr().out
    assert "result.json has changed since it was written" in out
    assert "metrics.csv has changed since it was written" in out
    drawn = []
    monkeypatch.setattr(Figure, "suptitle", lambda figure, text: drawn.append(text))
    locks = Locks()
    assert all(locks.acquire(folder / "lock") for folder in (edited, emptied))
    try:
        assert reproduce(tmp_path, "ablation_max_gswnn_penalty", "replicas=3") == 3
    finally:
        locks.release()
    err = capsys.readouterr().err
    assert f"{edited} is damaged (result.json has changed since it was written) and left out" in err
    assert f"{emptied} is damaged (metrics.csv has changed since it was written) and left out" in err
    (folder,) = (tmp_path / "artifacts/ablation_max_gswnn_penalty").iterdir()
    frame = pandas.read_csv(folder / "table.csv").set_index(["data", "label"])
    assert frame.loc[("knot", "ASWD"), ["n", "of", "damaged"]].tolist() == [2, 3, 1]
    assert frame["mean"].min() > -9
    assert "(n=2 of 3, 1 damaged)" in (folder / "table.md").read_text()
    assert "n = 70 of 72; 2 damaged records left out" in (folder / "table.md").read_text()
    assert drawn[-1].endswith("n = 70 of 72; 2 damaged records left out")
    assert main(["report", f"paths.output_dir={tmp_path}"]) == 0
    assert "2 of 3, 1 damaged" in (tmp_path / "report" / "index.html").read_text()
    assert reproduce(tmp_path, "ablation_max_gswnn_penalty", "replicas=3") == 0  # which executes them again
    assert "22 of 24 cells are done; 2 to run" in capsys.readouterr().out


def test_a_scale_that_cannot_judge_does_not_and_the_report_says_so(tmp_path, capsys):
    for replicas, why in ((2, "the scale smoke checks that everything runs"), (6, "the scale smoke checks that everything runs")):
        assert reproduce(tmp_path, "ablation_large_lambda", f"replicas={replicas}") == 0
        (summary,) = (json.loads(path.read_text()) for path in (tmp_path / "artifacts").glob("ablation_large_lambda/*/summary.json"))
        assert {verdict["verdict"] for verdict in summary["verdicts"]} == {"no verdict"}
        assert all(verdict["numbers"].startswith(why) for verdict in summary["verdicts"])
    assert main(["report", f"paths.output_dir={tmp_path}"]) == 0
    text = (tmp_path / "report" / "index.html").read_text()
    assert 'class="verdict no-verdict">no verdict</td>' in text
    assert "never on fewer than 5 seeds" in text
    assert not {"holds", "does-not-hold", "not-decided"} & set(re.findall(r'class="verdict ([^"]*)"', text))
    four = Reproduction(load("flow_main"), "laptop", "reference", ["replicas=4", f"paths.output_dir={tmp_path}"]).cells
    verdicts, _ = judgement(load("flow_main"), "laptop", four)
    assert {verdict.numbers for verdict in verdicts} == {"4 seeds; claims are judged on at least 5"}
    five = Reproduction(load("flow_main"), "laptop", "reference", [f"paths.output_dir={tmp_path}"]).cells
    assert {verdict.verdict for verdict in judgement(load("flow_main"), "laptop", five)[0]} == {OPEN}
    assert all(not artifact.scale("smoke").judges for artifact in artifacts())
    demo = Reproduction(load("flow_main"), "demo", "reference", [f"paths.output_dir={tmp_path}"]).cells
    numbers = {verdict.claim: (verdict.verdict, verdict.numbers) for verdict in judgement(load("flow_main"), "demo", demo)[0]}
    assert numbers["F0"] == ("no verdict", "the scale demo judges F2 only")
    assert numbers["F2"][0] == OPEN


def test_few_seeds_are_drawn_as_lines_and_five_as_a_band():
    steps = np.arange(4)
    for count in (4, 5):
        values = np.random.default_rng(0).random((4, count))
        cell = SimpleNamespace(label="ASWD", curves=lambda metric, values=values: (steps, values))
        axes = Figure().subplots()
        assert list(curve(axes, cell, "w2", 0)) == ["ASWD"]
        drawn = [line.get_ydata() for line in axes.lines]
        expected = list(values.T) if count == 4 else [values.mean(1)]
        np.testing.assert_allclose(drawn, expected)
        assert len(axes.collections) == (count == 5)


def test_seeds_that_make_no_batch_are_started_one_by_one_and_force_means_all(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr("aswd.artifacts.reproduce.launch", lambda specs, *_: started.append([spec.seeds for spec in specs]))
    where = ["--scale", "smoke", f"paths.output_dir={tmp_path}"]
    for name in ("table1", "flow_main"):
        assert main(["reproduce", name, *where]) == 1
    assert started == [[(0,), (1,)] * 12, [(0, 1)] * 24]
    assert main(["reproduce", "flow_main", *where, "launcher=slurm", "launcher.wait=false"]) == 0  # asked only to submit
    monkeypatch.setattr("aswd.artifacts.cells.Cell.done", property(lambda cell: list(cell.config.seeds)))
    monkeypatch.setattr("aswd.artifacts.tables.table", lambda *_: pandas.DataFrame({"n": [0]}))
    started.clear()
    for options in ([], ["force=true"]):
        assert main(["reproduce", "flow_main", *where, *options]) == 1
    assert started == [[], [(0, 1)] * 24]


def test_dry_run_measures_steps_where_nothing_is_known(tmp_path, capsys):
    assert reproduce(tmp_path, "ablation_max_gswnn_penalty", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "48 runs are missing" in out
    assert re.search(r"about \d+ s of one core, by steps that were measured for this estimate", out)
    assert "unknown" not in out
    assert not (tmp_path / "runs").exists()


def test_dry_run_runs_nothing_and_estimates_from_the_store(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("aswd.artifacts.forecast._short_run", lambda config: None)
    assert main(["train", "distance=aswd", "data=knot", "distance.num_projections=20", f"paths.output_dir={tmp_path}", *TINY]) == 0
    capsys.readouterr()
    assert reproduce(tmp_path, "ablation_max_gswnn_penalty", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "48 runs are missing" in out
    assert "unknown: the time of 16 cells without similar runs in the store" in out
    (result,) = (json.loads(path.read_text()) for path in tmp_path.rglob("result.json"))
    seconds = 16 * result["wall_time"]  # eight cells of two seeds
    assert f"about {seconds:.0f} s of {result['device']}, by similar runs in the store" in out
    assert main(["reproduce", "ablation_max_gswnn_penalty", "--scale", "laptop", "--dry-run", f"paths.output_dir={tmp_path}"]) == 0
    out = capsys.readouterr().out
    seconds = 8 * 20 * result["wall_time"] * 2000 / 4 * 500 / 25 * 100 / 20  # by iterations, samples and directions
    assert f"about {amount(seconds)} of {result['device']}, by runs in the store with other numbers of directions or samples" in out


def test_a_part_of_an_artifact_is_run_and_all_that_is_done_is_drawn(tmp_path, capsys):
    def run(*arguments):
        code = reproduce(tmp_path, "ablation_max_gswnn_penalty", *arguments)
        return code, capsys.readouterr().out

    code, out = run("--only", "ASWD,knot,moons", "--dry-run")
    assert (code, "4 runs are missing" in out) == (0, True)  # two targets, two seeds
    code, out = run("--only", "ASWD, knot")
    assert (code, "0 of 1 cells are done; 1 to run" in out) == (0, True)
    code, out = run("--only", "knot")
    assert (code, "1 of 3 cells are done; 2 to run" in out) == (0, True)
    assert len(list((tmp_path / "runs").rglob("result.json"))) == 6
    (file,) = tmp_path.rglob("table.csv")
    frame = pandas.read_csv(file)
    assert set(frame[frame["n"] > 0]["data"]) == {"knot"}
    assert set(frame["label"]) == {"ASWD", "MAX-GSW-NN 1", "MAX-GSW-NN 1 with penalty"}


def test_an_estimate_of_table_1_is_in_gpu_hours_and_not_of_a_smoke_run(tmp_path, capsys):
    assert main(["reproduce", "table1", "--scale", "paper", "--dry-run", f"paths.output_dir={tmp_path}"]) == 0
    out = capsys.readouterr().out
    published = load("table1").published
    steps = {"cifar10": 200 * (50_000 // 512), "celeba": 100 * (162_770 // 512)}
    hours = sum(10 * steps[data] * cell["seconds_per_iteration"] / 3600 for data, cells in published.items() for cell in cells.values())
    assert 1000 < hours < 2000
    assert "240 runs are missing" in out
    assert f"about {hours:,.0f} GPU-hours, by the published seconds per iteration" in out
    assert "0 minutes" not in out
    assert main(["reproduce", "mnist_curves", "--scale", "paper", "--dry-run", f"paths.output_dir={tmp_path}"]) == 0
    out = capsys.readouterr().out
    assert "about" not in out
    assert "unknown: the time of 8 cells" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["reproduce", "flow_man"], "aswd reproduce: there is no artifact 'flow_man': did you mean flow_main"),
        (["reproduce", "flow_main", "--scale", "huge"], "aswd reproduce: --scale must be one of smoke, laptop, paper"),
        (
            ["reproduce", "flow_main", "--only", "ASWD,knut"],
            "aswd reproduce: --only must name series or data sets of flow_main; got 'knut'",
        ),
        (["reproduce", "projections", "--only", "ASWD"], "aswd reproduce: --only must be left out: projections has no runs to choose"),
        (["reproduce", "all", "--only", "ASWD"], "aswd reproduce: --only must be left out with all"),
        (["reproduce", "flow_main", "--reading", "text"], "aswd reproduce: reading has no choice 'text'"),
        (["reproduce", "flow_main", "task.iteration=3"], "aswd reproduce: task.iteration is not an option: did you mean task.iterations"),
        (["reproduce", "table1", "data=celeba"], "aswd reproduce: data=celeba must be left out: table1 has its own"),
        (["report", "paths.output_dir=/nowhere"], "aswd report: there is no artifact in /nowhere yet"),
    ],
)
def test_mistakes_end_in_one_sentence(arguments, sentence, capsys):
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith(sentence)
    assert err.count("\n") == 1


DRAWING = """
from matplotlib.figure import Figure

def draw(artifact, cells, heading):
    figure = Figure()
    figure.subplots().bar([cell.label for cell in cells], [cell.finals(artifact.metric)[0] for cell in cells])
    figure.suptitle(heading)
    return figure

def no_worse(evidence):
    \"\"\"Mine is no worse than the others.\"\"\"
    return evidence.below("knot", "Mine", "Linear"), "compared on the knot"
"""
PLUGIN = """
from aswd.artifacts.claims import claim
from aswd.distances import register

@register("gap_of_means")
def gap(x, y, factor: float = 1.0):
    return factor * (x.mean(-2) - y.mean(-2)).norm(dim=-1)

@claim("Q7", "Registered by the plug-in.")
def q7(evidence):
    return None, f"{len(evidence.labels)} series"
"""
MINE = """# A distance of mine beside ours.
like: flow_full
title: Mine <b>against</b> ours
number: Extra
draw: my_drawing.draw
data: [knot]
series:
  - {label: Mine, distance: gap_of_means, overrides: [distance.factor=2]}
  - {label: Linear, distance: swd}
scales:
  tiny: {seeds: 2, num_projections: 5, overrides: [task.iterations=3, data.num_samples=20]}
claims: [Q7, my_drawing.no_worse]
"""


def test_an_artifact_in_the_user_s_folder_with_a_drawing_a_claim_and_a_distance_of_their_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "artifact").mkdir(parents=True)
    (tmp_path / "mine" / "artifact" / "gap.yaml").write_text(MINE)
    (tmp_path / "my_drawing.py").write_text(DRAWING)
    (tmp_path / "gap_plugin.py").write_text(PLUGIN)
    where = ["--config-dir", "mine", "plugins=gap_plugin.py", "paths.output_dir=results"]
    assert main(["list", "artifacts", "--config-dir", "mine"]) == 0
    assert "A distance of mine beside ours." in capsys.readouterr().out
    assert main(["reproduce", "gap", "--scale", "tiny", *where, "trainer.enable_progress_bar=false"]) == 0, capsys.readouterr().err
    folder = tmp_path / "results" / "artifacts" / "gap" / "reference-tiny"
    summary = json.loads((folder / "summary.json").read_text())
    assert [(v["claim"], v["text"]) for v in summary["verdicts"]] == [
        ("Q7", "Registered by the plug-in."),
        ("no_worse", "Mine is no worse than the others."),
    ]
    assert (summary["runs"], summary["of"], summary["changes"]) == (4, 4, {})
    assert set(pandas.read_csv(folder / "table.csv")["label"]) == {"Mine", "Linear"}
    assert main(["report", "paths.output_dir=results"]) == 0
    assert "Extra: Mine &lt;b&gt;against&lt;/b&gt; ours" in (tmp_path / "results" / "report" / "index.html").read_text()
    assert main(["reproduce", "gap", "--scale", "tiny", *where, "task.lr=0.5", "--dry-run"]) == 0
    assert not (tmp_path / "outputs").exists()


def test_runs_are_labelled_for_wandb_and_draw_no_images_of_their_own():
    from aswd.artifacts.cells import cells
    from aswd.artifacts.reproduce import _configs

    (cell, *_) = cells(load("flow_main"), "smoke", "reference", ["logger=wandb", "logger.wandb.tags=[a]"])
    (config,) = _configs("flow_main", cell)
    assert config.loggers["wandb"].tags == ["a", "flow_main"]
    assert config.loggers["wandb"].labels == {"series_flow_main": cell.label}
    assert config.task.images is False
    assert config.key == cell.config.key
    (cell, *_) = cells(load("flow_main"), "smoke", "reference")
    assert "wandb" not in _configs("flow_main", cell)[0].loggers
