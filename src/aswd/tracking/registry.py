"""Loggers by name. The metrics of a run are always in the store; loggers mirror them."""

from __future__ import annotations

from aswd.utils.registry import Entry, Registry

LOGGERS = Registry(
    "logger",
    context=("run", "folder", "resumed"),
    entries={
        "wandb": Entry("aswd.tracking.loggers:wandb_logger", "aswd.tracking.configs:WandbConfig", "Weights & Biases, online or offline"),
        "tensorboard": Entry(
            "aswd.tracking.loggers:tensorboard_logger",
            "aswd.tracking.configs:TensorboardConfig",
            "TensorBoard event files in the folder of each run",
        ),
    },
)
register = LOGGERS.register
