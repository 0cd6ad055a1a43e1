"""Claims on the distances themselves: their projections and their cost."""

from __future__ import annotations

import numpy as np

from aswd.artifacts.claims.answers import Answer, fact, share
from aswd.artifacts.claims.evidence import Evidence, inside
from aswd.artifacts.claims.registry import claim
from aswd.utils.statistics import log_exponent

TOLERANCE = 0.25  # of the exponent of N; N^2 log N would be 1 above


@claim("P1", "In 100 dimensions most random directions give SWD trivially small 1-D distances, and ASWD significant ones.")
def p1(evidence: Evidence) -> Answer:
    """Trivially small: the clouds are closer than their spread. Along more than half of the directions for SWD, and less for ASWD."""
    (data,) = evidence.data
    shares = {label: np.array(list(evidence.values(data, label).values())) for label in ("SWD", "ASWD")}
    return share(
        {
            "most small for SWD": inside("share of directions", shares["SWD"], 0.5, np.inf),
            "most significant for ASWD": inside("share of small ones", shares["ASWD"], -np.inf, 0.5),
        }
    )


@claim("M2", f"The cost of SWD, DSWD and ASWD grows as N log N (exponent of N at most 1 + {TOLERANCE}).")
def m2(evidence: Evidence) -> Answer:
    """By the slope of log(t / log N) over log N, one per round. Small sizes grow slower, where constant costs dominate."""
    sizes = [int(data.removeprefix("N=")) for data in evidence.data]
    if len(sizes) < 3:
        return fact(None, f"{len(sizes)} sizes, fewer than three")
    answers = {}
    for label in (label for label in evidence.labels if not label.startswith("GSWD")):
        times = [evidence.values(data, label) for data in evidence.data]
        rounds = sorted(set.intersection(*map(set, times)))
        exponents = np.array([log_exponent(sizes, [each[turn] for each in times]) for turn in rounds])
        answers[label] = inside("exponent", exponents, -np.inf, 1 + TOLERANCE)
    return share(answers)
