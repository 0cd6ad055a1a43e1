"""Runs that take a second."""

from aswd.config.composition import CommandLine, plan_runs

SMALL = ["data.num_samples=40", "task.iterations=30", "task.num_frames=4", "trainer.enable_progress_bar=false", "trainer.threads=1"]


def small_spec(folder, *overrides, distance="swd", num_projections=10):
    few = [] if (distance.startswith("max_") and "nn" not in distance) or distance == "wasserstein" else [num_projections]
    options = [f"distance={distance}", *(f"distance.num_projections={n}" for n in few), f"paths.output_dir={folder}"]
    (spec,) = plan_runs(CommandLine([*SMALL, *options, *overrides]))
    return spec
