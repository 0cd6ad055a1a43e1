"""The example package: its distances keep the contract, and its parts run under a plain trainer."""

import sys
from pathlib import Path

import pytest
import yaml

from aswd.distances import available, distance_info, options, registry
from aswd.testing import check_distance
from aswd.utils import plugins

FOLDER = Path(__file__).parents[1] / "examples" / "aswd_example"


@pytest.fixture(autouse=True)
def _example(monkeypatch):
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    monkeypatch.setattr(plugins, "_packages", set())
    monkeypatch.syspath_prepend(str(FOLDER))
    plugins.load_plugins(["aswd_example"])
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "aswd_example"]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["gswd_sine", "max_gswd_sine"])
def test_its_distances_keep_the_contract(name):
    assert options(name)["frequency"] == 0.5
    assert distance_info(name)["module"] == "aswd_example.distance"
    assert check_distance(name) == check_distance("swd")


def test_importing_it_does_not_import_lightning_for_nothing():
    assert "aswd_example.distance" in sys.modules
    assert not {"aswd_example.task", "aswd_example.data", "aswd_example.callback"} & set(sys.modules)


def test_its_artifact_compares_its_distance_with_three_of_ours():
    (configs,) = plugins.config_dirs()
    assert configs == FOLDER / "aswd_example" / "configs"
    artifact = yaml.safe_load((configs / "artifact" / "sine_spiral.yaml").read_text())
    distances = [series["distance"] for series in artifact["series"]]
    assert len(distances) == 4
    assert set(distances) <= set(available())
    assert [name for name in distances if distance_info(name) is not None] == ["gswd_sine"]
    assert (configs / "task" / f"{artifact['task']}.yaml").exists()
    assert all((configs / "data" / f"{name}.yaml").exists() for name in artifact["data"])


def test_its_task_data_and_callback_run_under_a_plain_trainer(tmp_path):
    pytest.importorskip("aswd.data.modules")
    from hydra.utils import instantiate
    from pytorch_lightning import Trainer

    (configs,) = plugins.config_dirs()
    task, data, callbacks = (
        yaml.safe_load((configs / name).read_text()) for name in ("task/momentum_flow.yaml", "data/spiral.yaml", "callbacks/spread.yaml")
    )
    distance = {"name": "gswd_sine", "num_projections": 20}
    flow = instantiate(task, distance, seeds=(0, 1), iterations=100, evaluate_every=50, num_frames=0)
    trainer = Trainer(
        **flow.trainer_defaults(),
        callbacks=[instantiate(entry) for entry in callbacks.values()],
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(flow, datamodule=instantiate(data, seeds=(0, 1), num_samples=60))
    assert flow.particles.shape == (2, 60, 2)
    assert trainer.callback_metrics["w2"] < 0.5
    assert 0.3 < trainer.callback_metrics["spread"] < 1
