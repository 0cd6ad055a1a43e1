"""Means over seeds, and how far they can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def paired_bootstrap(
    values: Sequence[np.ndarray], statistic: Callable[[list[np.ndarray]], np.ndarray], resamples: int = 1000, seed: int = 0
) -> np.ndarray:
    """A statistic of resampled seeds, ``[resamples, ...]``: what was measured with one seed stays together.

    Args:
        values: arrays with the seeds on the last axis; each is resampled for itself, with the same seeds for all of its entries.
        statistic: of such arrays.
        resamples: their number.
        seed: of the resampling.

    >>> values = [np.array([[1.0, 2.0], [3.0, 4.0]])]
    >>> differences = paired_bootstrap(values, lambda drawn: drawn[0][1].mean() - drawn[0][0].mean(), 5)
    >>> differences.tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0]
    """
    rng = np.random.default_rng(seed)
    drawn = ([array[..., rng.integers(array.shape[-1], size=array.shape[-1])] for array in values] for _ in range(resamples))
    return np.stack([np.asarray(statistic(arrays), dtype=float) for arrays in drawn])


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """Mean over cases of the ranks of competitors, by the median over seeds: 1 is the smallest, ties share the mean of their ranks.

    Args:
        values: ``[cases, competitors, seeds]``; NaN: did not take part in the case; infinite: failed.

    Returns:
        ``[competitors]``; NaN for one that took part in no case.

    >>> mean_ranks(np.array([[[1.0], [2.0], [2.0]], [[5.0], [np.inf], [np.nan]]])).tolist()
    [1.0, 2.25, 2.5]
    """
    from scipy.stats import rankdata

    ranks = rankdata(np.median(values, axis=-1), axis=1, nan_policy="omit")
    taken = ~np.isnan(ranks)
    counts = taken.sum(0)
    return np.where(counts > 0, np.where(taken, ranks, 0).sum(0) / np.maximum(counts, 1), np.nan)
