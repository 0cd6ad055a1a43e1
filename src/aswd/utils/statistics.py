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


def signed_rank(differences: np.ndarray) -> tuple[float, float]:
    """One-sided p-values of the exact Wilcoxon signed-rank test: that the centre is below zero, and that it is above.

    Ties share their ranks, zeros count for neither side (Pratt), and infinite differences have the largest ranks.

    >>> signed_rank(np.array([-1.0, -2.0, -3.0, -4.0, -5.0]))
    (0.03125, 1.0)
    """
    from scipy.stats import rankdata

    differences = np.asarray(differences, dtype=float)
    ranks = np.rint(2 * rankdata(np.abs(differences))).astype(int)[differences != 0]  # twice: those of ties may be halves
    probabilities = _sums_of_ranks(ranks)
    positive = ranks[differences[differences != 0] > 0].sum()
    return min(1.0, float(probabilities[: positive + 1].sum())), min(1.0, float(probabilities[positive:].sum()))


def _sums_of_ranks(ranks: np.ndarray) -> np.ndarray:
    """The distribution of the sum of those ranks that get a positive sign, each with probability 1/2."""
    probabilities = np.zeros(int(ranks.sum()) + 1)
    probabilities[0] = 1.0
    for rank in ranks:
        shifted = np.concatenate([np.zeros(rank), probabilities[: len(probabilities) - rank]])
        probabilities = (probabilities + shifted) / 2
    return probabilities


def hodges_lehmann(values: np.ndarray, level: float = 0.05) -> tuple[float, float, float]:
    """The centre of symmetry: median of the means of all pairs, and its lower and upper bound by the signed-rank test.

    Args:
        values: at least one.
        level: of either one-sided bound, which is infinite where the values are too few for it.
    """
    values = np.asarray(values, dtype=float)
    low, high = np.triu_indices(len(values))
    with np.errstate(invalid="ignore"):
        means = np.sort(np.nan_to_num((values[low] + values[high]) / 2, nan=0.0, posinf=np.inf, neginf=-np.inf))
    cut = int((np.cumsum(_sums_of_ranks(np.arange(1, len(values) + 1))) <= level).sum())
    bounds = (means[cut - 1], means[len(means) - cut]) if cut else (-np.inf, np.inf)
    return float(np.median(means)), float(bounds[0]), float(bounds[1])


def t_test(differences: np.ndarray) -> tuple[float, float]:
    """One-sided p-values of the t-test: that the mean is below zero, and that it is above."""
    from scipy.stats import t

    differences = np.asarray(differences, dtype=float)
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(len(differences))
    if error == 0:
        return float(mean >= 0), float(mean <= 0)
    below = float(t.cdf(mean / error, len(differences) - 1))
    return below, 1 - below


def holm(p_values: np.ndarray) -> np.ndarray:
    """p-values adjusted for their number by Holm's step-down method, in the given order.

    >>> [round(float(p), 3) for p in holm(np.array([0.01, 0.04, 0.03]))]
    [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values)
    adjusted = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    result = np.empty_like(p_values)
    result[order] = np.minimum(adjusted, 1)
    return result


def partial_conjunction(p_values: np.ndarray, needed: int) -> float:
    """p-value that at least ``needed`` of some effects are there (Benjamini and Heller, 2008): the largest p-value if all must be.

    >>> partial_conjunction(np.array([0.01, 0.2, 0.04]), 3), partial_conjunction(np.array([0.01, 0.2, 0.04]), 2)
    (0.2, 0.08)
    """
    ordered = np.sort(np.asarray(p_values, dtype=float))
    return min(1.0, float((len(ordered) - needed + 1) * ordered[needed - 1]))


def deviations(values: np.ndarray) -> np.ndarray:
    """Absolute deviations from the median, whose means Brown and Forsythe compare to compare spreads."""
    values = np.asarray(values, dtype=float)
    return np.abs(values - np.median(values))


def stuck(values: np.ndarray) -> np.ndarray:
    """Which logarithms (to base ten) are more than one above the smallest: runs that ended an order of magnitude above the best."""
    values = np.asarray(values, dtype=float)
    return values > values.min() + 1


def seeds_for_ranks(differences: np.ndarray, level: float, power: float = 0.8) -> float:
    """About how many differences like these the signed-rank test needs to decide on which side of zero they are (Noether, 1987)."""
    differences = np.asarray(differences, dtype=float)
    first, second = np.triu_indices(len(differences), 1 if len(differences) > 1 else 0)
    with np.errstate(invalid="ignore"):
        sums = differences[first] + differences[second]
    share = np.mean((sums < 0) + 0.5 * ~((sums < 0) | (sums > 0)))
    least = np.ceil(np.log2(1 / level))  # with fewer the smallest p-value is above the level
    return float("inf") if share == 0.5 else float(max(least, np.ceil(sum(_quantiles(level, power)) ** 2 / (3 * (share - 0.5) ** 2))))


def seeds_for_t(differences: np.ndarray, level: float, power: float = 0.8) -> float:
    """The same for the t-test, in normal approximation."""
    differences = np.asarray(differences, dtype=float)
    mean, (first, second) = differences.mean(), _quantiles(level, power)
    count = np.inf if mean == 0 else np.ceil((first + second) ** 2 * differences.var(ddof=1) / mean**2 + first**2 / 2)
    return float(max(2, count))


def log_exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The slope of log(t / log N) over log N, which is one for N log N; NaN for fewer than two sizes.

    >>> n = [1024, 4096, 16384]
    >>> round(log_exponent(n, [k * np.log(k) for k in n]), 6), round(log_exponent(n, [k**2 * np.log(k) for k in n]), 6)
    (1.0, 2.0)
    """
    if len(sizes) < 2:
        return float("nan")
    logs = np.log(sizes)
    return float(np.polyfit(logs, np.log(np.asarray(seconds) / logs), 1)[0])


def _quantiles(level: float, power: float) -> tuple[float, float]:
    """Of the normal distribution, for a one-sided test."""
    from scipy.stats import norm

    return float(norm.ppf(1 - level)), float(norm.ppf(power))
