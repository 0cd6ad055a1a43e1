"""The run configurations of an artifact."""

import time
from dataclasses import replace

import pytest

from aswd.artifacts.cells import cells
from aswd.artifacts.declaration import SCALES, load
from aswd.config.composition import CommandLine, plan_runs
from aswd.distances import READINGS
from aswd.utils.errors import UserError
from tests.artifacts.test_declaration import MINIMAL, declare

DISTANCE = """
import torch

class Scaled(torch.nn.Module):
    def __init__(self, num_projections: int = 7, factor: float = 1.0):
        super().__init__()
        self.factor = factor

    def forward(self, x, y):
        return self.factor * (x.mean() - y.mean()).abs()
"""


def test_a_scale_may_have_a_part_of_the_data_and_a_series_a_reading_of_its_own():
    readings = load("readings")
    assert len(readings.data) == 8
    assert {cell.data for cell in cells(readings, "laptop", "reference")} == set(load("flow_main").data)
    assert {cell.data for cell in cells(readings, "paper", "reference")} == set(readings.data)
    keys = {cell.label: cell.config.key for cell in cells(load("readings"), "laptop", "reference") if cell.data == "knot"}
    main = {reading: cells(load("flow_main"), "laptop", reading) for reading in READINGS}
    ours = {reading: cell.config.key for reading in READINGS for cell in main[reading] if (cell.data, cell.label) == ("knot", "ASWD")}
    assert {"reference": keys["ASWD"], "paper": keys["ASWD (paper)"], "algorithm1": keys["ASWD (algorithm1)"]} == ours


def test_the_ablations_of_the_flow_share_their_runs():
    full = {(cell.data, cell.config.key) for cell in cells(load("flow_full"), "laptop", "reference")}
    for name in ("ablation_lambda", "ablation_dimension", "ablation_maps", "ablation_max_gswnn_penalty", "ablation_penalty"):
        found = {(cell.data, cell.label): (cell.data, cell.config.key) for cell in cells(load(name), "laptop", "reference")}
        assert {key for (_, label), key in found.items() if not label.startswith("ASWD") and "penalty" not in label} <= full
        assert len(full & set(found.values())) >= 8
    keys = {cell.label: cell.config.key for cell in cells(load("ablation_lambda"), "laptop", "reference") if cell.data == "knot"}
    assert ("knot", keys["ASWD lambda=0.05/|y|"]) in full  # the reading's own
    assert len(set(keys.values())) == len(keys)


def test_scales_and_readings_share_keys_only_if_the_numbers_are_the_same():
    keys = {}
    for scale in SCALES:
        for reading in ("reference", "paper"):
            for cell in cells(load("flow_main"), scale, reading):
                keys.setdefault((cell.data, cell.label), {})[scale, reading] = cell.config.key
    assert len(set(keys["knot", "ASWD"].values())) == 6
    assert len(set(keys["knot", "Linear"].values())) == 3


@pytest.mark.parametrize(
    ("name", "scale"), [("flow_main", "smoke"), ("color_transfer", "laptop"), ("table1", "paper"), ("barycenter", "paper")]
)
def test_cells_are_what_the_command_line_composes(name, scale):
    """Also where toy targets are not composed one by one."""
    artifact = load(name)
    series, chosen = artifact.series[0], artifact.scale(scale)
    for cell in cells(artifact, scale, "reference", ["seed=3"])[: len(artifact.data)]:
        fixed = [f"task={artifact.task}", f"data={cell.data}", f"distance={series.distance}", f"replicas={chosen.seeds}", "seed=3"]
        directions = [f"distance.num_projections={chosen.num_projections}"]
        (expected,) = plan_runs(CommandLine([*fixed, *chosen.overrides, *directions, *series.overrides]))
        assert cell.config == expected
    if name == "table1":
        assert {cell.data: cell.config.task.epochs for cell in cells(artifact, scale, "reference")} == {"cifar10": 200, "celeba": 100}


def test_published_rules_that_depend_on_the_data_are_respected(monkeypatch):
    """A rule for one toy target."""
    from aswd.artifacts import cells as module
    from aswd.config import groups, published

    rules = [{"data": ["knot"], "set": {"task": {"lr": 0.25}}}]
    monkeypatch.setattr(published, "load_rules", lambda path: rules if path.stem == "flow" else [])
    monkeypatch.setattr(module, "load_rules", lambda path: rules)
    monkeypatch.setattr(groups, "_stored", ([], []))
    try:
        rates = {cell.data: cell.config.task.lr for cell in cells(load("flow_main"), "paper", "reference")}
        assert rates.pop("knot") == 0.25
        assert 0.25 not in rates.values()
    finally:
        monkeypatch.undo()
        groups._stored = ([], [])
        from hydra.core.config_store import ConfigStore

        for group in ("published_task", "published_distance"):
            ConfigStore.instance().repo.pop(group, None)


def test_ninety_six_cells_are_composed_in_seconds():
    artifact = load("flow_full")
    cells(load("flow_main"), "smoke", "reference")  # imports
    start = time.process_time()
    assert len({cell.config.key for cell in cells(artifact, "paper", "reference")}) == 96
    assert time.process_time() - start < 5


def test_a_data_set_and_a_distance_of_the_user_s_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scaled_module.py").write_text(DISTANCE)
    for group, text in (("distance", "_target_: scaled_module.Scaled\nfactor: 2.0\n"), ("data", "defaults: [knot]\nnum_samples: 33\n")):
        (tmp_path / group).mkdir()
        (tmp_path / group / f"my_{group}.yaml").write_text(text)
    text = MINIMAL.replace("swd", "my_distance").replace("knot", "my_data").replace("seeds: 1", "seeds: 1, num_projections: 5")
    (cell,) = cells(load("mine", declare(tmp_path, text)), "tiny", "reference", config_dirs=[str(tmp_path)])
    assert cell.config.distance == {"num_projections": 5, "factor": 2.0}
    assert (cell.data, cell.config.data.num_samples) == ("my_data", 33)


def test_a_plugin_of_the_user(tmp_path):
    plugin = tmp_path / "plugin_of_mine.py"
    plugin.write_text(DISTANCE.replace("class Scaled", "from aswd.distances import register\n\n@register('scaled_by_me')\nclass Scaled"))
    artifact = load("mine", declare(tmp_path, MINIMAL.replace("swd", "scaled_by_me")))
    (cell,) = cells(artifact, "tiny", "reference", [f"plugins={plugin}"])
    assert cell.config.distance_name == "scaled_by_me"
    assert cell.config.plugins == (str(plugin),)


def test_overrides_move_the_results_and_must_fit():
    artifact = replace(load("flow_main"), data=("knot",))
    found = cells(artifact, "smoke", "reference", ["paths.output_dir=elsewhere"])
    assert all(cell.config.folder.parts[0] == "elsewhere" for cell in found)
    for override in ("data=moons", "distance=swd", "reading=paper", "task=gan"):
        with pytest.raises(UserError, match=f"{override} must be left out: flow_main has its own"):
            cells(artifact, "smoke", "reference", [override])
    with pytest.raises(UserError, match=r"^task.iteration is not an option: did you mean task.iterations"):
        cells(artifact, "smoke", "reference", ["task.iteration=3"])
    with pytest.raises(UserError, match=r"^reading has no choice 'text'"):
        cells(artifact, "smoke", "text")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (MINIMAL.replace("swd", "sdw"), "mine.yaml: distance has no choice 'sdw': did you mean"),
        (MINIMAL.replace("knot", "knott"), "mine.yaml: data has no choice 'knott': did you mean"),
        (MINIMAL.replace("flow", "flwo"), "mine.yaml: task has no choice 'flwo': did you mean"),
        (MINIMAL.replace("seeds: 1", "seeds: 1, overrides: [task.lrr=1]"), "mine.yaml: task.lrr is not an option: did you mean task.lr"),
    ],
)
@pytest.mark.parametrize("overrides", [[], ["task.iterations=3"]])
def test_mistakes_in_a_file_name_it(text, sentence, overrides, tmp_path):
    with pytest.raises(UserError, match=sentence):
        cells(load("mine", declare(tmp_path, text)), "tiny", "reference", overrides)
