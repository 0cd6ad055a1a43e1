"""An image of the final samples of a run, from its record: runs of an artifact save no images of their own."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from aswd.tasks import flow_figures


def samples_image(record: Path, path: Path) -> Path | None:
    """Draw the particles of ``samples.npz`` against their target; ``None`` if the record has none."""
    try:
        with np.load(record) as arrays:
            particles, target = arrays["particles"], arrays["target"]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None
    if particles.ndim != 2 or particles.shape[1] < 2:
        return None
    return flow_figures.strip(path, particles[None], ["final"], target, "")
