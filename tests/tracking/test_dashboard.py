"""The workspace of an artifact, checked without a server."""

import json
import sys

import pytest

from aswd.artifacts.cells import cells
from aswd.artifacts.declaration import load
from aswd.cli.main import main

pytestmark = pytest.mark.usefixtures("without_wandb_key")


def panels(section):
    return [(panel["viewType"], panel["config"]) for panel in section["panels"]]


def test_the_specification_shows_the_runs_of_the_artifact_by_series(tmp_path, capsys):
    assert main(["wandb", "dashboard", "ablation_dimension", "--scale", "smoke", "--project", "mine", f"paths.output_dir={tmp_path}"]) == 0
    path = tmp_path / "wandb" / "dashboards" / "ablation_dimension-reference-smoke.json"
    said = capsys.readouterr().out
    assert str(path) in said
    assert "none was saved" in said
    written = json.loads(path.read_text())
    artifact = load("ablation_dimension")
    found = cells(artifact, "smoke", "reference", [f"paths.output_dir={tmp_path}"])
    assert len(written["workspaces"]) == len({cell.data for cell in found})
    for workspace in written["workspaces"]:
        assert workspace["project"] == "mine"
        section = workspace["spec"]["section"]
        (runset,) = section["runSets"]
        group, job = runset["filters"]["filters"]
        own = {cell.config.folder.relative_to(tmp_path / "runs").as_posix() for cell in found if f", {cell.data} (" in workspace["name"]}
        assert group["key"] == {"section": "run", "name": "group"}
        assert set(group["value"]) == own
        assert (job["key"]["name"], job["op"], job["value"]) == ("jobType", "=", "flow")
        assert runset["grouping"] == [{"section": "config", "name": "series_ablation_dimension.value"}]
        curves, finals, samples = section["panelBankConfig"]["sections"]
        kind, curve = panels(curves)[0]
        assert kind == "Run History Line Plot"
        assert curve["metrics"] == ["w2"]
        assert curve["xAxis"] == "trainer/global_step"
        assert curve["yLogScale"]
        assert curve["groupBy"] == "series_ablation_dimension.value"
        assert (curve["groupAgg"], curve["groupArea"]) == ("mean", "stderr")
        assert {kind for kind, _ in panels(finals)} == {"Bar Chart", "Weave", "Run Comparer"}
        assert panels(finals)[0][1]["metrics"] == ["final/log10_w2"]
        assert "results" in json.dumps(panels(finals))
        assert panels(samples)[0][0] == "Media Browser"
        assert panels(samples)[0][1]["mediaKeys"] == ["samples"]


def test_an_artifact_that_is_not_there_or_has_no_runs_is_a_sentence(tmp_path, capsys):
    assert main(["wandb", "dashboard", "flow_mian", f"paths.output_dir={tmp_path}"]) == 2
    assert "did you mean flow_main" in capsys.readouterr().err
    assert main(["wandb", "dashboard", "projections", f"paths.output_dir={tmp_path}"]) == 2
    assert "has no runs" in capsys.readouterr().err
    assert main(["wandb", "dashboard", "cost_scaling", f"paths.output_dir={tmp_path}"]) == 2
    assert "has no runs" in capsys.readouterr().err
    assert main(["wandb", "dashboard", "flow_main", "--scale", "huge", f"paths.output_dir={tmp_path}"]) == 2
    assert "--scale must be one of" in capsys.readouterr().err


def test_without_the_extra_package_it_is_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "wandb_workspaces.reports.v2", None)
    assert main(["wandb", "dashboard", "ablation_dimension", "--scale", "smoke", f"paths.output_dir={tmp_path}"]) == 2
    said = capsys.readouterr().err
    assert "pip install 'aswd[wandb-dashboard]'" in said
    assert said.count("\n") == 1


def test_a_server_that_refuses_is_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_API_KEY", "tooshort")
    assert main(["wandb", "dashboard", "ablation_dimension", "--scale", "smoke", f"paths.output_dir={tmp_path}"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("aswd wandb: W&B refused")
    assert "tooshort" not in said
