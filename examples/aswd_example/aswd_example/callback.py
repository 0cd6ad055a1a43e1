"""A plain Lightning callback."""

from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer


class LogSpread(Callback):
    """Log the standard deviation of the particles of a flow as ``spread``.

    Args:
        every: number of steps between two values.
    """

    def __init__(self, every: int = 10) -> None:
        self.every = every

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Called by Lightning after every step."""
        if trainer.global_step % self.every == 0:
            pl_module.log("spread", pl_module.particles.detach().std(), batch_size=1)
