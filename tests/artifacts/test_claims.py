"""Verdicts on made-up numbers with known answers."""

import numpy as np
import pytest

from aswd.artifacts.claims import (
    CLAIMS,
    FAILS,
    HOLDS,
    LEVEL,
    MIN_SEEDS,
    OPEN,
    Evidence,
    answers,
    claim,
    every,
    fact,
    judge,
    load_claim,
    registry,
    share,
)
from aswd.artifacts.claims.answers import conclude
from aswd.artifacts.claims.evidence import inside
from aswd.artifacts.claims.flow import GSWDS, LEVELS
from aswd.artifacts.results import Numbers
from aswd.utils.errors import UserError

SEEDS = 20
RIVALS = ("Linear", "DSWD")


def series(centre, spread=0.1, count=SEEDS, seed=0, stuck=0):
    """Final values about a centre, of which some are stuck three orders of magnitude above."""
    values = centre + spread * np.random.default_rng([seed, abs(int(100 * centre))]).standard_normal(count)
    values[:stuck] += 3
    return values


def cell(data, label, failed=(), **quantities):
    """A cell with some numbers of every seed."""
    known = {name: dict(enumerate(np.asarray(values, dtype=float))) for name, values in quantities.items()}
    table = {_QUANTITIES.get(name, name): values for name, values in known.items()}
    for values in table.values():
        for seed in failed:
            values.pop(seed, None)
    return Numbers(data, label, list(range(max(map(len, known.values())))), table, list(failed))


_QUANTITIES = {"growth": "growth(learned_norm)", "last": "last_step(log10_w2)"}
_QUANTITIES |= {f"first_{-level}": f"first(log10_w2, {level})" for level in LEVELS}


def flows(**finals):
    """Cells by data set and label, from final values."""
    return [cell(data, label, log10_w2=values) for data, known in finals.items() for label, values in known.items()]


def ruling(name, cells, metric="log10_w2", published=None):
    (result,) = judge((name,), Evidence(cells, metric, published))
    assert result.text == CLAIMS[name].text
    assert "cannot be judged" not in result.numbers, result.numbers
    return result


def verdict(name, cells, metric="log10_w2"):
    return ruling(name, cells, metric).verdict


LOW, HIGH, WILD = series(-4.8), series(-3.9), series(-3.9, 2.0)


# The rules


def test_comparisons_are_paired_by_seed():
    """Seeds differ by orders of magnitude, yet one is always a tenth below the other."""
    base = series(-3.0, 2.0, 10)
    known = Evidence(flows(knot={"ASWD": base - 0.1, "Linear": base}), "log10_w2")
    assert known.below("knot", "ASWD", "Linear").value is True
    assert known.below("knot", "Linear", "ASWD").value is False
    assert known.below("knot", "ASWD", "Linear").text == "ASWD - Linear: -0.1 (-0.1 to -0.1, p = 0.001), n = 10"
    assert known.below("knot", "ASWD", "Linear", by=0.2).value is False


def test_only_common_seeds_count_and_four_are_not_enough():
    for count, expected in ((4, None), (5, True)):
        known = Evidence([cell("knot", "ASWD", log10_w2=LOW), cell("knot", "Linear", log10_w2=HIGH[:count])], "log10_w2")
        answer = known.below("knot", "ASWD", "Linear")
        assert answer.value is expected
        assert f"n = {count}" in answer.text
        assert answer.seeds(LEVEL) >= MIN_SEEDS
    assert inside("x", np.full(4, -1.0), -np.inf, 0).value is None


def test_stuck_seeds_do_not_decide_alone_but_failed_ones_count():
    """Two of twenty are stuck: the mean is spoiled, the ranks are not. Failed seeds are above all others."""
    known = Evidence(flows(knot={"ASWD": series(-4.8, stuck=2), "Linear": HIGH}), "log10_w2")
    assert known.below("knot", "ASWD", "Linear").value is True
    half = [cell("knot", "ASWD", failed=range(10), log10_w2=LOW), cell("knot", "Linear", log10_w2=HIGH)]
    assert Evidence(half, "log10_w2").below("knot", "ASWD", "Linear").value is not True
    most = [cell("knot", "ASWD", failed=range(17), log10_w2=LOW), cell("knot", "Linear", log10_w2=HIGH)]
    assert Evidence(most, "log10_w2").below("knot", "ASWD", "Linear").value is False


def test_equality_needs_both_sides_of_the_margin():
    known = Evidence(flows(knot={"A": HIGH, "B": series(-3.9, seed=1), "C": series(-3.2), "D": WILD}), "log10_w2")
    assert known.within("knot", "A", "B", 0.5).value is True
    assert known.within("knot", "A", "C", 0.5).value is False
    assert known.within("knot", "C", "A", 0.5).value is False
    assert known.within("knot", "A", "D", 0.5).value is None


def test_first_passages_are_censored_at_the_end():
    def passages(label, steps):
        return cell("knot", label, **{"last": [2000] * 12, "first_1": steps})

    base = 500 + 100.0 * np.arange(12)
    known = Evidence([passages("A", base - 20), passages("B", base), passages("C", [np.inf] * 12)], "log10_w2")
    assert known.sooner("knot", "A", "B", -1).value is True
    assert known.sooner("knot", "B", "A", -1).value is False
    assert known.sooner("knot", "B", "C", -1).value is True
    assert known.sooner("knot", "C", "C", -1).value is None
    one_late = base - 20
    one_late[3] = base[3] + 5
    known = Evidence([passages("A", one_late), passages("B", base)], "log10_w2")
    assert known.sooner("knot", "A", "B", -1).value is True  # "in every seed" would not be decided


def test_spread_is_compared_about_the_medians():
    known = Evidence(flows(knot={"A": LOW, "B": series(-2.0, 0.8)}, heart={"A": HIGH, "B": series(-2.0, 0.8, seed=3)}), "log10_w2")
    assert known.steadier("A", "B").value is True
    assert known.steadier("B", "A").value is False
    known = Evidence(flows(knot={"A": LOW, "B": series(-2.0, 0.1)}), "log10_w2")
    assert known.steadier("A", "B").value is None


def test_yes_needs_all_and_no_correction_and_no_needs_holm():
    """Twenty comparisons at 0.04 are a yes; one at 0.04 against is a no only by itself."""
    yes, against = answers.Answer(0.04, 0.9, "yes", 1.0), answers.Answer(0.9, 0.04, "against", -1.0)
    certain = answers.Answer(0.9, 0.001, "certain", -1.0)
    assert every([yes] * 20).value is True
    assert every([against]).value is False
    assert every([*[yes] * 19, against]).value is None
    assert every([*[yes] * 19, certain]).value is False
    assert every([*[yes] * 19, certain]).text == "certain"
    assert every([yes, fact(None)]).value is None
    assert every([]).value is None
    assert share({"a": yes, "b": against}, 1).value is None  # one of two must be significant for their number
    assert share({"a": answers.Answer(0.02, 0.9, "", 1.0), "b": against}, 1).value is True
    assert share({"a": certain, "b": certain}, 1).value is False
    assert conclude(share({"a": certain, "b": True}, 1))[0] == HOLDS


@pytest.mark.parametrize("rule", ["below", "within", "sooner", "every", "share"])
def test_a_rule_is_wrong_in_at_most_five_of_a_hundred_cases(rule):
    """Where the truth is on the border, with heavy tails: 600 experiments, of which the level and three standard errors may be wrong."""
    rng, wrong, cases = np.random.default_rng(7), 0, 600
    for _ in range(cases):
        heavy = np.where(rng.random((4, 12)) < 0.1, 3.0, 0.1) * rng.standard_normal((4, 12))
        if rule == "below":
            wrong += inside("", heavy[0], -np.inf, 0, ranks=True).value is True
        elif rule == "within":
            wrong += inside("", heavy[0] + 0.5, -0.5, 0.5, ranks=True).value is True
        elif rule == "sooner":
            wrong += inside("", np.clip(np.round(100 * heavy[0]), -60, 60), -np.inf, 0, ranks=True).value is True
        elif rule == "every":  # one of four is not true
            shifted = heavy - np.array([[2.0], [2.0], [2.0], [0.0]])
            wrong += every([inside("", each, -np.inf, 0, ranks=True) for each in shifted]).value is True
        else:  # all four are true, just so
            wrong += every([inside("", each, -np.inf, 0, ranks=True) for each in heavy]).value is False
    assert wrong / cases <= LEVEL + 3 * (LEVEL * (1 - LEVEL) / cases) ** 0.5


def test_not_decided_says_how_many_seeds_would_decide():
    """With as many of the same kind, four in five experiments are decided."""
    values = series(-0.1, 0.4, 12, seed=5)
    word, text = conclude(every([inside("x", values, -np.inf, 0, ranks=True)]))
    assert word == OPEN
    count = int(text.split("about ")[1].split()[0])
    rng = np.random.default_rng(3)
    decided = [inside("x", rng.choice(values, count), -np.inf, 0, ranks=True).value for _ in range(200)]
    assert 0.6 < np.mean([value is not None for value in decided]) < 0.95
    assert "would decide" not in conclude(fact(None))[1]


# The claims


@pytest.mark.parametrize(
    ("finals", "expected"),
    [
        ({"knot": {"ASWD": LOW, "Linear": HIGH}, "heart": {"ASWD": LOW, "Linear": HIGH}}, HOLDS),
        ({"knot": {"ASWD": LOW, "Linear": HIGH}, "heart": {"ASWD": HIGH, "Linear": LOW}}, FAILS),
        ({"knot": {"ASWD": LOW, "Linear": HIGH}, "heart": {"ASWD": WILD, "Linear": HIGH}}, OPEN),
        ({"knot": {"ASWD": LOW, "Linear": HIGH}, "gaussians_25": {"ASWD": HIGH, "Linear": LOW, "DSWD": HIGH + 1}}, HOLDS),
        ({"knot": {"ASWD": LOW, "Linear": HIGH}, "gaussians_25": {"ASWD": LOW, "Linear": HIGH, "DSWD": HIGH}}, FAILS),
        ({"knot": {"ASWD": LOW[:4], "Linear": HIGH[:4]}}, OPEN),
    ],
)
def test_f1(finals, expected):
    finals = {data: {**dict.fromkeys(("Linear", "DSWD"), known["Linear"]), **known} for data, known in finals.items()}
    assert verdict("F1", flows(**finals)) == expected


def test_f0_wants_norms_that_settle_and_no_failure():
    def norms(growth, **more):
        return [cell("knot", "ASWD lambda=1", learned_norm=series(9.0), growth=growth, **more)]

    assert verdict("F0", norms(series(0.05, 0.02))) == HOLDS
    assert verdict("F0", norms(series(0.9, 0.02))) == FAILS
    assert verdict("F0", norms(series(0.25, 0.2))) == OPEN
    assert verdict("F0", norms(series(0.05, 0.02), failed=[0])) == FAILS
    assert verdict("F0", norms(np.full(4, 0.05))) == OPEN


def test_f2_is_judged_at_every_level_against_every_rival():
    def passages(label, *steps):
        return cell("knot", label, last=[2000] * 12, **dict(zip(("first_1", "first_2", "first_3"), steps, strict=True)))

    fast, slow, never = 100.0 + np.arange(12), 400.0 + np.arange(12), np.full(12, np.inf)
    aswd, never_there = passages("ASWD", fast, fast + 50, fast + 90), passages("DSWD", slow, slow, never)
    assert verdict("F2", [aswd, never_there, passages("Linear", slow, slow, slow)]) == HOLDS
    assert verdict("F2", [aswd, never_there, passages("Linear", slow, fast - 5, slow)]) == FAILS
    assert verdict("F2", [passages("ASWD", fast, fast, never), passages("Linear", slow, slow, never)]) == OPEN


def test_p1_and_m2():
    def shares(swd, aswd):
        return [cell("gaussians_100d", label, overlapping=values) for label, values in (("SWD", swd), ("ASWD", aswd))]

    few = [0.0, 0.1, 0.05, 0.04, 0.06]
    assert verdict("P1", shares([0.9, 0.95, 0.92, 0.93, 0.94], few), "overlapping") == HOLDS
    assert verdict("P1", shares([0.1, 0.12, 0.11, 0.1, 0.1], few), "overlapping") == FAILS
    assert verdict("P1", shares([0.9, 0.95, 0.92, 0.93], few[:4]), "overlapping") == OPEN

    def times(power):
        noise = 1 + 0.02 * np.random.default_rng(0).standard_normal((3, 5))
        sizes = (2048, 4096, 8192)
        return [cell(f"N={n}", "ASWD", seconds=n**power * np.log(n) * noise[i]) for i, n in enumerate(sizes)]

    assert verdict("M2", times(1.0), "seconds") == HOLDS
    assert verdict("M2", times(2.0), "seconds") == FAILS
    assert verdict("M2", times(1.0)[:2], "seconds") == OPEN


def test_ablations_in_all_their_halves():
    both = {"ASWD": LOW, "ASWD-non-injective": LOW, "ASWD-vanilla": HIGH, "ASWD-vanilla-non-injective": HIGH}
    gswd = dict(zip(GSWDS, (HIGH, series(-0.7), series(-0.9)), strict=True))
    assert verdict("A1", flows(knot={**both, **gswd})) == HOLDS
    assert verdict("A1", flows(knot={**both, **gswd, "Circular": series(-6.0)})) == FAILS
    assert verdict("A2", flows(knot={**both, **gswd})) == FAILS  # like one of three is not enough
    assert verdict("A2", flows(knot={**both, **dict.fromkeys(GSWDS, series(-3.8))})) == HOLDS
    worse = {"ASWD-vanilla-non-injective": series(-1.0), "ASWD-non-injective": WILD}
    assert verdict("A3", flows(knot={**both, **worse})) == HOLDS
    assert verdict("A3", flows(knot={**both, **worse, "ASWD": series(-4.8, 4.0), "ASWD-non-injective": LOW})) == FAILS
    assert verdict("A3", flows(knot={**both, **worse}, heart={**both, **worse, "ASWD-vanilla-non-injective": LOW})) == FAILS
    large = {"ASWD": LOW, "ASWD lambda=10": HIGH, "ASWD lambda=100": HIGH, "Linear": series(-3.9, seed=2)}
    assert verdict("A5", flows(knot=large)) == HOLDS
    assert verdict("A5", flows(knot={**large, "ASWD": HIGH + 0.2})) == FAILS  # on par, but not worse
    assert verdict("A5", flows(knot={**large, "ASWD lambda=10": series(-2.0)})) == FAILS
    nets = {"ASWD": LOW, "MAX-GSW-NN 1": HIGH, "MAX-GSW-NN 1 with penalty": series(-3.8)}
    assert verdict("A6", flows(knot=nets)) == HOLDS
    assert verdict("A6", flows(knot={**nets, "ASWD": series(-3.0)})) == FAILS
    maps = {"ASWD": LOW, "ASWD-planar": LOW + 0.2, "ASWD-radial": LOW + 0.2, **gswd}
    stuck = {**maps, "Polynomial 3": series(-6.0)}
    assert verdict("A7", flows(knot=maps, heart=maps, circle=stuck)) == HOLDS
    assert verdict("A7", flows(knot={**maps, "ASWD-radial": LOW - 0.2})) == FAILS
    assert verdict("A9", flows(knot={"ASWD, a": LOW, "ASWD, b": series(-4.7), "Linear": HIGH})) == HOLDS


@pytest.mark.parametrize("name", ["A4", "A8"])
def test_what_should_not_matter_must_be_alike_and_ahead(name):
    alike = {f"ASWD {value}": series(-4.8, seed=value) for value in (1, 2, 3)}
    assert verdict(name, flows(knot={**alike, "Linear": HIGH})) == HOLDS
    assert verdict(name, flows(knot={**alike, "ASWD 4": series(-2.0), "Linear": series(-1.0)})) == FAILS
    assert verdict(name, flows(knot={**alike, "Linear": series(-6.0)})) == FAILS
    assert verdict(name, flows(knot={**alike, "Linear": series(-4.8, 2.0, seed=9)})) == OPEN


def test_lambda_absolute_and_relative_are_two_claims():
    cells = flows(knot={"ASWD lambda=0.1": LOW, "ASWD lambda=0.5": LOW, "ASWD lambda=0.1/|y|": LOW, "ASWD lambda=0.5/|y|": HIGH, "L": HIGH})
    assert (verdict("A4", cells), verdict("A4 relative", cells)) == (HOLDS, FAILS)


def test_g1_has_the_published_z_values_beside_it():
    published = {"cifar10": {"ASWD L=10": {"fid": 65.7, "fid_standard_error": 3.2}, "DSWD L=10": {"fid": 74.2, "fid_standard_error": 3.1}}}
    order = {"ASWD": 60.0, "DSWD": 70.0, "SWD": 100.0, "GSWD": 90.0}
    cells = [cell("cifar10", f"{name} L=10", fid=series(value, 1.0, 6)) for name, value in order.items()]
    result = ruling("G1", cells, "fid", published)
    assert result.verdict == HOLDS
    assert "cifar10 L=10 1.9" in result.numbers
    cells[0] = cell("cifar10", "ASWD L=10", fid=series(75.0, 1.0, 6))
    assert verdict("G1", cells, "fid") == FAILS


def test_m1_m3_and_s1_have_all_their_halves():
    def generator(**changed):
        ends = {"SWD L=10": 8.6, "SWD L=1000": 8.4, "GSWD L=10": 8.7, "GSWD L=1000": 8.5, "DSWD L=10": 7.5, "DSWD L=1000": 7.4}
        ends |= {"ASWD L=10": 7.0, "ASWD L=1000": 6.9} | changed
        cells = []
        for label, end in ends.items():
            table = {"w2": series(end, 0.01, 6), "swd": series(end / 100, 1e-4, 6), "last_step(w2)": [400.0] * 6}
            levels = {f"first(w2, {np.median(series(other, 0.01, 6)):.4g})": other for other in ends.values()}
            table |= {name: np.full(6, np.inf if other < end else 350.0 + 10 * (end - other)) for name, other in levels.items()}
            cells.append(cell("mnist", label, **table))
        return cells

    assert verdict("M1", generator(), "w2") == HOLDS
    assert verdict("M1", generator(**{"ASWD L=1000": 9.0}), "w2") in (FAILS, OPEN)
    assert "lowest: no" in ruling("M1", generator(**{"ASWD L=1000": 9.0}), "w2").numbers

    def cost(**changed):
        ends = {"SWD L=10000": 8.0, "DSWD L=10": 7.0, "ASWD L=10": 6.0, "GSWD L=1000": 9.0} | changed
        time = {"GSWD L=1000": 2.0}
        return [
            cell("mnist", label, w2=series(end, 0.01, 6), seconds_per_iteration=series(time.get(label, 1.0), 0.01, 6))
            for label, end in ends.items()
        ]

    assert verdict("M3", cost(), "w2") == HOLDS
    assert verdict("M3", cost(**{"SWD L=10000": 5.0}), "w2") == FAILS

    def autoencoders(poly=0.001, aswd=0.21):
        w2 = {"ASWD": 0.2, "SWD": 0.21, "DSWD": 0.22, "GSWD poly 3": 0.6, "GSWD circular": 0.7}
        bce = {"ASWD": aswd, "SWD": 0.23, "DSWD": 0.24, "GSWD poly 3": 0.15, "GSWD circular": 0.16}
        distance = {"ASWD": 0.1, "SWD": 0.1, "DSWD": 0.1, "GSWD poly 3": poly, "GSWD circular": 0.001}
        levels = [f"first(bce, {np.median(series(bce[rival], 1e-3, 8)):.4g})" for rival in ("SWD", "DSWD")]
        return [
            cell(
                *("mnist", label),
                **{"w2": series(w2[label], 0.01, 8), "bce": series(bce[label], 1e-3, 8), "last_step(bce)": [600.0] * 8},
                distance_value=distance[label] * (1 + series(0.0, 0.01, 8)),
                **{level: np.full(8, 300.0 if label == "ASWD" else 590.0) + np.arange(8) for level in levels},
            )
            for label in w2
        ]

    assert verdict("S1", autoencoders(), "w2") == HOLDS
    assert verdict("S1", autoencoders(poly=0.09), "w2") == FAILS
    assert verdict("S1", autoencoders(aswd=0.3), "w2") == FAILS


def test_b1_and_readings():
    close = {"ASWD": LOW, "SWD": LOW + 0.01, "DSWD": LOW + 0.3, "GSWD poly 3": LOW + 0.5}
    assert verdict("B1", flows(shapes=close)) == HOLDS
    assert verdict("B1", flows(shapes={**close, "SWD": LOW - 0.1})) == FAILS  # 26 % is not similar here
    readings = {"ASWD": LOW, "ASWD (paper)": LOW, "ASWD (algorithm1)": LOW, "Linear": HIGH}
    assert verdict("R1", flows(knot=readings, gaussians_25={**readings, "ASWD (paper)": series(0.5)})) == HOLDS
    assert verdict("R1", flows(knot={**readings, "ASWD (paper)": series(0.5)}, heart=readings)) == FAILS


def test_a_claim_that_cannot_be_judged_is_not_decided_and_says_why():
    (result,) = judge(("A6",), Evidence(flows(knot={"Mine": LOW}), "log10_w2"))
    assert (result.verdict, "no series 'MAX-GSW-NN 1' on knot" in result.numbers) == (OPEN, True)


def always(known):
    """The answer is always yes."""
    return True, f"{len(known.cells)} cells"


def strange(known):
    return "perhaps", ""


def test_claims_of_others_by_dotted_name_or_decorator(monkeypatch):
    known = Evidence(flows(knot={"Mine": LOW}), "log10_w2")
    (result,) = judge((f"{__name__}.always",), known)
    assert (result.claim, result.text, result.verdict, result.numbers) == ("always", "The answer is always yes.", HOLDS, "1 cells")
    assert judge((f"{__name__}.strange",), known)[0].verdict == OPEN
    monkeypatch.setattr(registry, "CLAIMS", dict(CLAIMS))
    claim("X1", "Registered.")(lambda known: (False, "no"))
    assert judge(("X1",), known)[0].verdict == FAILS
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
