"""Options that every run has: the trainer's, the paths', and those at the top."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from aswd.utils.checks import check_at_least, check_choice
from aswd.utils.fields import neutral
from aswd.utils.quiet import quiet

PRECISIONS = (
    *("64", "64-true", "32", "32-true", "16", "16-true", "16-mixed", "bf16", "bf16-true", "bf16-mixed"),
    *("transformer-engine", "transformer-engine-float16"),
)
_OURS = ("threads", "checkpoint_seconds")  # which Lightning does not know
_UNCHECKED = (*_OURS, "accelerator", "max_steps", "enable_progress_bar", "deterministic")  # checked here, or any value will do


@dataclass
class TrainerConfig:
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
    num_nodes: int = neutral(1)
    precision: str = "32"
    fast_dev_run: Any = False
    max_epochs: int | None = None
    min_epochs: int | None = None
    max_steps: int | None = None
    min_steps: int | None = None
    max_time: Any = None
    limit_train_batches: Any = None
    limit_val_batches: Any = None
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
    gradient_clip_val: float | None = None
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
    threads: int | None = neutral(None)
    checkpoint_seconds: float = neutral(30.0)

    def __post_init__(self) -> None:
        if self.accelerator in ("gpu", "cuda"):
            import torch

            if not torch.cuda.is_available():
                raise ValueError(f"accelerator must be 'cpu' or 'auto' on this machine, where torch sees no GPU; got {self.accelerator!r}")
        check_choice("precision", self.precision, PRECISIONS)
        for name in ("max_steps", "max_epochs", "threads"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 1, whole=True)
        for name in ("limit_train_batches", "limit_val_batches"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 0, strictly=True)
        if self.gradient_clip_val is not None:
            check_at_least("gradient_clip_val", self.gradient_clip_val, 0, strictly=True)
        if self.max_time is not None:
            raise ValueError(
                f"max_time must be null: where a run ends must not depend on the machine; got {self.max_time!r}: use max_steps"
            )
        for name in ("fast_dev_run", "barebones"):
            if getattr(self, name):
                raise ValueError(
                    f"{name} must be false, since it leaves out what a record needs; got {getattr(self, name)!r}: use max_steps"
                )
        check_at_least("num_nodes", self.num_nodes, 1, whole=True)
        check_at_least("checkpoint_seconds", self.checkpoint_seconds, 0)
        if isinstance(self.devices, bool) or (isinstance(self.devices, int) and self.devices < 1 and self.devices != -1):
            raise ValueError(f"devices must be a whole number of at least 1, -1, 'auto' or a list of devices; got {self.devices!r}")

    def arguments(self) -> dict[str, Any]:
        """What ``pytorch_lightning.Trainer`` is given; what is ``null`` is left to the task and to Lightning."""
        return {f.name: value for f in fields(self) if f.name not in _OURS and (value := getattr(self, f.name)) is not None}

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
class PathConfig:
    """Where results are written to and read from.

    Args:
        output_dir: the folder of runs, artifacts and reports.
    """

    output_dir: str = neutral("outputs")

    def __post_init__(self) -> None:
        if not self.output_dir.strip():
            raise ValueError("output_dir must be a folder; got an empty text")


@dataclass
class TopConfig:
    """Options at the top of a configuration.

    Args:
        reading: ``reference`` (the released code), ``paper`` (the text) or ``algorithm1`` (its pseudo-code), where they differ.
        seed: of the first replica.
        replicas: seeds ``seed``, ``seed + 1``, ..., as one batch where the task can.
        force: run again what is done.
        plugins: files or modules of your own that register distances, tasks or data sets.
    """

    reading: str = "reference"
    seed: int = 0
    replicas: int = 1
    force: bool = False
    plugins: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_at_least("seed", self.seed, 0, whole=True)
        check_at_least("replicas", self.replicas, 1, whole=True)
        if self.seed + self.replicas > 2**32:
            raise ValueError(f"seed must leave the last replica's seed below 2^32; got seed {self.seed} with {self.replicas} replicas")
