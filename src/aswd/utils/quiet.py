"""Running Lightning without its messages."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Without what Lightning says about itself, but for the report of a profiler."""
    chatter = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning_fabric", "lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in chatter]
    for logger in chatter:
        logger.setLevel(logging.ERROR)
    logging.getLogger("pytorch_lightning.profilers").setLevel(logging.INFO)  # the report of trainer.profiler
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(pytorch_lightning|lightning|lightning_fabric|torch)\..*")
        try:
            yield
        finally:
            for logger, level in zip(chatter, levels, strict=True):
                logger.setLevel(level)
