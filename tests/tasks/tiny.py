"""Generative runs that take a second or two."""

from aswd.config.composition import CommandLine, plan_runs

COMMON = [
    "trainer.accelerator=cpu",
    "trainer.threads=1",
    "trainer.enable_progress_bar=false",
    "data=synthetic",
    "data.num_train=50",
    "task.images=false",
]
GAN = ["task=gan", "task.width=2", "task.batch_size=8", "task.iterations=6", "task.evaluate_every=3", "task.num_samples=4"]
GENERATOR = ["task=generator", "task.hidden=8", "task.batch_size=16", "task.iterations=20", "task.evaluate_every=10", "task.num_samples=4"]
SMALL_IMAGES = ["data.size=8", "data.channels=1", "data.num_test=30", "task.num_swd_projections=50"]


def plan(folder, *overrides, distance="swd", num_projections=10):
    few = [] if "max_" in distance or distance == "wasserstein" else [f"distance.num_projections={num_projections}"]
    (spec,) = plan_runs(CommandLine([f"distance={distance}", *few, f"paths.output_dir={folder}", *overrides]))
    return spec


def tiny_gan(folder, *overrides, **options):
    return plan(folder, *COMMON, *GAN, *overrides, **options)


def tiny_generator(folder, *overrides, **options):
    return plan(folder, *COMMON, *GENERATOR, *SMALL_IMAGES, *overrides, **options)
