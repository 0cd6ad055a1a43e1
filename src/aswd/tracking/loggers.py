"""Mirrors of the store: Weights & Biases and TensorBoard. The CSV file is the store's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pytorch_lightning.loggers import Logger, TensorBoardLogger, WandbLogger

from aswd.tracking.naming import Names, media, media_name
from aswd.tracking.session import STEP, TIMEOUT, imported, is_online, sentence
from aswd.tracking.summary import summary
from aswd.utils.metric_history import MetricHistory

if TYPE_CHECKING:
    from aswd.config.run import RunConfig


def make_loggers(spec: RunConfig, folder: Path, resumed: bool = False) -> list[Logger]:
    """The loggers of a run that works in ``folder``; ``resumed``: it goes on from a checkpoint."""
    settings = spec.logger
    if settings.name == "tensorboard":
        return [TensorBoardLogger(folder, name="tensorboard", version="")]
    if settings.name == "csv":
        return []
    try:
        return [_wandb_logger(spec, resumed)]
    except Exception as error:  # the store is the record; a mirror that refuses does not stop a run
        print(f"aswd: W&B refused ({sentence(error)}); the run goes on without it, and aswd wandb sync replays it later", file=sys.stderr)
        return []


def _wandb_logger(spec: RunConfig, resumed: bool) -> WandbLogger:
    settings = spec.logger
    wandb = imported(spec.paths.output_dir)
    names = Names(spec.task.name, spec.data.name, spec.distance_name, spec.key, spec.seeds, spec.reading)
    logger = WandbLogger(
        project=settings.project,
        entity=settings.entity,
        mode="online" if is_online(settings.mode) else "offline",
        save_dir=str(Path(spec.paths.output_dir, "wandb").absolute()),
        name=names.name,
        group=settings.group or names.group,
        job_type=names.job_type,
        id=names.id,
        resume="allow" if resumed else None,  # a run that starts anew takes the place of what was under its id
        tags=list(dict.fromkeys([*names.tags, *settings.tags])),
        config={**spec.plain(), "key": spec.key, **settings.labels},
        settings=wandb.Settings(init_timeout=TIMEOUT),
    )
    logger.experiment.define_metric(STEP)
    logger.experiment.define_metric("*", step_metric=STEP)
    return logger


def log(loggers: list[Logger], values: dict[str, float], step: int) -> None:
    """MetricHistory of a step to the mirrors; one that fails is told nothing more."""
    for logger in list(loggers):
        try:
            logger.log_metrics(values, step)
        except Exception as error:
            loggers.remove(logger)
            print(f"aswd: the mirror of a run failed at step {step} ({sentence(error)}); the run goes on without it", file=sys.stderr)


def mirror_outcome(loggers: list[Logger], metrics: MetricHistory, pictures: list[Path], result: dict[str, Any]) -> None:
    """Final values, pictures and, for replicas, the table of seeds."""
    for logger in loggers:
        if not isinstance(logger, WandbLogger):
            continue
        import wandb

        means = {name: np.asarray(rows).mean(1) for name, rows in metrics.values.items()}
        logger.experiment.summary.update({**result, **summary(metrics.steps, means, result.get("headline"))})
        for picture in pictures:
            logger.experiment.log({media_name(picture): media(picture)})
        if len(metrics.seeds) > 1:
            rows = [[seed, *metrics.last(seed).values()] for seed in metrics.seeds]
            logger.experiment.log({"seeds": wandb.Table(columns=["seed", *metrics.values], data=rows)})


def finish(loggers: list[Logger], failed: bool) -> None:
    """Close the mirrors, whatever has become of the run."""
    for logger in loggers:
        logger.finalize("failed" if failed else "success")
        if isinstance(logger, WandbLogger):
            logger.experiment.finish(exit_code=1 if failed else 0)
