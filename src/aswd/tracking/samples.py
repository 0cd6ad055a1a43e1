"""A picture of what a run ended with, from its record alone: runs of an artifact draw none of their own."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from aswd.tasks import flow_figures


def samples_image(record: Path, path: Path) -> Path | None:
    """Draw the particles of ``samples.npz`` against their target; ``None`` where the record has none to show."""
    try:
        with np.load(record) as arrays:
            particles, target = arrays["particles"], arrays["target"]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None
    if particles.ndim != 2 or particles.shape[1] < 2:
        return None
    return flow_figures.strip(path, particles[None], ["final"], target, "")
