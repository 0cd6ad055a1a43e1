"""Claims of papers as functions of the results: each holds, does not hold, or is not decided."""

from aswd.artifacts.claims import flow, images, papers  # noqa: F401  each family registers its claims
from aswd.artifacts.claims.evidence import (
    CLAIMS,
    CONFIDENCE,
    FAILS,
    HOLDS,
    MIN_SEEDS,
    NONE,
    OPEN,
    Claim,
    Evidence,
    Verdict,
    claim,
    judge,
    load_claim,
)  # fmt: skip

__all__ = [
    "CLAIMS", "CONFIDENCE", "FAILS", "HOLDS", "MIN_SEEDS", "NONE", "OPEN", "Claim", "Evidence", "Verdict", "claim", "judge", "load_claim",
]  # fmt: skip
