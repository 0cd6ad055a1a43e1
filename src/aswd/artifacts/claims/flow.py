"""Claims on the sliced Wasserstein flow and its ablations.

W2 is compared as its logarithm to base ten: "similar", "comparable" and "on par" mean within :data:`SIMILAR` of it.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from aswd.artifacts.claims.answers import Answer, every, fact, share
from aswd.artifacts.claims.evidence import Evidence, inside
from aswd.artifacts.claims.registry import claim

SIMILAR = 0.5  # half an order of magnitude in W2, a factor of 3; ASWD and SWD are 0.4 to 1.6 apart in the published figure
GROWTH = 0.25  # of a norm over the last half of the iterations; unbounded growth at a constant pace doubles it
LEVELS = (-1, -2, -3)  # of log10 W2
GSWDS = ("Polynomial 3", "Polynomial 5", "Circular")
OUTLIER = "gaussians_25"  # the one target on which the paper says that others are better


def _ours(evidence: Evidence) -> list[str]:
    return [label for label in evidence.labels if label.startswith("ASWD")]


def _rivals(evidence: Evidence) -> list[str]:
    return [label for label in evidence.labels if not label.startswith("ASWD")]


def _similar(evidence: Evidence, data: str, labels: list[str]) -> list[Answer]:
    return [evidence.within(data, first, second, SIMILAR) for first, second in combinations(labels, 2)]


def _lowest(evidence: Evidence, data: str, labels: list[str]) -> list[Answer]:
    return [evidence.below(data, label, rival) for label in labels for rival in _rivals(evidence)]


@claim(
    "F0", f"What the ASWD learns stays finite, for every lambda: its norm grows by less than {GROWTH:.0%} over the last half of the run."
)
def f0(evidence: Evidence) -> Answer:
    """No run fails, no norm is infinite, and every one has settled."""
    answers = {}
    for data in evidence.data:
        for label in (label for label in _ours(evidence) if "vanilla" not in label):
            norms = list(evidence.values(data, label, "learned_norm").values())
            growth = np.array(list(evidence.values(data, label, "growth(learned_norm)").values()))
            settled = inside("growth", growth, -np.inf, GROWTH, ranks=True)
            answers[f"{data} {label}"] = settled if np.isfinite(norms).all() else fact(False, "not finite, or failed")
    return share(answers)


@claim("F1", "ASWD ends with the lowest W2 of all distances on 7 of the 8 targets, all but the 25 Gaussians.")
def f1(evidence: Evidence) -> Answer:
    """Below every rival on the seven; above some on the eighth."""
    answers = {data: every(_lowest(evidence, data, ["ASWD"])) for data in evidence.data if data != OUTLIER}
    if OUTLIER in evidence.data:
        rivals = {rival: evidence.below(OUTLIER, rival, "ASWD") for rival in _rivals(evidence)}
        answers[f"{OUTLIER}: not the lowest"] = share(rivals, 1)
    return share(answers)


@claim(
    "F2", "On the four targets of Figure 2 ASWD comes down to a given W2 (0.1, 0.01, 0.001) in fewer iterations than every other distance."
)
def f2(evidence: Evidence) -> Answer:
    """First at every level, on every target."""
    answers = {}
    for data in evidence.data:
        for level in LEVELS:
            answers[f"{data} W2={10.0**level:g}"] = every([evidence.sooner(data, "ASWD", rival, level) for rival in _rivals(evidence)])
    return share(answers)


@claim("A1", "ASWD and ASWD-non-injective end below all that do not optimise: vanilla, vanilla-non-injective and the GSWDs.")
def a1(evidence: Evidence) -> Answer:
    """Both below each of the five."""
    fixed = ("ASWD-vanilla", "ASWD-vanilla-non-injective", *GSWDS)
    pairs = [(ours, other) for ours in ("ASWD", "ASWD-non-injective") for other in fixed]
    return share({data: every([evidence.below(data, *pair) for pair in pairs]) for data in evidence.data})


@claim("A2", f"ASWD-vanilla is comparable with the GSWDs, polynomial 3, 5 and circular: within {SIMILAR} in log10 W2 of each.")
def a2(evidence: Evidence) -> Answer:
    """Within the margin of each of the three, on every target."""
    return share({data: every([evidence.within(data, "ASWD-vanilla", rival, SIMILAR) for rival in GSWDS]) for data in evidence.data})


@claim(
    "A3",
    "ASWD-vanilla ends below vanilla-non-injective on every target, and ASWD trains more stably than non-injective: "
    "final values spread less over seeds.",
)
def a3(evidence: Evidence) -> Answer:
    """Below on each; and smaller deviations from the median on average over the targets."""
    below = {data: evidence.below(data, "ASWD-vanilla", "ASWD-vanilla-non-injective") for data in evidence.data}
    return share({"vanilla below vanilla-non-injective": share(below), "stable": evidence.steadier("ASWD", "ASWD-non-injective")})


def _insensitive(evidence: Evidence, ours: list[str]) -> Answer:
    """Alike among each other, and below every other distance, on every target."""
    similar = {data: every(_similar(evidence, data, ours)) for data in evidence.data}
    lowest = {data: every(_lowest(evidence, data, ours)) for data in evidence.data}
    return share({"similar": share(similar), "below all others": share(lowest)})


def _with(evidence: Evidence, ending: str) -> list[str]:
    return [label for label in _ours(evidence) if label.endswith(ending)]


_A4 = f"lambda of 0.01, 0.05, 0.1 and 0.5 gives similar results (within {SIMILAR} in log10 W2), and all end below every other distance"


@claim("A4", f"{_A4}; lambda as it is in the text.")
def a4(evidence: Evidence) -> Answer:
    """For the absolute lambda."""
    return _insensitive(evidence, [label for label in _ours(evidence) if "/|y|" not in label])


@claim("A4 relative", f"{_A4}; lambda divided by the mean of abs(y), as in the released code.")
def a4_relative(evidence: Evidence) -> Answer:
    """For the relative lambda."""
    return _insensitive(evidence, _with(evidence, "/|y|"))


def _excessive(evidence: Evidence, ending: str) -> Answer:
    """Both above the default, and within the margin of SWD."""
    worse, par = {}, {}
    labels = [f"ASWD lambda={value}{ending}" for value in (10, 100)]
    for data in evidence.data:
        worse[data] = every([evidence.below(data, "ASWD", label) for label in labels])
        par[data] = every([evidence.within(data, label, "Linear", SIMILAR) for label in labels])
    return share({"worse than the default": share(worse), "on par with SWD": share(par)})


_A5 = f"lambda of 10 or 100 is worse than the default and on par with SWD (within {SIMILAR} in log10 W2)"


@claim("A5", f"{_A5}; lambda as it is in the text.")
def a5(evidence: Evidence) -> Answer:
    """For the absolute lambda."""
    return _excessive(evidence, "")


@claim("A5 relative", f"{_A5}; lambda divided by the mean of abs(y), as in the released code.")
def a5_relative(evidence: Evidence) -> Answer:
    """For the relative lambda."""
    return _excessive(evidence, "/|y|")


@claim("A6", f"MAX-GSW-NN 1 is similar with and without the penalty (within {SIMILAR} in log10 W2), and ASWD stays ahead of both.")
def a6(evidence: Evidence) -> Answer:
    """Alike, and both above ASWD, on every target."""
    plain, penalised = "MAX-GSW-NN 1", "MAX-GSW-NN 1 with penalty"
    similar = {data: evidence.within(data, plain, penalised, SIMILAR) for data in evidence.data}
    ahead = {data: every([evidence.below(data, "ASWD", label) for label in (plain, penalised)]) for data in evidence.data}
    return share({"similar": share(similar), "ASWD ahead": share(ahead)})


@claim(
    "A7", f"Planar and radial flows beat the GSWDs in most setups, and are slightly (at most {SIMILAR} in log10 W2) worse than [x, phi(x)]."
)
def a7(evidence: Evidence) -> Answer:
    """A setup is a map, a GSWD and a target. Slightly worse: on average over the targets."""
    maps = ("ASWD-planar", "ASWD-radial")
    setups = {f"{m[5:]}, {rival}, {data}": evidence.below(data, m, rival) for m in maps for rival in GSWDS for data in evidence.data}
    slightly = {m[5:]: _slightly_worse(evidence, m) for m in maps}
    return share({"beat the GSWDs": share(setups, len(setups) // 2 + 1), "slightly worse": share(slightly)})


def _slightly_worse(evidence: Evidence, label: str) -> Answer:
    values = [{data: evidence.values(data, each) for data in evidence.data} for each in (label, "ASWD")]
    seeds = sorted(set.intersection(*(set(found) for each in values for found in each.values())))
    means = np.array([np.mean([values[0][data][seed] - values[1][data][seed] for data in evidence.data]) for seed in seeds])
    return inside(f"{label} - ASWD", means, 0.0, SIMILAR, ranks=True)


@claim("A8", f"d_theta of 2d, 3d, 4d and 5d gives similar results (within {SIMILAR} in log10 W2), all better than every other distance.")
def a8(evidence: Evidence) -> Answer:
    """Alike among each other, and below every other distance, on every target."""
    return _insensitive(evidence, _ours(evidence))


@claim("A9", f"Another penalty, the mean L2 norm of g's output, gives similar results (within {SIMILAR} in log10 W2).")
def a9(evidence: Evidence) -> Answer:
    """On every target like the penalty of the paper's equation, the k-th root of the mean k-th power of the norms."""
    return share({data: every(_similar(evidence, data, _ours(evidence))) for data in evidence.data})


@claim("R1", "Not of the paper: ASWD ends below SWD in every reading of its hyper-parameters, on all targets but the 25 Gaussians.")
def r1(evidence: Evidence) -> Answer:
    """Every reading below SWD."""
    shown = [data for data in evidence.data if data != OUTLIER]
    return share({label: share({data: evidence.below(data, label, "Linear") for data in shown}) for label in _ours(evidence)})
