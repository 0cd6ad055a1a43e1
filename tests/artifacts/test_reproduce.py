"""Artifacts and the report through the real commands."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pandas
import pytest

from aswd.artifacts.declaration import artifact_names, artifacts, load
from aswd.cli.main import main
from aswd.runs.locks import Locks
from aswd.tasks.flow import Flow
from aswd.utils.files import write_json

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
    assert {*FLOWS, *(name for names in OTHERS for name in names), "projections"} == set(artifact_names())


@pytest.mark.slow
@pytest.mark.parametrize("names", OTHERS, ids=lambda names: names[0])
def test_artifacts_of_other_tasks_run_at_smoke_scale(names, tmp_path, capsys):
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
        outcome = json.loads((folder / "outcome.json").read_text())
        assert [verdict["claim"] for verdict in outcome["verdicts"]] == list(artifact.claims)
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
    assert len(frame) == len(artifact.data) * len(artifact.series)
    assert (frame["n"] == 2).all()
    assert {"figure.png", "figure.pdf", "curves.csv", "table.md", "table.tex", "outcome.json"} <= {path.name for path in folder.iterdir()}
    outcome = json.loads((folder / "outcome.json").read_text())
    assert [verdict["claim"] for verdict in outcome["verdicts"]] == list(artifact.claims)
    capsys.readouterr()
    assert reproduce(tmp_path, name) == 0
    assert f"{len(frame)} of {len(frame)} cells are done; 0 to run" in capsys.readouterr().out


@pytest.mark.slow
def test_all_goes_on_past_what_cannot_be_made_and_ends_with_the_report(tmp_path, monkeypatch, capsys):
    from aswd.artifacts import everything
    from aswd.artifacts.kinds import projections

    monkeypatch.setattr(projections, "CALLS", 10)
    few = [load("projections"), replace(load("table1"), name="no_such"), load("ablation_large_lambda")]
    monkeypatch.setattr(everything, "artifacts", lambda: iter(few))
    command = [
        "reproduce",
        "all",
        "--scale",
        "smoke",
        "--output-dir",
        str(tmp_path),
        "trainer.max_steps=3",
        "trainer.enable_progress_bar=false",
    ]
    assert main(command) == 1
    said = capsys.readouterr()
    assert "2 of 3 artifacts are as asked for" in said.out
    assert "no_such could not be made" in said.err
    assert {folder.name for folder in (tmp_path / "artifacts").iterdir()} == {"projections", "ablation_large_lambda"}
    assert (tmp_path / "report" / "index.html").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["task.iterations=3"], "task.iterations=3 must be left out: all takes options of launcher, logger, trainer only"),
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
    from aswd.artifacts.kinds import projections

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
    real = Flow.evaluate

    def evaluate(self):
        if self.distance.name == "dswd":
            raise RuntimeError("a cosmic ray")
        return real(self)

    with monkeypatch.context() as patch:
        patch.setattr(Flow, "evaluate", evaluate)
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
    (elsewhere,) = (tmp_path / "runs/flow/heart/aswd").glob("*/seed=1")
    (elsewhere / "status.json").unlink()
    capsys.readouterr()
    locks = Locks()
    assert locks.acquire(elsewhere / "lock")  # another process is at it
    try:
        assert reproduce(tmp_path, "ablation_max_gswnn_penalty") == 0
    finally:
        locks.release()
    err = capsys.readouterr().err
    assert "1 runs have no log10_w2 and are left out of it" in err
    assert "drawn with 47 of 48 runs" in err
    assert json.loads(old.read_text()) == content


def test_seeds_that_make_no_batch_are_started_one_by_one_and_force_means_all(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr("aswd.artifacts.reproduce.launch", lambda specs, *_: started.append([spec.seeds for spec in specs]))
    where = ["--scale", "smoke", f"paths.output_dir={tmp_path}"]
    for name in ("table1", "flow_main"):
        assert main(["reproduce", name, *where]) == 1
    assert started == [[(0,), (1,)] * 12, [(0, 1)] * 24]
    assert main(["reproduce", "flow_main", *where, "launcher=slurm", "launcher.wait=false"]) == 0  # asked only to submit
    monkeypatch.setattr("aswd.artifacts.cells.Cell.done", property(lambda cell: list(cell.spec.seeds)))
    monkeypatch.setattr("aswd.artifacts.tables.table", lambda *_: pandas.DataFrame({"n": [0]}))
    started.clear()
    for options in ([], ["force=true"]):
        assert main(["reproduce", "flow_main", *where, *options]) == 1
    assert started == [[], [(0, 1)] * 24]


def test_dry_run_runs_nothing_and_estimates_from_the_store(tmp_path, capsys):
    assert reproduce(tmp_path, "ablation_max_gswnn_penalty", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "24 cells of which the store knows nothing like" in out
    assert not (tmp_path / "runs").exists()
    assert main(["train", "distance=aswd", "data=knot", "distance.num_projections=20", f"paths.output_dir={tmp_path}", *TINY]) == 0
    capsys.readouterr()
    assert reproduce(tmp_path, "ablation_max_gswnn_penalty", "--dry-run") == 0
    assert "16 cells of which the store knows nothing like" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["reproduce", "flow_man"], "aswd reproduce: there is no artifact 'flow_man': did you mean flow_main"),
        (["reproduce", "flow_main", "--scale", "huge"], "aswd reproduce: --scale must be one of smoke, laptop, paper"),
        (["reproduce", "flow_main", "--reading", "text"], "aswd reproduce: reading must be one of"),
        (["reproduce", "flow_main", "task.iteration=3"], "aswd reproduce: task.iteration is not an option: did you mean task.iterations"),
        (["reproduce", "table1", "data=celeba"], "aswd reproduce: data=celeba must be left out: table1 has its own"),
        (["report", "--output-dir", "/nowhere"], "aswd report: no artifact was made in /nowhere yet"),
    ],
)
def test_mistakes_end_in_one_sentence(arguments, sentence, capsys):
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith(sentence)
    assert err.count("\n") == 1


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.images, self.links, self.anchors = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "img":
            self.images.append(attributes["src"])
        if tag == "a":
            self.links.append(attributes["href"])
        if "id" in attributes:
            self.anchors.append(attributes["id"])


PROBE = """<script>window.onload = () => { document.body.dataset.found = JSON.stringify({
  images: [...document.images].filter(i => i.complete && i.naturalWidth > 0).length,
  broken: [...document.links].filter(a => !document.getElementById(decodeURIComponent(a.hash.slice(1)))).length}); };</script></body>"""


@pytest.fixture(scope="module")
def report_page(tmp_path_factory):
    """The report of one figure in two readings."""
    folder = tmp_path_factory.mktemp("report")
    assert reproduce(folder, "flow_main") == 0
    assert reproduce(folder, "flow_main", "--reading", "paper") == 0
    assert main(["report", f"paths.output_dir={folder}"]) == 0
    return folder / "report" / "index.html"


@pytest.mark.slow
def test_the_report_is_one_page_that_needs_nothing(report_page):
    page = Page(report_page.read_text())
    assert len(page.images) == 2
    assert all(source.startswith("data:image/png;base64,") for source in page.images)
    assert page.links
    assert all(link.removeprefix("#") in page.anchors for link in page.links)
    assert not re.search(r"https?://", report_page.read_text())
    assert report_page.with_name("report.md").read_text().count("## Figure 2") == 2
    assert report_page.with_name("tables.tex").read_text().count(r"\toprule") == 2


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine to open the page with")
def test_a_real_browser_opens_the_report(report_page, tmp_path):
    probe = tmp_path / "probe.html"
    probe.write_text(report_page.read_text().replace("</body>", PROBE))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={tmp_path / 'browser'}"]
    done = subprocess.run([*command, "--dump-dom", probe.as_uri()], capture_output=True, text=True, timeout=120)
    assert "&quot;images&quot;:2,&quot;broken&quot;:0" in done.stdout
    assert "CONSOLE" not in done.stderr
