"""Papers: folders of artifacts with a title; quantities; the claims and artifacts of other papers."""

import json

import numpy as np
import pytest

from aswd.artifacts.claims import FAILS, HOLDS, OPEN
from aswd.artifacts.declaration import artifact_names, load
from aswd.artifacts.groups import RunGroup
from aswd.artifacts.papers import Paper
from aswd.artifacts.quantities import Quantity
from aswd.artifacts.report import report
from aswd.cli.main import main
from aswd.runs import Run
from aswd.runs.execution import execute_run
from aswd.utils.errors import UserError
from tests.artifacts.test_claims import cell, series, verdict
from tests.artifacts.test_declaration import MINIMAL, declare
from tests.artifacts.test_report import write
from tests.runs.small import small_spec


def declare_in_paper(folder, paper="title: On slices\nauthors: A. Author\nvenue: ICLR\nyear: 2024\n", name="sliced"):
    (folder / "artifact" / "slices").mkdir(parents=True)
    (folder / "artifact" / "slices" / f"{name}.yaml").write_text(MINIMAL)
    if paper is not None:
        (folder / "artifact" / "slices" / "paper.yaml").write_text(paper)
    return [str(folder)]


def test_an_artifact_belongs_to_the_paper_of_its_folder(tmp_path, capsys):
    folders = declare_in_paper(tmp_path)
    declare(tmp_path, name="alone")
    assert load("sliced", folders).paper == Paper("On slices", "A. Author", "ICLR", 2024)
    assert load("alone", folders).paper is None
    assert artifact_names(folders) == [*artifact_names(), "sliced", "alone"]
    assert main(["list", "artifacts", "--config-dir", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Augmented Sliced Wasserstein Distances. Xiongjie Chen, Yongxin Yang, Yunpeng Li. ICLR 2022"
    assert lines[lines.index("On slices. A. Author. ICLR 2024") + 2].startswith("sliced ")
    assert lines[-1].startswith("alone ")


@pytest.mark.parametrize(
    ("paper", "sentence"),
    [
        (None, "paper.yaml, which says what paper the artifacts in its folder are from, cannot be read: No such file"),
        ("authors: A\n", "paper.yaml: title must be given a value"),
        ("title: A\nyaer: 1\n", "paper.yaml: yaer is not an option of a paper: did you mean year"),
        ("title: A\nyear: soon\n", "paper.yaml: year must be a whole number; got 'soon'"),
        ("- a\n", "paper.yaml must consist of options"),
    ],
)
def test_mistakes_in_a_declaration_are_sentences(paper, sentence, tmp_path):
    with pytest.raises(UserError, match=sentence) as caught:
        load("sliced", declare_in_paper(tmp_path, paper))
    assert "\n" not in str(caught.value)


def test_a_name_is_unique_across_papers(tmp_path):
    folders = declare_in_paper(tmp_path, name="mine")
    declare(tmp_path, name="mine")
    with pytest.raises(UserError, match=r"slices/mine\.yaml must have another name: mine is the artifact in .*artifact/mine\.yaml"):
        load("mine", folders)


def test_the_report_groups_by_paper(tmp_path):
    folders = declare_in_paper(tmp_path)
    write(tmp_path, "zero")
    write(tmp_path, "alone")
    write(tmp_path, "sliced", folders=folders)
    assert json.loads((tmp_path / "artifacts" / "sliced" / "reference-tiny" / "summary.json").read_text())["paper"]["year"] == 2024
    page = report(tmp_path)
    for text in (page.read_text(), page.with_name("report.md").read_text()):
        headings = [line for line in text.splitlines() if line.startswith(("#", "<h"))]
        found = [name for line in headings for name in ("On slices", "sliced", "alone", "zero") if name in line]
        assert found == ["On slices", "sliced", "alone", "zero"]


def test_quantities_are_made_of_recorded_metrics():
    values = np.array([0.1, 10.0])
    expected = {"w2": values, "w2_squared": [0.01, 100], "log10_w2": [-1, 1], "log10_w2_squared": [-2, 2], "w2_squared@50": [0.01, 100]}
    for name, wanted in expected.items():
        np.testing.assert_allclose(Quantity.of(name)(values), wanted)
    assert Quantity.of("w2_squared@50").step == 50
    assert Quantity.of("fid").step is None


def test_values_at_a_step_are_those_of_the_record(tmp_path):
    spec = small_spec(tmp_path, "replicas=2", "task.iterations=3", "task.evaluate_every=100", "task.evaluate_at=[2]", "task.images=false")
    execute_run(spec)
    group = RunGroup("knot", "A", {seed: Run.of(spec, seed) for seed in (0, 1)})
    w2 = {step: {seed: run.metrics().set_index("step")["w2"][step] for seed, run in group.runs.items()} for step in (2, 3)}
    assert group.values("w2_squared@2") == pytest.approx({seed: value**2 for seed, value in w2[2].items()})
    assert group.values("log10_w2_squared") == pytest.approx({seed: 2 * np.log10(value) for seed, value in w2[3].items()})
    assert group.values("log10_w2") == pytest.approx(group.values("log10_w2@3"))
    assert group.values("w2@50") == group.values("fid@2") == group.values("fid_squared") == {}
    steps, values = group.curves("w2_squared")
    assert steps.tolist() == [1, 2, 3]
    assert values[1].tolist() == list(group.values("w2_squared@2").values())


@pytest.mark.parametrize(
    ("claim", "centres", "expected"),
    [
        ("EBSW1", {"EBSW (code)": -1.7, "SW": -1.5}, HOLDS),
        ("EBSW2", {"EBSW (code)": -1.7, "SW, lr x sqrt(3)": -2.0}, FAILS),
        ("EBSW3", {"EBSW (text)": -1.9, "SW": -1.5}, HOLDS),
        ("EBSW3", {"EBSW (text)": -1.6, "SW": -1.5}, FAILS),
        ("TSW1", {"TSW-SL": -3.7, "SW": -1.3, "SWGG": -2.2, "Max-SW": -1.2, "LCV-SW": -1.4}, HOLDS),
        ("TSW1", {"TSW-SL": -3.7, "SW": -1.3, "SWGG": -4.2, "Max-SW": -1.2, "LCV-SW": -1.4}, FAILS),
        ("TSW2", {"TSW-SL": -3.7, "SW p=1": -3.7}, OPEN),
        ("SWGG1", {"SWGG (Monte Carlo)": -3.0, "SW": -2.0, "Max-SW": -0.6}, HOLDS),
    ],
)
def test_claims_on_made_up_numbers(claim, centres, expected):
    shared = series(0, spread=0.05)
    finals = {label: centre + shared + series(0, spread=0.02, seed=1 + index) for index, (label, centre) in enumerate(centres.items())}
    assert verdict(claim, [cell("knot", label, log10_w2=values) for label, values in finals.items()]) == expected
