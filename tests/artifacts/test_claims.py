"""Verdicts on made-up numbers with known answers."""

from types import SimpleNamespace

import numpy as np
import pytest

from aswd.artifacts.claims import CLAIMS, FAILS, HOLDS, OPEN, Evidence, claim, evidence, judge, load_claim
from aswd.utils.errors import UserError


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


def verdict(name, cells):
    (result,) = judge((name,), cells, "log10_w2")
    assert result.text == CLAIMS[name].text
    return result.verdict


def flows(**finals):
    return [cell(data, label, values) for data, series in finals.items() for label, values in series.items()]


LOW, HIGH, WILD = [-4.8, -4.7, -4.9, -4.8, -4.8], [-3.9, -3.8, -4.0, -3.9, -3.9], [-6.0, -1.0, -5.0, -3.0, -4.0]


def test_differences_are_paired_by_seed():
    """Seeds differ by orders of magnitude, yet one is always a tenth below the other."""
    base = np.array([-1.0, -4.0, -2.5, -6.0, -3.0])
    known = Evidence(flows(knot={"ASWD": base - 0.1, "Linear": base}), "log10_w2")
    assert known.below("knot", "ASWD", "Linear") is True
    assert known.below("knot", "Linear", "ASWD") is False
    assert known.difference("knot", "ASWD", "Linear")[0] == pytest.approx(-0.1)


def test_only_common_seeds_count_and_four_are_not_enough():
    for count, expected in ((4, None), (5, True)):
        first, second = cell("knot", "ASWD", LOW), cell("knot", "Linear", HIGH[:count])
        assert Evidence([first, second], "log10_w2").below("knot", "ASWD", "Linear") is expected


@pytest.mark.parametrize(
    ("finals", "expected"),
    [
        ({"knot": {"ASWD": LOW, "Linear": HIGH}, "heart": {"ASWD": LOW, "Linear": HIGH}}, HOLDS),
        ({"knot": {"ASWD": LOW, "Linear": HIGH}, "heart": {"ASWD": HIGH, "Linear": LOW}}, FAILS),
        ({"knot": {"ASWD": LOW, "Linear": HIGH}, "heart": {"ASWD": WILD, "Linear": HIGH}}, OPEN),
        ({"knot": {"ASWD": LOW, "Linear": HIGH}, "gaussians_25": {"ASWD": HIGH, "Linear": LOW}}, HOLDS),
        ({"knot": {"ASWD": LOW[:1], "Linear": HIGH[:1]}}, OPEN),
        ({"knot": {"ASWD": LOW[:4], "Linear": HIGH[:4]}}, OPEN),
        ({"knot": {"ASWD": [], "Linear": []}}, OPEN),
    ],
)
def test_f1(finals, expected):
    assert verdict("F1", flows(**finals)) == expected


def test_f0_wants_finite_norms_and_no_failure():
    assert verdict("F0", [cell("knot", "ASWD", LOW, norms=[1, 2, 3, 4, 5])]) == HOLDS
    assert verdict("F0", [cell("knot", "ASWD", LOW, norms=[1, 2, np.inf, 4, 5])]) == FAILS
    assert verdict("F0", [cell("knot", "ASWD", LOW, norms=[1, 2, 3, 4, 5], failed=1)]) == FAILS
    assert verdict("F0", [cell("knot", "ASWD", [], norms=[])]) == OPEN
    assert verdict("F0", [cell("knot", "ASWD", LOW[:4], norms=[1, 2, 3, 4]), cell("heart", "ASWD", LOW, norms=[1] * 5)]) == OPEN


def test_f2_compares_iterations_to_the_level_of_swd():
    steps = np.array([1, 5, 10])
    fast, slow = ((steps, np.tile(np.array(values)[:, None], 5)) for values in ([1.0, 1e-5, 1e-6], [1.0, 1.0, 1e-4]))
    ours, theirs = cell("knot", "ASWD", [-6] * 5, fast), cell("knot", "Linear", [-4] * 5, slow)
    assert verdict("F2", [ours, theirs]) == HOLDS
    ours, theirs = cell("knot", "ASWD", [-4] * 5, slow), cell("knot", "Linear", [-4] * 5, slow)
    assert verdict("F2", [ours, theirs, cell("knot", "DSWD", [-6] * 5, fast)]) == FAILS
    never = steps, np.ones((3, 5))
    assert verdict("F2", [cell("knot", "ASWD", [0] * 5, never), cell("knot", "Linear", [-4] * 5, never)]) == OPEN


@pytest.mark.parametrize(
    ("swd", "aswd", "expected"),
    [
        ([0.9, 0.95, 0.92, 0.93, 0.94], [0.0, 0.1, 0.05, 0.04, 0.06], HOLDS),
        ([0.1, 0.12, 0.11, 0.1, 0.1], [0.0, 0.1, 0.05, 0.04, 0.06], FAILS),
        ([0.9, 0.95, 0.92, 0.93], [0.0, 0.1, 0.05, 0.04], OPEN),
        ([0.1, 0.9, 0.1, 0.9, 0.5], [0, 0, 0, 0, 0], OPEN),
    ],
)
def test_p1(swd, aswd, expected):
    from aswd.artifacts.drawing.projections import _p1

    assert _p1({"SWD": dict(enumerate(swd)), "ASWD": dict(enumerate(aswd))}).verdict == expected


def test_ablations():
    both = {"ASWD": LOW, "ASWD-non-injective": LOW, "ASWD-vanilla": HIGH, "ASWD-vanilla-non-injective": HIGH}
    assert verdict("A1", flows(knot=both)) == HOLDS
    assert verdict("A1", flows(knot={**both, "ASWD-vanilla": [-6.0] * 5})) == FAILS
    gswd = {"Polynomial 3": HIGH, "Polynomial 5": [-0.7] * 5, "Circular": [-0.9] * 5}
    assert verdict("A2", flows(knot={**both, **gswd})) == HOLDS
    assert verdict("A2", flows(knot={**both, "ASWD-vanilla": [-9.0] * 5, **gswd})) == FAILS
    worse = {"ASWD-vanilla-non-injective": [-1.0, -1.1, -0.9, -1.0, -1.0], "ASWD-non-injective": WILD}
    assert verdict("A3", flows(knot={**both, **worse})) == HOLDS
    assert verdict("A3", flows(knot={**both, "ASWD-vanilla-non-injective": LOW, "ASWD-non-injective": WILD})) == FAILS
    lambdas = {f"ASWD lambda={value}": LOW for value in ("0.01", "0.05")}
    assert verdict("A4", flows(knot={**lambdas, "Linear": HIGH})) == HOLDS
    assert verdict("A4", flows(knot={**lambdas, "ASWD lambda=0.5": [-2.0] * 5, "Linear": HIGH})) == FAILS
    large = {"ASWD lambda=10": HIGH, "ASWD lambda=100": HIGH, "Linear": HIGH}
    assert verdict("A5", flows(knot=large)) == HOLDS
    assert verdict("A5", flows(knot={**large, "ASWD lambda=10": [-6.0] * 5})) == FAILS
    assert verdict("A6", flows(knot={"MAX-GSW-NN 1": HIGH, "MAX-GSW-NN 1 with penalty": HIGH})) == HOLDS
    maps = {"ASWD": LOW, "ASWD-planar": LOW, "ASWD-radial": LOW, **gswd}
    assert verdict("A7", flows(knot=maps, heart=maps, circle={**maps, "ASWD-planar": [0.0] * 5})) == HOLDS
    assert verdict("A8", flows(knot={f"ASWD d_theta={k}d": LOW for k in (2, 3, 4)})) == HOLDS


def test_readings():
    readings = {"ASWD": LOW, "ASWD (paper)": LOW, "ASWD (algorithm1)": LOW, "Linear": HIGH}
    assert verdict("R1", flows(knot=readings, gaussians_25={**readings, "ASWD (paper)": [0.0] * 5})) == HOLDS
    assert verdict("R1", flows(knot={**readings, "ASWD (paper)": [0.0] * 5}, heart=readings)) == FAILS


def test_the_confidence_level_is_one_constant(monkeypatch):
    """Differences whose 95 % interval contains zero and whose 80 % interval does not."""
    cells = flows(knot={"ASWD": [-1.0] * 5, "Linear": [-0.8, -0.9, -0.4, -1.0, -0.9]})
    assert verdict("F1", cells) == OPEN
    monkeypatch.setattr(evidence, "CONFIDENCE", 0.8)
    assert verdict("F1", cells) == HOLDS


def test_a_claim_that_cannot_be_judged_is_not_decided_and_says_why():
    (result,) = judge(("A6",), flows(knot={"Mine": LOW}), "log10_w2")
    assert (result.verdict, "no series 'MAX-GSW-NN 1' on knot" in result.numbers) == (OPEN, True)


def always(known):
    """The answer is always yes."""
    return True, f"{len(known.cells)} cells"


def strange(known):
    return "perhaps", ""


def test_claims_of_others_by_dotted_name_or_decorator(monkeypatch):
    cells = flows(knot={"Mine": LOW})
    (result,) = judge((f"{__name__}.always",), cells, "log10_w2")
    assert (result.claim, result.text, result.verdict, result.numbers) == ("always", "The answer is always yes.", HOLDS, "1 cells")
    assert judge((f"{__name__}.strange",), cells, "log10_w2")[0].verdict == OPEN
    monkeypatch.setattr(evidence, "CLAIMS", dict(CLAIMS))
    claim("X1", "Registered.")(lambda known: (False, "no"))
    assert judge(("X1",), cells, "log10_w2")[0].verdict == FAILS
    with pytest.raises(ValueError, match=r"the name 'F1' is taken by the claim of aswd\.artifacts\.claims\.flow"):
        claim("F1", "Another.")(always)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("F11", "mine.yaml: claims must be known, .* got 'F11': known are: A1"),
        ("no_such_module.claim", "mine.yaml: claims must name a class or function that can be imported; got 'no_such_module.claim'"),
        (f"{__name__}.LOW", "mine.yaml: claims must name functions of the evidence"),
    ],
)
def test_unknown_claims_are_a_sentence(name, sentence):
    with pytest.raises(UserError, match=sentence):
        load_claim(name, "mine.yaml")
