"""Every distance that is not of the paper runs in all six tasks, or is refused in one sentence where it is not defined."""

import numpy as np
import pytest
from PIL import Image

from aswd.config.composition import CommandLine, plan_runs
from aswd.distances import options
from aswd.runs.execution import execute_run
from aswd.utils.errors import UserError
from tests.distances.test_registry import FIELD_NAMES
from tests.tasks.tiny import COMMON, GAN, GENERATOR, SMALL_IMAGES

QUIET = ["trainer.accelerator=cpu", "trainer.threads=1", "trainer.enable_progress_bar=false", "task.images=false"]
STEPS = ["task.iterations=2", "task.evaluate_every=2"]
CALLS = {
    "flow": ["task=flow", "data=knot", "data.num_samples=20", *QUIET, *STEPS],
    "gan": [*COMMON, *GAN, *STEPS],
    "generator": [*COMMON, *GENERATOR, *SMALL_IMAGES, *STEPS],
    "swae": [*COMMON, "task=swae", "task.batch_size=16", "task.num_w2_samples=20", *SMALL_IMAGES[:3], *STEPS],
    "color_transfer": ["task=color_transfer", "data.num_colors=20", *QUIET, *STEPS],
    "barycenter": ["task=barycenter", "data=shapes", "data.num_samples=20", *QUIET, *STEPS],
}
THREE_DIMENSIONAL = ("qsw_spiral", "qsw_equal_area")


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    for name, seed in (("source", 0), ("target", 1)):
        Image.fromarray(np.random.default_rng(seed).integers(0, 255, (12, 12, 3), dtype=np.uint8)).save(folder / f"{name}.png")
    return [f"data.{name}={folder / name}.png" for name in ("source", "target")]


@pytest.mark.parametrize("task", CALLS)
@pytest.mark.parametrize("distance", FIELD_NAMES)
def test_every_distance_runs_in_every_task(distance, task, tmp_path, images):
    few = ["distance.num_projections=10"] if "num_projections" in options(distance) else []
    pair = images if task == "color_transfer" else []
    line = CommandLine([*CALLS[task], *pair, f"distance={distance}", *few, f"paths.output_dir={tmp_path}"])
    if distance in THREE_DIMENSIONAL and task != "color_transfer":
        with pytest.raises(UserError, match=r"distance: .* is a point set in dimension 3; got"):
            plan_runs(line)
    elif distance == "swd_shcv" and task in ("gan", "generator"):
        with pytest.raises(UserError, match="distance: num_projections must exceed the"):
            plan_runs(line)
    else:
        (spec,) = plan_runs(line)
        (outcome,) = execute_run(spec)
        assert outcome.status == "done", outcome.text
        assert all(np.isfinite(value) for value in outcome.run.result["final"].values())


def test_point_sets_in_three_dimensions_run_on_points(tmp_path):
    np.save(tmp_path / "target.npy", np.random.default_rng(0).standard_normal((20, 3)))
    for distance in THREE_DIMENSIONAL:
        call = ["task=flow", "data=points", f"data.target={tmp_path / 'target.npy'}", *QUIET, *STEPS]
        (spec,) = plan_runs(CommandLine([*call, f"distance={distance}", "distance.num_projections=10", f"paths.output_dir={tmp_path}"]))
        (outcome,) = execute_run(spec)
        assert outcome.status == "done", outcome.text
