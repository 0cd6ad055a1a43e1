"""Claims on the sliced Wasserstein flow and its ablations."""

from __future__ import annotations

import numpy as np

from aswd.artifacts.claims.evidence import FAILS, HOLDS, MIN_SEEDS, OPEN, Evidence, claim, every, first_at, share, sooner

SIMILAR = 0.5  # half an order of magnitude in W2: what "similar", "comparable" and "on par" mean here


def _rivals(evidence: Evidence, ours: str = "ASWD") -> list[str]:
    return [label for label in evidence.labels if not label.startswith(ours)]


@claim("F0", "What the ASWD learns stays finite.")
def f0(evidence: Evidence) -> tuple[str, str]:
    """What is learned stays finite."""
    ours = [cell for cell in evidence.cells if cell.label.startswith("ASWD") and "vanilla" not in cell.label]
    norms, failures = [list(cell.finals("learned_norm").values()) for cell in ours], [len(cell.failures()) for cell in ours]
    values, failed = [value for each in norms for value in each], sum(failures)
    if min((len(each) + count for each, count in zip(norms, failures, strict=True)), default=0) < MIN_SEEDS:
        return OPEN, f"{len(values)} runs, fewer than {MIN_SEEDS} seeds of a cell"
    numbers = f"norm at most {max(values, default=float('nan')):.3g} in {len(values)} runs, {failed} failed"
    return (FAILS if failed or not np.isfinite(values).all() else HOLDS), numbers


@claim("F1", "ASWD ends with the lowest W2 on all targets but the 25 Gaussians.")
def f1(evidence: Evidence) -> tuple[str, str]:
    """ASWD lowest on 7 of 8: on all but the 25 Gaussians."""
    answers = {data: every([evidence.below(data, "ASWD", rival) for rival in _rivals(evidence)]) for data in evidence.data}
    return share(answers, len(evidence.data) - ("gaussians_25" in evidence.data))


@claim("F2", "ASWD needs the fewest iterations to reach the level at which SWD ends.")
def f2(evidence: Evidence) -> tuple[str, str]:
    """ASWD first at the level where SWD ends, in every seed."""
    answers: dict[str, bool | None] = {}
    for data in evidence.data:
        level = 10 ** evidence.mean(data, "Linear")
        reached = {cell.label: first_at(cell, "w2", level) for cell in evidence.cells if cell.data == data}
        answers[data] = every([sooner(reached["ASWD"], reached[rival]) for rival in _rivals(evidence)])
    return share(answers, len(evidence.data) - ("gaussians_25" in evidence.data))


@claim("A1", "Optimising the hypersurface helps: ASWD and non-injective end below vanilla and vanilla-non-injective.")
def a1(evidence: Evidence) -> tuple[str, str]:
    """Both optimised maps below both random ones."""
    pairs = [(a, b) for a in ("ASWD", "ASWD-non-injective") for b in ("ASWD-vanilla", "ASWD-vanilla-non-injective")]
    return share({data: every([evidence.below(data, a, b) for a, b in pairs]) for data in evidence.data}, len(evidence.data))


@claim("A2", "ASWD-vanilla is comparable with the GSWDs.")
def a2(evidence: Evidence) -> tuple[str, str]:
    """Vanilla within half an order of the best and worst GSWD."""
    answers = {}
    for data in evidence.data:
        similar = [evidence.within(data, "ASWD-vanilla", rival, SIMILAR) for rival in ("Polynomial 3", "Polynomial 5", "Circular")]
        answers[data] = True if any(s is True for s in similar) else None if any(s is None for s in similar) else False
    return share(answers, len(evidence.data))


@claim("A3", "ASWD-vanilla beats vanilla-non-injective on every target, and ASWD is more stable than non-injective.")
def a3(evidence: Evidence) -> tuple[str, str]:
    """Vanilla below vanilla-non-injective everywhere; ASWD spreads less over seeds than non-injective."""
    answers = {data: evidence.below(data, "ASWD-vanilla", "ASWD-vanilla-non-injective") for data in evidence.data}
    verdict, numbers = share(answers, len(evidence.data))
    spread = {
        label: np.mean([np.std(list(evidence.finals(d, label).values())) for d in evidence.data])
        for label in ("ASWD", "ASWD-non-injective")
    }
    stable = spread["ASWD"] < spread["ASWD-non-injective"]
    numbers += f"; mean spread {spread['ASWD']:.2f} (ASWD) against {spread['ASWD-non-injective']:.2f}"
    return (verdict if stable or verdict != HOLDS else FAILS), numbers


@claim("A4", "lambda from 0.01 to 0.5 makes little difference, and all beat the other distances.")
def a4(evidence: Evidence) -> tuple[str, str]:
    """The lambdas similar to each other, and all below every other distance (but on the 25 Gaussians)."""
    ours = [label for label in evidence.labels if label.startswith("ASWD")]
    answers = {}
    for data in evidence.data:
        alike = [evidence.within(data, ours[0], other, SIMILAR) for other in ours[1:]]
        lower = [evidence.below(data, a, b) for a in ours for b in _rivals(evidence)]
        answers[data] = every([*alike, *lower])
    return share(answers, len(evidence.data) - ("gaussians_25" in evidence.data))


@claim("A5", "lambda of 10 or 100 falls back to SWD.")
def a5(evidence: Evidence) -> tuple[str, str]:
    """Lambda of 10 and 100 like SWD."""
    pairs = ("ASWD lambda=10", "ASWD lambda=100")
    return share(
        {data: every([evidence.within(data, label, "Linear", SIMILAR) for label in pairs]) for data in evidence.data}, len(evidence.data)
    )


@claim("A6", "The penalty changes little for MAX-GSW-NN 1.")
def a6(evidence: Evidence) -> tuple[str, str]:
    """MAX-GSW-NN 1 with and without the penalty alike."""
    return share(
        {data: evidence.within(data, "MAX-GSW-NN 1", "MAX-GSW-NN 1 with penalty", SIMILAR) for data in evidence.data}, len(evidence.data)
    )


@claim("A7", "Planar and radial flows beat the GSWDs on most targets, slightly behind [x, phi(x)].")
def a7(evidence: Evidence) -> tuple[str, str]:
    """Planar and radial below every GSWD on more than half of the data, and there not below [x, phi(x)]."""
    rivals = ("Polynomial 3", "Polynomial 5", "Circular")
    maps = ("ASWD-planar", "ASWD-radial")
    answers = {}
    for data in evidence.data:
        ahead = any(evidence.below(data, m, "ASWD") for m in maps)
        answers[data] = every([not ahead, *(evidence.below(data, m, rival) for m in maps for rival in rivals)])
    return share(answers, len(evidence.data) // 2 + 1)


@claim("A8", "The dimension of the augmented space makes little difference.")
def a8(evidence: Evidence) -> tuple[str, str]:
    """All d_theta alike."""
    ours = [label for label in evidence.labels if label.startswith("ASWD")]
    return share(
        {data: every([evidence.within(data, ours[0], other, SIMILAR) for other in ours[1:]]) for data in evidence.data}, len(evidence.data)
    )


@claim("R1", "Not of the paper: ASWD ends below SWD in every reading of its hyper-parameters.")
def r1(evidence: Evidence) -> tuple[str, str]:
    """Every reading of ASWD below SWD (but on the 25 Gaussians)."""
    ours = [label for label in evidence.labels if label.startswith("ASWD")]
    answers = {data: every([evidence.below(data, label, "Linear") for label in ours]) for data in evidence.data}
    verdict, numbers = share(answers, len(evidence.data) - ("gaussians_25" in evidence.data))
    below = {label: sum(evidence.below(data, label, "Linear") is True for data in evidence.data) for label in ours}
    return verdict, f"{numbers}; below on: " + ", ".join(f"{label} {count}" for label, count in below.items())
