"""Loggers by name, and their options. The metrics of a run are always in the store; loggers mirror them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aswd.tracking.session import MODES, is_installed
from aswd.utils.checks import check_choice
from aswd.utils.registry import Entry, Registry


@dataclass
class WandbConfig:
    """Options of the W&B logger. The key comes from ``wandb login`` or ``WANDB_API_KEY``, never from here.

    Args:
        project: W&B project.
        entity: W&B user or team; ``null``: your default one.
        mode: ``online``, ``offline``, or ``auto``: online if this machine is logged in to W&B.
        tags: W&B tags, beside those of the run.
        labels: entries of the run's configuration in W&B, beside its options; ``aswd reproduce`` adds its label in the artifact.
        group: W&B group; ``null``: task/data/distance/key, so that seeds are averaged.
    """

    project: str = "aswd"
    entity: str | None = None
    mode: str = "auto"
    tags: list[str] = field(default_factory=list)
    labels: dict[str, Any] = field(default_factory=dict)
    group: str | None = None

    def __post_init__(self) -> None:
        if not is_installed():
            raise ValueError("project: W&B is not installed: pip install wandb, or choose another logger")
        check_choice("mode", self.mode, MODES)


@dataclass
class TensorboardConfig:
    """TensorBoard has no options: its files are in the folder of each run."""


LOGGERS = Registry(
    "logger",
    context=("run", "folder", "resumed"),
    entries={
        "wandb": Entry("aswd.tracking.loggers:wandb_logger", "aswd.tracking.registry:WandbConfig", "Weights & Biases, online or offline"),
        "tensorboard": Entry(
            "aswd.tracking.loggers:tensorboard_logger",
            "aswd.tracking.registry:TensorboardConfig",
            "TensorBoard event files in the folder of each run",
        ),
    },
)
register = LOGGERS.register
