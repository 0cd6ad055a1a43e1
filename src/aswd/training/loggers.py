"""Mirrors of the store: Weights & Biases and TensorBoard. The CSV file is the store's own."""

from __future__ import annotations

import netrc
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from pytorch_lightning.loggers import Logger, TensorBoardLogger, WandbLogger

from aswd.distances.checks import check_choice
from aswd.results.store import Metrics, batch_name

if TYPE_CHECKING:
    from aswd.configuration import RunSpec

MODES = ("auto", "online", "offline")


@dataclass
class LoggerSettings:
    """Options of the loggers.

    Args:
        name: ``csv`` (the store alone), ``wandb`` or ``tensorboard``.
        project: W&B project.
        entity: W&B user or team; your default one, if nothing is said.
        mode: ``online``, ``offline``, or ``auto``: online if this machine is logged in to W&B.
        tags: W&B tags, beside those of the run.
    """

    name: str = "csv"
    project: str = "aswd"
    entity: str | None = None
    mode: str = "auto"
    tags: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_choice("name", self.name, ["csv", "wandb", "tensorboard"])
        check_choice("mode", self.mode, MODES)


def make_loggers(spec: RunSpec, folder: Path) -> list[Logger]:
    """The loggers of a run that works in ``folder``."""
    settings = spec.logger
    if settings.name == "tensorboard":
        return [TensorBoardLogger(folder, name="tensorboard", version="")]
    if settings.name == "csv":
        return []
    for variable, place in (("WANDB_DATA_DIR", "data"), ("WANDB_CACHE_DIR", "cache")):
        os.environ.setdefault(variable, str(Path(spec.paths.output_dir, "wandb", place).absolute()))
    os.environ.setdefault("WANDB_SILENT", "true")
    Path(spec.paths.output_dir, "wandb").mkdir(parents=True, exist_ok=True)
    online = settings.mode == "online" or (settings.mode == "auto" and _logged_in())
    logger = WandbLogger(
        project=settings.project,
        entity=settings.entity,
        offline=not online,
        save_dir=str(Path(spec.paths.output_dir, "wandb").absolute()),
        name=f"{spec.title} {spec.seeds_text}",
        group=f"{spec.task.name}/{spec.data.name}/{spec.distance_name}",
        job_type=spec.task.name,
        id=f"{spec.key}-{batch_name(spec.seeds).replace('=', '-')}",
        tags=[spec.task.name, spec.data.name, spec.distance_name, spec.reading, *settings.tags],
        config=spec.plain(),
    )
    logger.experiment.define_metric("trainer/global_step")
    logger.experiment.define_metric("*", step_metric="trainer/global_step")
    return [logger]


def mirror_outcome(loggers: list[Logger], metrics: Metrics, pictures: list[Path], result: dict[str, Any]) -> None:
    """Final values, pictures and, for replicas, the table of seeds."""
    for logger in loggers:
        if not isinstance(logger, WandbLogger):
            continue
        import wandb

        logger.experiment.summary.update(result)
        for picture in pictures:
            logger.experiment.log({picture.stem + picture.suffix.replace(".", "_"): wandb.Image(str(picture))})
        if len(metrics.seeds) > 1:
            rows = [[seed, *metrics.last(seed).values()] for seed in metrics.seeds]
            logger.experiment.log({"seeds": wandb.Table(columns=["seed", *metrics.values], data=rows)})


def finish(loggers: list[Logger], failed: bool) -> None:
    """Close the mirrors, whatever has become of the run."""
    for logger in loggers:
        logger.finalize("failed" if failed else "success")
        if isinstance(logger, WandbLogger):
            logger.experiment.finish(exit_code=1 if failed else 0)


def _logged_in() -> bool:
    """Whether this machine has a key for W&B, by the environment or by ``wandb login``."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname
    try:
        return netrc.netrc().authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False
