"""Ranks, intervals and verdicts against brute force and closed cases."""

import re
from itertools import product

import numpy as np
import pytest

from aswd.artifacts.claims import FAILS, HOLDS, OPEN
from aswd.leaderboard.drawing import pareto_front, quality
from aswd.leaderboard.protocol import Claim, Discipline
from aswd.leaderboard.ranking import Results, difference, judge, rank
from aswd.utils.statistics import mean_ranks, paired_bootstrap

TASK = Discipline("plane", "flow", settings={"a": [], "b": []}, tuned_on=["a"], scales={})


def results(finals, steps=(1, 10), name="plane", start=1.0):
    """Results with curves from ``start`` to ``finals [settings, methods, seeds]``."""
    finals = np.asarray(finals, dtype=float)
    settings, methods = ["a", "b"][: len(finals)], ["swd", "ebsw", "aswd"][: finals.shape[1]]
    curves = {
        (setting, method): (np.array(steps), np.stack([np.full(finals.shape[2], start), finals[i, j]]))
        for (i, setting), (j, method) in product(enumerate(settings), enumerate(methods))
        if not np.isnan(finals[i, j]).any()
    }
    discipline = Discipline(name, "flow", settings={s: [] for s in settings}, tuned_on=["a"], scales={})
    return Results(discipline, settings, methods, curves, finals.shape[2])


def test_mean_ranks_against_counting():
    values = np.random.default_rng(0).integers(0, 6, size=(5, 7, 3)).astype(float)  # with ties
    medians = np.median(values, 2)
    expected = [np.mean([1 + (case < case[j]).sum() + ((case == case[j]).sum() - 1) / 2 for case in medians]) for j in range(7)]
    np.testing.assert_allclose(mean_ranks(values), expected)


def test_what_does_not_take_part_has_no_rank_and_what_fails_is_last():
    values = np.array([[[1.0, 1.0], [np.nan, np.nan], [np.inf, np.inf]], [[2.0, 2.0], [1.0, 1.0], [3.0, 3.0]]])
    assert mean_ranks(values).tolist() == [1.5, 1.0, 2.5]
    assert np.isnan(mean_ranks(np.full((1, 2, 3), np.nan))).all()


def test_the_bootstrap_of_a_mean_has_its_standard_error():
    values = np.random.default_rng(1).normal(size=(2, 400))
    drawn = paired_bootstrap([values], lambda arrays: arrays[0].mean(-1), 4000)
    np.testing.assert_allclose(drawn.std(0), values.std(1) / 20, rtol=0.05)
    paired = paired_bootstrap([np.stack([values[0], values[0] + 1])], lambda arrays: np.diff(arrays[0].mean(-1)), 10)
    np.testing.assert_allclose(paired, 1)  # what seeds share cancels


def test_clear_ranks_have_no_width_and_close_ones_do():
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(2, 1, 20))
    clear = rank([results(np.exp(noise + np.array([0.0, 1.0, 2.0])[:, None]) / 100)], 200)
    assert clear.order() == ["swd", "ebsw", "aswd"]
    assert clear.table["overall"]["ebsw"] == (2.0, 0.0, 2.0, 2.0)  # paired: the seeds' common noise does not matter
    close = rank([results(np.exp(rng.normal(size=(2, 3, 20))) / 100)], 200)
    value, error, low, high = close.table["plane"]["swd"]
    assert low <= value <= high
    assert error > 0


def test_overall_is_the_mean_of_the_ranked_tasks_of_those_that_take_part_in_all():
    first, second = results([[[1.0], [2.0], [3.0]]]), results([[[3.0], [1.0], [np.nan]]], name="space")
    ranks = rank([first, second], 3)
    assert {method: values[0] for method, values in ranks.table["overall"].items()} == {"swd": 1.5, "ebsw": 1.5}
    assert ranks.table["plane"]["aswd"][0] == 3


def test_stuck_runs_end_an_order_of_magnitude_above_the_best_or_fail():
    found = results([[[0.01, 0.2, 0.09, np.inf], [np.inf] * 4, [0.01] * 4]])
    assert [found.stuck(method) for method in found.methods] == [0.5, 1.0, 0.0]


def costs(**seconds):
    return {("plane", method): {"seconds": value, "sorts": 1} for method, value in seconds.items()}


def test_differences_at_equal_seconds_stop_the_dearer_method_earlier():
    curves = {("a", "swd"): (np.array([1, 5, 10]), np.array([[1.0] * 5, [0.1] * 5, [0.01] * 5]))}
    curves["a", "ebsw"] = (np.array([1, 5, 10]), np.array([[1.0] * 5, [0.01] * 5, [0.001] * 5]))
    found = Results(Discipline("plane", "flow", {"a": []}, ["a"], {}), ["a"], ["swd", "ebsw"], curves, 5)
    assert difference(found, {}, "ebsw", "swd", "steps") == pytest.approx((-1, -1, -1))
    assert difference(found, costs(swd=1.0, ebsw=2.0), "ebsw", "swd", "seconds") == pytest.approx((0, 0, 0))
    assert difference(found, costs(swd=1.0, ebsw=10.0), "ebsw", "swd", "seconds") == pytest.approx((2, 2, 2))
    assert difference(found, costs(swd=1.0, ebsw=10 / 3), "ebsw", "swd", "seconds") == pytest.approx((1, 1, 1))  # between evaluations
    assert difference(found, {}, "ebsw", "swd", "seconds") is None
    assert difference(found, {}, "aswd", "swd", "steps") is None


@pytest.mark.parametrize(
    ("factor", "seconds", "verdict"), [(0.1, 1.0, HOLDS), (10, 1.0, FAILS), (0.1, 20.0, HOLDS), (1, 1.0, OPEN)], ids=str
)
def test_a_claim_is_judged_at_equal_steps_and_says_what_is_left_at_equal_seconds(factor, seconds, verdict):
    rng = np.random.default_rng(3)
    finals = 0.01 * np.exp(rng.normal(size=(2, 2, 20)) / 10) * np.array([1, factor])[:, None]
    claim = Claim("X", "EBSW ends below SW.", "ebsw", "swd")
    judged = judge(claim, [results(finals)], costs(swd=1.0, ebsw=seconds))
    assert judged.verdict == verdict
    effects = dict(re.findall(r"at equal (\w+) ([+-][\d.]+)", judged.numbers))
    assert float(effects["steps"]) == pytest.approx(np.log10(factor), abs=0.05)
    assert float(effects["seconds"]) == pytest.approx(np.log10(factor), abs=0.05) if seconds == 1 else float(effects["seconds"]) > 1
    assert judge(claim, [results(finals[:, :1])], costs(swd=1.0)).verdict == OPEN


def test_the_front_against_all_pairs():
    points = {str(i): tuple(point) for i, point in enumerate(np.random.default_rng(4).random((40, 2)))}
    best = {a for a in points if not any(points[b][0] <= points[a][0] and points[b][1] <= points[a][1] for b in points if b != a)}
    assert set(pareto_front(points)) == best


def test_quality_is_relative_to_swd():
    found = results([[[0.1] * 3, [0.01] * 3]])
    assert quality([found], costs(swd=2.0, ebsw=6.0), ["swd", "ebsw"]) == {"swd": (1.0, 0.0), "ebsw": pytest.approx((3.0, -1.0))}
