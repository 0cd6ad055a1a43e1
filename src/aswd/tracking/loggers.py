"""Loggers that mirror a run: Weights & Biases and TensorBoard. The metrics themselves are in the store."""

from __future__ import annotations

import sys
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pytorch_lightning.loggers import CSVLogger, Logger, TensorBoardLogger, WandbLogger

from aswd.config.targets import import_target
from aswd.tracking.media import media, media_name
from aswd.tracking.naming import Names
from aswd.tracking.registry import LOGGERS
from aswd.tracking.replay import summary
from aswd.tracking.session import STEP, TIMEOUT, imported, is_online, sentence
from aswd.utils.metric_history import MetricHistory
from aswd.utils.registry import call_with
from aswd.utils.secrets import mask_options

if TYPE_CHECKING:
    from aswd.config.run import RunConfig


def build_loggers(run: RunConfig, folder: Path, resumed: bool = False) -> list[Logger]:
    """The loggers of a run.

    One that fails is named on stderr, and the run does without it: the store is the record. A run with callbacks of the user's has at
    least a CSV file, for what they log.

    Args:
        run: its ``loggers`` are options of ours, or a ``_target_`` with arguments, which is also given ``run``, ``folder`` and ``resumed``
            where it has parameters for them.
        folder: where the run works.
        resumed: whether it resumes from a checkpoint.
    """
    loggers = []
    for name, node in run.loggers.items():
        try:
            target = LOGGERS.target(name) if is_dataclass(node) else import_target(f"logger.{name}._target_", node["_target_"])
            options = vars(node) if is_dataclass(node) else {key: value for key, value in node.items() if key != "_target_"}
            loggers.append(call_with(target, options, run=run, folder=folder, resumed=resumed))
        except Exception as error:
            text = "aswd wandb sync replays the run later" if name == "wandb" else "its metrics are in the store"
            print(f"aswd: the logger {name} failed ({sentence(error)}) and is left out; {text}", file=sys.stderr)
    if run.callbacks and not loggers:  # such as LearningRateMonitor, which needs one
        loggers.append(CSVLogger(folder, name="logs", version=""))
    return loggers


def tensorboard_logger(folder: Path) -> TensorBoardLogger:
    """TensorBoard event files in the folder of the run."""
    return TensorBoardLogger(folder, name="tensorboard", version="")


def wandb_logger(
    run: RunConfig,
    resumed: bool,
    *,
    project: str,
    entity: str | None,
    mode: str,
    tags: list[str],
    labels: dict[str, Any],
    group: str | None,
) -> WandbLogger:
    """A run of W&B, online or offline; see :class:`~aswd.tracking.registry.WandbConfig`."""
    wandb = imported(run.paths.output_dir)
    names = Names.of(run)
    logger = WandbLogger(
        project=project,
        entity=entity,
        mode="online" if is_online(mode) else "offline",
        save_dir=str(Path(run.paths.output_dir, "wandb").absolute()),
        name=names.name,
        group=group or names.group,
        job_type=names.job_type,
        id=names.id,
        resume="allow" if resumed else None,  # a run that starts anew replaces the one with its id
        tags=list(dict.fromkeys([*names.tags, *tags])),
        config={**mask_options(run.plain()), "key": run.key, **labels},
        settings=wandb.Settings(init_timeout=TIMEOUT),
    )
    logger.experiment.define_metric(STEP)
    logger.experiment.define_metric("*", step_metric=STEP)
    return logger


def log_metrics(loggers: list[Logger], values: dict[str, float], step: int) -> None:
    """Log the metrics of a step; a logger that fails is left out from there on."""
    for logger in list(loggers):
        try:
            logger.log_metrics(values, step)
        except Exception as error:
            loggers.remove(logger)
            print(f"aswd: a logger failed at step {step} ({sentence(error)}) and is left out; the run continues", file=sys.stderr)


def log_result(loggers: list[Logger], metrics: MetricHistory, images: list[Path], result: dict[str, Any]) -> None:
    """Log final values, images and, for replicas, the table of seeds to W&B."""
    for logger in loggers:
        if not isinstance(logger, WandbLogger):
            continue
        import wandb

        means = {name: np.asarray(rows).mean(1) for name, rows in metrics.values.items()}
        logger.experiment.summary.update({**result, **summary(metrics.steps, means, result.get("headline"))})
        for path in images:
            logger.experiment.log({media_name(path): media(path)})
        if len(metrics.seeds) > 1:
            rows = [[seed, *metrics.last(seed).values()] for seed in metrics.seeds]
            logger.experiment.log({"seeds": wandb.Table(columns=["seed", *metrics.values], data=rows)})


def finish_loggers(loggers: list[Logger], failed: bool) -> None:
    """Close the loggers, whatever the result of the run."""
    for logger in loggers:
        logger.finalize("failed" if failed else "success")
        if isinstance(logger, WandbLogger):
            logger.experiment.finish(exit_code=1 if failed else 0)
