"""The examples draw what they say; the example package's distances keep the contract, and its parts run under a plain trainer."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from PIL import Image

from aswd.distances import available, distance_info, options, registry
from aswd.testing import check_distance
from aswd.utils import plugins

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "aswd_example"
SMALL = {  # the gallery's scripts at a small size, and what must hold of what they return
    "flow": ({"steps": 30, "points": 20}, lambda w2: max(w2.values()) < 1),
    "own_distance": ({"steps": 60, "points": 20}, lambda w2: all(values[-1] < 0.8 * values[0] for values in w2.values())),
    "color_transfer": ({"colors": 20, "steps": 10, "thin": 16}, lambda moved: min(moved.values()) > 0.05),
    "barycenter": ({"steps": 60, "points": 20, "grid": 2}, lambda particles: particles.shape == (6, 20, 2)),
    "swae_ring": ({"epochs": 4}, lambda swd: swd < 0.4),
    "sliced_plan": ({"points": 20}, lambda costs: costs["wasserstein"] <= costs["min_swgg"] <= costs["est"]),
    "estimators": (
        {"repetitions": 5, "counts": (32, 128), "reference": 4096},
        lambda errors: all(0 < errors[name][1] < errors["swd"][0] for name in errors),
    ),
}


@pytest.fixture(autouse=True)
def _example(monkeypatch):
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    monkeypatch.setattr(plugins, "_packages", set())
    monkeypatch.syspath_prepend(str(FOLDER))
    plugins.load_plugins(["aswd_example"])
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "aswd_example"]:
        del sys.modules[name]


def test_every_script_is_tried_short_and_on_the_site():
    scripts = {path.stem: len(path.read_text().splitlines()) for path in (ROOT / "examples").glob("*.py")}
    assert set(scripts) == set(SMALL)
    assert max(scripts.values()) < 60
    gallery = (ROOT / "docs/gallery.md").read_text()
    assert all(f'--8<-- "examples/{name}.py"' in gallery for name in scripts)
    assert [path.name for path in (ROOT / "docs/figures").glob("gallery/*") if path.stat().st_size > 200_000] == []


@pytest.mark.parametrize("name", SMALL)
def test_a_script_of_the_gallery_draws(name, tmp_path):
    options, holds = SMALL[name]
    result = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["main"](tmp_path, **options)
    assert holds(result), result
    (drawn,) = tmp_path.iterdir()
    assert f"/{drawn.name})" in (ROOT / "docs/gallery.md").read_text()
    assert drawn.stat().st_size > 3000


@pytest.mark.slow
def test_the_demo_ends_with_a_table_and_particles(tmp_path, capsys):
    tiny = ["task.iterations=20", "task.evaluate_every=10", "data.num_samples=12", "replicas=2"]
    assert runpy.run_path(str(ROOT / "scripts" / "demo.py"))["main"](str(tmp_path), *tiny) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 40
    assert max(len(line.replace(str(tmp_path), "outputs")) for line in lines) < 160
    assert len([line for line in lines if re.match(r"(ASWD|DSWD|SWD \(Linear\)|GSW-NN 1|Polynomial 3|Circular) +-?\d", line)]) == 6
    (animation,) = tmp_path.rglob("particles.gif")
    assert Image.open(animation).n_frames > 5
    assert (tmp_path / "report" / "index.html").exists()


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
    from hydra.utils import instantiate
    from pytorch_lightning import Trainer

    import aswd.tasks  # noqa: F401  before Lightning, which imports torchvision

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


@pytest.mark.slow
def test_installed_it_is_known_to_every_command_and_its_figure_is_reproduced(tmp_path):
    """As a user has it: pip install, then aswd reproduce, with a pool whose workers must know it too."""
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(tmp_path / "site"),
        str(FOLDER),
    ]
    subprocess.run(install, check=True, capture_output=True)
    paths = [str(tmp_path / "site"), str(FOLDER.parents[1] / "src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def aswd(*arguments):
        command = [sys.executable, "-m", "aswd", *arguments, f"paths.output_dir={tmp_path / 'out'}"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "sine_spiral" in aswd("list", "artifacts")
    assert "momentum_flow" in aswd("list", "tasks")
    assert "spiral" in aswd("list", "data")
    said = aswd("reproduce", "sine_spiral", "--scale", "smoke", "launcher=pool", "trainer.enable_progress_bar=false")
    folder = tmp_path / "out" / "artifacts" / "sine_spiral" / "reference-smoke"
    assert str(folder) in said
    assert (folder / "figure.png").stat().st_size > 10_000
    table = (folder / "table.csv").read_text()
    assert all(label in table for label in ("Sine", "Linear", "Circular", "ASWD"))
    aswd(
        "train",
        "task=momentum_flow",
        "data=spiral",
        "distance=gswd_sine",
        "callbacks=spread",
        "task.iterations=5",
        "callbacks.spread.every=2",
    )
    runs = aswd("list", "runs")
    assert runs.count("gswd_sine") == 2
