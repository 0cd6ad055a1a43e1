"""Means over seeds, and how far they can be trusted."""

from __future__ import annotations

import numpy as np


def mean_and_band(values: np.ndarray, axis: int = -1, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over the seeds on ``axis`` and the ends of its t-interval; for a single seed both ends are the mean.

    >>> [round(float(value), 3) for value in mean_and_band(np.array([1.0, 2.0, 3.0]))]
    [2.0, -0.484, 4.484]
    """
    values = np.asarray(values, dtype=float)
    mean, count = values.mean(axis), values.shape[axis]
    if count == 1:
        return mean, mean, mean
    from scipy.stats import t

    half = t.ppf((1 + confidence) / 2, count - 1) * values.std(axis, ddof=1) / np.sqrt(count)
    return mean, mean - half, mean + half
