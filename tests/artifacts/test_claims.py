"""Verdicts on numbers made up so that the answer is known."""

from types import SimpleNamespace

import numpy as np
import pytest

from aswd.artifacts.claims import CLAIMS, FAILS, HOLDS, OPEN, Evidence, judge


def cell(data, label, values, curve=None, norms=(), failed=0):
    """A cell whose seeds ended at ``values``."""
    finals = {"log10_w2": dict(enumerate(values)), "learned_norm": dict(enumerate(norms))}
    return SimpleNamespace(
        data=data,
        label=label,
        finals=lambda metric: finals[metric],
        failures=lambda: dict.fromkeys(range(failed), "no"),
        curves=lambda metric: curve,
        done=list(range(len(values))),
    )


def verdict(claim, found):
    (one,) = judge((claim,), found, "log10_w2")
    assert one.text == CLAIMS[claim][0]
    return one.verdict


def flows(**finals):
    return [cell(data, label, values) for data, series in finals.items() for label, values in series.items()]


LOW, HIGH, WILD = [-4.8, -4.7, -4.9, -4.8], [-3.9, -3.8, -4.0, -3.9], [-6.0, -1.0, -5.0, -3.0]


def test_differences_are_paired_by_seed():
    """Seeds differ by orders of magnitude, yet one is always a tenth below the other."""
    base = np.array([-1.0, -4.0, -2.5, -6.0])
    evidence = Evidence(flows(knot={"ASWD": base - 0.1, "Linear": base}), "log10_w2")
    assert evidence.below("knot", "ASWD", "Linear") is True
    assert evidence.below("knot", "Linear", "ASWD") is False
    assert evidence.difference("knot", "ASWD", "Linear")[0] == pytest.approx(-0.1)


def test_only_common_seeds_count_and_one_is_not_enough():
    one, other = cell("knot", "ASWD", [1.0, 2.0, 3.0]), cell("knot", "Linear", [2.0])
    assert Evidence([one, other], "log10_w2").below("knot", "ASWD", "Linear") is None


@pytest.mark.parametrize(
    ("finals", "expected"),
    [
        ({"knot": {"ASWD": LOW, "Linear": HIGH}, "heart": {"ASWD": LOW, "Linear": HIGH}}, HOLDS),
        ({"knot": {"ASWD": LOW, "Linear": HIGH}, "heart": {"ASWD": HIGH, "Linear": LOW}}, FAILS),
        ({"knot": {"ASWD": LOW, "Linear": HIGH}, "heart": {"ASWD": WILD, "Linear": HIGH}}, OPEN),
        ({"knot": {"ASWD": LOW, "Linear": HIGH}, "gaussians_25": {"ASWD": HIGH, "Linear": LOW}}, HOLDS),
        ({"knot": {"ASWD": LOW[:1], "Linear": HIGH[:1]}}, OPEN),
        ({"knot": {"ASWD": [], "Linear": []}}, OPEN),
    ],
)
def test_f1(finals, expected):
    assert verdict("F1", flows(**finals)) == expected


def test_f0_wants_finite_norms_and_no_failure():
    assert verdict("F0", [cell("knot", "ASWD", LOW, norms=[1, 2, 3, 4])]) == HOLDS
    assert verdict("F0", [cell("knot", "ASWD", LOW, norms=[1, 2, np.inf, 4])]) == FAILS
    assert verdict("F0", [cell("knot", "ASWD", LOW, norms=[1, 2, 3, 4], failed=1)]) == FAILS
    assert verdict("F0", [cell("knot", "ASWD", [], norms=[])]) == OPEN


def test_f2_compares_iterations_to_the_level_of_swd():
    steps = np.array([1, 5, 10])
    fast = steps, np.array([[1.0, 1.0], [1e-5, 1e-5], [1e-6, 1e-6]])
    slow = steps, np.array([[1.0, 1.0], [1.0, 1.0], [1e-4, 1e-4]])
    ours, theirs = cell("knot", "ASWD", [-6, -6], fast), cell("knot", "Linear", [-4, -4], slow)
    assert verdict("F2", [ours, theirs]) == HOLDS
    ours, theirs = cell("knot", "ASWD", [-4, -4], slow), cell("knot", "Linear", [-4, -4], slow)
    assert verdict("F2", [ours, theirs, cell("knot", "DSWD", [-6, -6], fast)]) == FAILS
    never = steps, np.ones((3, 2))
    assert verdict("F2", [cell("knot", "ASWD", [0, 0], never), cell("knot", "Linear", [-4, -4], never)]) == OPEN


@pytest.mark.parametrize(
    ("swd", "aswd", "expected"),
    [
        ([0.9, 0.95, 0.92], [0.0, 0.1, 0.05], HOLDS),
        ([0.1, 0.12, 0.11], [0.0, 0.1, 0.05], FAILS),
        ([0.9], [0.0], OPEN),
        ([0.1, 0.9], [0, 0], OPEN),
    ],
)
def test_p1(swd, aswd, expected):
    from aswd.artifacts.kinds.projections import _p1

    assert _p1({"SWD": dict(enumerate(swd)), "ASWD": dict(enumerate(aswd))}).verdict == expected


def test_ablations():
    both = {"ASWD": LOW, "ASWD-non-injective": LOW, "ASWD-vanilla": HIGH, "ASWD-vanilla-non-injective": HIGH}
    assert verdict("A1", flows(knot=both)) == HOLDS
    assert verdict("A1", flows(knot={**both, "ASWD-vanilla": [-6.0] * 4})) == FAILS
    gswd = {"Polynomial 3": HIGH, "Polynomial 5": [-0.7] * 4, "Circular": [-0.9] * 4}
    assert verdict("A2", flows(knot={**both, **gswd})) == HOLDS
    assert verdict("A2", flows(knot={**both, "ASWD-vanilla": [-9.0] * 4, **gswd})) == FAILS
    worse = {"ASWD-vanilla-non-injective": [-1.0, -1.1, -0.9, -1.0], "ASWD-non-injective": WILD}
    assert verdict("A3", flows(knot={**both, **worse})) == HOLDS
    assert verdict("A3", flows(knot={**both, "ASWD-vanilla-non-injective": LOW, "ASWD-non-injective": WILD})) == FAILS
    lambdas = {f"ASWD lambda={value}": LOW for value in ("0.01", "0.05")}
    assert verdict("A4", flows(knot={**lambdas, "Linear": HIGH})) == HOLDS
    assert verdict("A4", flows(knot={**lambdas, "ASWD lambda=0.5": [-2.0] * 4, "Linear": HIGH})) == FAILS
    large = {"ASWD lambda=10": HIGH, "ASWD lambda=100": HIGH, "Linear": HIGH}
    assert verdict("A5", flows(knot=large)) == HOLDS
    assert verdict("A5", flows(knot={**large, "ASWD lambda=10": [-6.0] * 4})) == FAILS
    assert verdict("A6", flows(knot={"MAX-GSW-NN 1": HIGH, "MAX-GSW-NN 1 with penalty": HIGH})) == HOLDS
    maps = {"ASWD": LOW, "ASWD-planar": LOW, "ASWD-radial": LOW, **gswd}
    assert verdict("A7", flows(knot=maps, heart=maps, circle={**maps, "ASWD-planar": [0.0] * 4})) == HOLDS
    assert verdict("A8", flows(knot={f"ASWD d_theta={k}d": LOW for k in (2, 3, 4)})) == HOLDS


def test_readings():
    readings = {"ASWD": LOW, "ASWD (paper)": LOW, "ASWD (algorithm1)": LOW, "Linear": HIGH}
    assert verdict("R1", flows(knot=readings, gaussians_25={**readings, "ASWD (paper)": [0.0] * 4})) == HOLDS
    assert verdict("R1", flows(knot={**readings, "ASWD (paper)": [0.0] * 4}, heart=readings)) == FAILS
