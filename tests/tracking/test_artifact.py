"""The runs of an artifact in W&B: mirrored while they run, replayed, and in its dashboard, whatever options it was reproduced with."""

import json

import pytest

from aswd.artifacts.cells import cells
from aswd.artifacts.declaration import load
from aswd.cli.main import main
from tests.wandb_files import read_wandb, wandb_files

DECLARED = """# Two distances.
title: Two distances
number: Study 9
draw: flow
task: flow
metric: log10_w2
data: [knot]
series:
  - {label: Linear, distance: swd}
  - {label: Augmented, distance: aswd}
scales:
  smoke: {seeds: 2, num_projections: 10, overrides: [task.iterations=4]}
claims: []
"""
ARTIFACT = ["two", "--scale", "smoke"]
CHANGES = ["data.num_samples=25"]
NEUTRAL = ["trainer.enable_progress_bar=false", "trainer.threads=1", "trainer.accelerator=cpu", "logger=wandb", "logger.wandb.tags=[mine]"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("without_wandb_key")]


def started(path):
    """The record with which a run of W&B begins."""
    (run,) = [one for one in read_wandb(path)["run"] if "display_name" in one]
    return run


def test_the_runs_of_an_artifact_that_was_reproduced_with_options(tmp_path, capsys):
    folder = tmp_path / "artifact"
    folder.mkdir()
    (folder / "two.yaml").write_text(DECLARED)
    where = ["--config-dir", str(tmp_path), f"paths.output_dir={tmp_path}"]
    found = cells(load("two", [str(tmp_path)]), "smoke", "reference", [*where, *CHANGES][2:])
    batches = {f"{cell.config.key}-seeds-0-1": cell for cell in found}

    # Mirrored while they run, every run says what it is in the artifact.
    assert main(["reproduce", *ARTIFACT, *CHANGES, *NEUTRAL, *where]) == 0
    files = wandb_files(tmp_path)
    assert set(files) == set(batches)
    for name, cell in batches.items():
        run = started(files[name])
        assert run["project"] == "aswd"
        assert run["run_group"] == f"flow/knot/{cell.config.distance_name}/{cell.config.key}"
        assert run["job_type"] == "flow batch"
        assert set(run["tags"]) == {"flow", "knot", cell.config.distance_name, "reference", "mine", "two"}
        assert run["config"]["update"]["series_two"] == cell.label

    # Replayed with the options of reproduce, and not without: as it is declared it was not run.
    capsys.readouterr()
    assert main(["wandb", "sync", "--artifact", *ARTIFACT, *where]) == 0
    assert "no finished runs" in capsys.readouterr().out
    assert main(["wandb", "sync", "--artifact", *ARTIFACT, *CHANGES, *NEUTRAL, *where]) == 0
    assert "4 replayed" in capsys.readouterr().out
    for cell in found:
        run = started(wandb_files(tmp_path)[f"{cell.config.key}-seed-1"])
        assert run["job_type"] == "flow"
        assert "two" in run["tags"]
        assert run["config"]["update"]["series_two"] == cell.label
    assert main(["wandb", "sync", "--artifact", *ARTIFACT, "task.iteration=4", *where]) == 2
    assert "task.iteration is not an option: did you mean task.iterations" in capsys.readouterr().err

    # Dashboards with and without options stand side by side.
    for options in ([], [*CHANGES, *NEUTRAL]):
        assert main(["wandb", "dashboard", *ARTIFACT, *options, *where]) == 0
    plain, changed = sorted((tmp_path / "wandb" / "dashboards").glob("*.json"), key=lambda path: len(path.name))
    assert plain.name == "two-reference-smoke.json"
    assert changed.name.startswith("two-reference-smoke-")
    (workspace,) = json.loads(changed.read_text())["workspaces"]
    assert workspace["name"] == "Study 9: Two distances, knot (reading reference, scale smoke, num_samples 25)"
    group = workspace["spec"]["section"]["runSets"][0]["filters"]["filters"][0]
    assert set(group["value"]) == {cell.config.folder.relative_to(tmp_path / "runs").as_posix() for cell in found}
