"""Images of a run as W&B takes them: those that the run saved, and one of its final samples."""

from __future__ import annotations

from pathlib import Path

from aswd.runs.store import Run
from aswd.tasks import flow_figures

IMAGES = (".png", ".jpg", ".jpeg")
VIDEOS = (".gif", ".mp4", ".webm")


def media_name(path: Path) -> str:
    """The name of an image among the metrics."""
    return path.stem + path.suffix.replace(".", "_")


def images_in(folder: Path) -> list[Path]:
    """The images and animations of a folder that W&B can show."""
    return sorted(
        path for path in folder.glob("*") if path.suffix.lower() in (*IMAGES, *VIDEOS) and path.is_file() and not path.name.startswith(".")
    )


def media(path: Path) -> object:
    """An image or an animation as W&B takes it."""
    import wandb

    suffix = path.suffix.lower()
    return wandb.Video(str(path), format=suffix.removeprefix(".")) if suffix in VIDEOS else wandb.Image(str(path))


def samples_image(run: Run, path: Path) -> Path | None:
    """Draw the final particles of a run against their target, since runs of an artifact save no images; ``None`` if it has none."""
    samples = run.samples()
    particles, target = samples.get("particles"), samples.get("target")
    if particles is None or target is None or particles.ndim != 2 or particles.shape[1] < 2:
        return None
    return flow_figures.strip(path, particles[None], ["final"], target, "")
