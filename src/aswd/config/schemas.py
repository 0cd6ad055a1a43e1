"""Options that every run has: the trainer's, the paths', and those at the top."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from hydra.utils import instantiate

from aswd.utils.errors import UserError
from aswd.utils.fields import Options, neutral, option
from aswd.utils.quiet import quiet

PRECISIONS = (
    *("64", "64-true", "32", "32-true", "16", "16-true", "16-mixed", "bf16", "bf16-true", "bf16-mixed"),
    *("transformer-engine", "transformer-engine-float16"),
)
_OURS = ("threads", "checkpoint_seconds")  # which Lightning does not know
_UNCHECKED = (*_OURS, "accelerator", "max_steps", "enable_progress_bar", "deterministic")  # checked here, or any value will do


@dataclass
class TrainerConfig(Options):
    """Arguments of ``pytorch_lightning.Trainer``, and two of ours; those that change the numbers of a run are part of its key.

    ``null`` leaves an argument to Lightning or, for the length of a run and its evaluations, to the task. Loggers, callbacks and the root
    folder have groups of their own.

    Args:
        max_steps: ends a run early; its own length is the task's.
        threads: of the CPU; ``null``: torch's default.
        checkpoint_seconds: time between two checkpoints from which a run resumes.
    """

    accelerator: str = neutral("auto")
    strategy: str = neutral("auto")
    devices: Any = neutral(1)
    num_nodes: int = neutral(1, at_least=1)
    precision: str = option("32", choices=PRECISIONS)
    fast_dev_run: Any = False
    max_epochs: int | None = option(None, at_least=1)
    min_epochs: int | None = None
    max_steps: int | None = option(None, at_least=1)
    min_steps: int | None = None
    max_time: Any = None
    limit_train_batches: Any = option(None, above=0)
    limit_val_batches: Any = option(None, above=0)
    limit_test_batches: Any = neutral(None)
    limit_predict_batches: Any = neutral(None)
    overfit_batches: float = 0.0
    val_check_interval: Any = None
    check_val_every_n_epoch: int | None = None
    num_sanity_val_steps: int | None = neutral(None)
    log_every_n_steps: int | None = neutral(None)
    enable_checkpointing: bool | None = neutral(None)
    enable_progress_bar: bool = neutral(True)
    enable_model_summary: bool = neutral(False)
    accumulate_grad_batches: int = 1
    gradient_clip_val: float | None = option(None, above=0)
    gradient_clip_algorithm: str | None = None
    deterministic: Any = neutral(False)
    benchmark: bool | None = neutral(None)
    inference_mode: bool = neutral(True)
    use_distributed_sampler: bool = neutral(True)
    profiler: str | None = neutral(None)
    detect_anomaly: bool = neutral(False)
    barebones: bool = neutral(False)
    plugins: Any = None
    sync_batchnorm: bool = neutral(False)
    reload_dataloaders_every_n_epochs: int = 0
    enable_autolog_hparams: bool = neutral(True)
    model_registry: str | None = neutral(None)
    threads: int | None = neutral(None, at_least=1)
    checkpoint_seconds: float = neutral(30.0, at_least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.accelerator in ("gpu", "cuda"):
            import torch

            if not torch.cuda.is_available():
                raise ValueError(f"accelerator must be 'cpu' or 'auto' on this machine, where torch sees no GPU; got {self.accelerator!r}")
        for plugin in self._plugins():
            if not isinstance(plugin, dict) or "_target_" not in plugin:
                raise ValueError(f"plugins must be a list of _target_s, as in [{{_target_: my_module.MyPlugin}}]; got {self.plugins!r}")
        if self.max_time is not None:
            raise ValueError(
                f"max_time must be null: where a run ends must not depend on the machine; got {self.max_time!r}: use max_steps"
            )
        for name in ("fast_dev_run", "barebones"):
            if getattr(self, name):
                raise ValueError(
                    f"{name} must be false, since it leaves out what a record needs; got {getattr(self, name)!r}: use max_steps"
                )
        if isinstance(self.devices, bool) or (isinstance(self.devices, int) and self.devices < 1 and self.devices != -1):
            raise ValueError(f"devices must be a whole number of at least 1, -1, 'auto' or a list of devices; got {self.devices!r}")

    def _plugins(self) -> list[Any]:
        return [] if self.plugins is None else self.plugins if isinstance(self.plugins, list) else [self.plugins]

    def arguments(self) -> dict[str, Any]:
        """What ``pytorch_lightning.Trainer`` is given; what is ``null`` is left to the task and to Lightning."""
        given = {f.name: value for f in fields(self) if f.name not in _OURS and (value := getattr(self, f.name)) is not None}
        return given | ({"plugins": [instantiate(plugin) for plugin in self._plugins()]} if "plugins" in given else {})

    def check_with_lightning(self) -> None:
        """Let Lightning check what is not at its default, before any work.

        Raises:
            ValueError: with what Lightning says against it.
        """
        changed = {f.name for f in fields(self) if f.name not in _UNCHECKED and getattr(self, f.name) != f.default}
        if changed <= {"precision"} and self.precision in ("32", "bf16-mixed"):
            return  # nothing to ask: the import takes seconds
        from pytorch_lightning import Trainer

        try:
            with quiet():
                Trainer(**self.arguments(), logger=False)
        except Exception as error:
            raise ValueError(str(error).strip().splitlines()[0]) from None


@dataclass
class PathConfig(Options):
    """Where results are written to and read from.

    Args:
        output_dir: the folder of runs, artifacts and reports.
    """

    output_dir: str = neutral("outputs", path=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.output_dir.strip():
            raise ValueError("output_dir must be a folder; got an empty text")


@dataclass
class TopConfig(Options):
    """Options at the top of a configuration.

    Args:
        reading: ``reference`` (the released code), ``paper`` (the text) or ``algorithm1`` (its pseudo-code), where they differ.
        seed: of the first replica.
        replicas: seeds ``seed``, ``seed + 1``, ..., as one batch where the task can.
        force: run again what is done.
        plugins: files or modules of your own that register distances, tasks or data sets.
    """

    reading: str = "reference"
    seed: int = option(0, at_least=0)
    replicas: int = option(1, at_least=1)
    force: bool = False
    plugins: list[str] = option([])

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.seed + self.replicas > 2**32:
            raise ValueError(f"seed must leave the last replica's seed below 2^32; got seed {self.seed} with {self.replicas} replicas")


RENAMED = {
    "source": "data.source",
    "target": "data.target",
    "task.pictures": "task.images",
    "trainer.progress": "trainer.enable_progress_bar",
    "logger.name": "logger",
    **{f"logger.{option}": f"logger.wandb.{option}" for option in ("project", "entity", "mode", "tags", "labels", "group")},
}


def check_not_renamed(option: str) -> None:
    """Refuse an option by its former name.

    Raises:
        UserError: names the new one.
    """
    if option in RENAMED:
        raise UserError(f"{option} is now called {RENAMED[option]}")
