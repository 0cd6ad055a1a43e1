"""The folder of an artifact differs if and only if the keys of its runs do."""

from dataclasses import replace

import pytest

from aswd.artifacts.declaration import load
from aswd.artifacts.reproduction import Reproduction
from aswd.utils.errors import UserError
from tests.artifacts.test_declaration import MINIMAL, declare


def small(name, *overrides, scale="smoke", reading="reference"):
    artifact = load(name)
    return Reproduction(replace(artifact, series=artifact.series[:2], data=artifact.data[:1]), scale, reading, overrides)


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("flow_main", []),
        ("flow_main", ["force=true"]),
        ("flow_main", ["launcher=slurm", "+launcher.sbatch.qos=long"]),
        (
            "flow_main",
            ["trainer.threads=1", "trainer.accelerator=cpu", "trainer.precision=32-true", "logger=wandb", "logger.wandb.project=x"],
        ),
        ("flow_main", ["task.iterations=60"]),  # as it is
        ("flow_main", ["trainer.max_steps=1000"]),  # ends nothing early
        ("table1", ["task.fid_weights=weights.pth"]),
    ],
)
def test_overrides_that_change_no_numbers_change_no_folder(name, overrides):
    reproduction = small(name, *overrides)
    assert reproduction.folder.as_posix() == f"outputs/artifacts/{name}/reference-smoke"
    assert reproduction.changes == {}
    assert reproduction.heading.endswith("(reading reference, scale smoke)")


@pytest.mark.parametrize(
    ("overrides", "changes", "text"),
    [
        (["trainer.precision=bf16-mixed"], {"trainer.precision": "bf16-mixed"}, "precision=bf16-mixed"),
        (["task.lr=0.3", "force=true"], {"task.lr": 0.3}, "lr=0.3"),
        (["distance.order=1"], {"distance.order": 1}, "order=1"),
        (["trainer.max_steps=10"], {"trainer.max_steps": 10}, "max_steps=10"),
    ],
)
def test_overrides_that_change_numbers_change_the_folder_and_are_shown(overrides, changes, text):
    reproduction = small("flow_main", *overrides)
    assert reproduction.changes == changes
    assert reproduction.folder.name.startswith("reference-smoke-")
    assert reproduction.folder != small("flow_main", "data.num_samples=17").folder
    assert reproduction.heading == f"Figure 2: Sliced Wasserstein flow (reading reference, scale smoke, {text})"


def test_the_order_and_spelling_of_overrides_do_not_matter():
    first, second = small("flow_main", "task.lr=0.5", "data.num_samples=30"), small("flow_main", "data.num_samples=30", "task.lr=5e-1")
    assert first.folder == second.folder


def test_an_option_that_only_some_series_have_is_shown_all_the_same():
    reproduction = small("flow_main", "++distance.num_projections=5")
    assert reproduction.changes == {"distance.num_projections": 5}


def test_all_results_go_to_the_output_folder(tmp_path):
    for name in ("flow_main", "projections"):
        reproduction = small(name, f"paths.output_dir={tmp_path}")
        reproduction.check()
        assert reproduction.folder == tmp_path / "artifacts" / name / "reference-smoke"
    with pytest.raises(UserError, match=r"task.lr=1 must be left out: projections has no runs that it could change"):
        small("projections", "task.lr=1").check()


def test_an_artifact_that_is_complete_only_with_overrides_is_known_by_them(tmp_path):
    folders = declare(tmp_path, MINIMAL.replace("seeds: 1", "seeds: 1, overrides: [task.lr=-1]"))
    reproduction = Reproduction(load("mine", folders), "tiny", "reference", ["task.lr=0.1"], folders)
    assert reproduction.changes == {"task.lr": "0.1"}
    assert reproduction.folder.name.startswith("reference-tiny-")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("draw: pie", "mine.yaml: draw must be one of barycenter, .* got 'pie'"),
        ("draw: no_such_module.draw", "mine.yaml: draw must name a class or function that can be imported; got 'no_such_module.draw'"),
        ("claims: [F99]", "mine.yaml: claims must be known"),
        ("draw: projections\nclaims: [F99]", "mine.yaml: claims must be known"),
    ],
)
def test_unknown_drawings_and_claims_are_sentences_before_any_run(line, sentence, tmp_path):
    folders = declare(tmp_path, (MINIMAL if line.startswith("claims") else MINIMAL.replace("draw: curves\n", "")) + line + "\n")
    with pytest.raises(UserError, match=sentence):
        Reproduction(load("mine", folders), "tiny", "reference", [], folders).check()


def test_the_command_is_written_down_with_its_folders():
    reproduction = Reproduction(load("flow_main"), "smoke", "paper", ["task.lr=1"], ["my configs"])
    assert reproduction.command == "aswd reproduce flow_main --scale smoke --reading paper --config-dir 'my configs' task.lr=1"
