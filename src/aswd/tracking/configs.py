"""Which mirrors a run has. Apart from the mirrors themselves, which are Lightning's: to import that takes four seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aswd.tracking.session import MODES, is_installed
from aswd.utils.checks import check_choice


@dataclass
class LoggerConfig:
    """Options of the loggers.

    Args:
        name: ``csv`` (the store alone), ``wandb`` or ``tensorboard``.
        project: W&B project.
        entity: W&B user or team; your default one, if nothing is said.
        mode: ``online``, ``offline``, or ``auto``: online if this machine is logged in to W&B.
        tags: W&B tags, beside those of the run.
        labels: entries of the run in W&B, beside its options; ``aswd reproduce`` writes there what a run is in its artifact.
        group: W&B group; the run's own, task/data/distance/key, if nothing is said.
    """

    name: str = "csv"
    project: str = "aswd"
    entity: str | None = None
    mode: str = "auto"
    tags: list[str] = field(default_factory=list)
    labels: dict[str, Any] = field(default_factory=dict)
    group: str | None = None

    def __post_init__(self) -> None:
        check_choice("name", self.name, ["csv", "wandb", "tensorboard"])
        if self.name == "wandb" and not is_installed():
            raise ValueError("name must be 'csv' or 'tensorboard' where wandb is not installed; got 'wandb': pip install wandb")
        check_choice("mode", self.mode, MODES)
