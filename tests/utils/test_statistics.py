"""Tests and estimates against scipy and closed forms."""

import itertools

import numpy as np
import pytest
from scipy import stats

from aswd.utils.statistics import (
    deviations,
    hodges_lehmann,
    holm,
    partial_conjunction,
    seeds_for_ranks,
    seeds_for_t,
    signed_rank,
    stuck,
    t_test,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("count", [5, 11, 40])
def test_signed_rank_is_scipys_without_ties(count):
    values = RNG.standard_normal(count) - 0.3
    below, above = signed_rank(values)
    assert below == pytest.approx(stats.wilcoxon(values, alternative="less", method="exact").pvalue)
    assert above == pytest.approx(stats.wilcoxon(values, alternative="greater", method="exact").pvalue)


def test_signed_rank_with_ties_zeros_and_infinities_is_the_enumeration_of_all_signs():
    values = np.array([-3.0, 1.0, -1.0, 0.0, -2.0, -np.inf, 2.0, -np.inf])
    ranks = stats.rankdata(np.abs(values))[values != 0]
    observed = ranks[values[values != 0] > 0].sum()
    sums = np.array([ranks[np.array(signs)].sum() for signs in itertools.product([False, True], repeat=len(ranks))])
    assert signed_rank(values) == pytest.approx(((sums <= observed).mean(), (sums >= observed).mean()))
    assert signed_rank(np.zeros(6)) == (1, 1)


def test_hodges_lehmann_bounds_are_where_the_test_rejects():
    values = RNG.standard_normal(9)
    centre, low, high = hodges_lehmann(values, 0.05)
    assert centre == pytest.approx(np.median([(a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2)]))
    assert low < centre < high
    assert signed_rank(values - (high + 1e-9))[0] <= 0.05 < signed_rank(values - (high - 1e-9))[0]
    assert signed_rank(values - (low - 1e-9))[1] <= 0.05 < signed_rank(values - (low + 1e-9))[1]
    assert hodges_lehmann(values[:4], 0.05)[1:] == (-np.inf, np.inf)
    assert hodges_lehmann(np.array([1.0, 1, 1, 1, 1, np.inf, 1, 1, 1, 1]))[0] == 1


def test_t_test_is_scipys():
    values = RNG.standard_normal(7) + 0.4
    assert t_test(values)[0] == pytest.approx(stats.ttest_1samp(values, 0, alternative="less").pvalue)
    assert t_test(values)[1] == pytest.approx(stats.ttest_1samp(values, 0, alternative="greater").pvalue)
    assert (t_test(-np.ones(5)), t_test(np.zeros(5))) == ((0, 1), (1, 1))


def test_partial_conjunction_is_bonferroni_for_one_and_the_maximum_for_all():
    p_values = RNG.uniform(size=6)
    assert partial_conjunction(p_values, 6) == p_values.max()
    assert partial_conjunction(p_values, 1) == pytest.approx(min(1, 6 * p_values.min()))
    assert holm(p_values).min() == pytest.approx(min(1, 6 * p_values.min()))
    assert holm(p_values).argsort().tolist() == p_values.argsort().tolist() or (holm(p_values) == 1).any()


def test_deviations_are_those_of_brown_and_forsythe():
    first, second = RNG.standard_normal(12), 3 * RNG.standard_normal(12)
    statistic, _ = stats.levene(first, second, center="median")
    assert stats.f_oneway(deviations(first), deviations(second)).statistic == pytest.approx(statistic)


def test_stuck_runs_are_an_order_above_the_best():
    assert stuck(np.array([-4.8, -4.7, -1.2, -4.9, -4.1])).tolist() == [False, False, True, False, False]
    assert stuck(np.array([-0.9, -1.0, -4.9, -0.8])).tolist() == [True, True, False, True]
    assert not stuck(np.array([-1.0])).any()


@pytest.mark.parametrize(("test", "seeds_for"), [(signed_rank, seeds_for_ranks), (t_test, seeds_for_t)])
def test_the_seeds_that_are_said_to_be_needed_decide(test, seeds_for):
    """With as many as estimated from the quantiles of the distribution, four tests in five reject."""
    count = seeds_for(stats.norm.ppf((np.arange(800) + 0.5) / 800) - 0.5, 0.05)
    rng = np.random.default_rng(2)
    power = np.mean([test(rng.standard_normal(int(count)) - 0.5)[0] <= 0.05 for _ in range(600)])
    assert 0.72 < power < 0.88
    assert seeds_for(np.array([-1.0, 1.0]), 0.05) == np.inf
