"""Claims of papers as functions of the results: each holds, does not hold, or is not decided."""

from aswd.artifacts.claims import flow, images, measured, papers  # noqa: F401  each family registers its claims
from aswd.artifacts.claims.answers import FAILS, HOLDS, LEVEL, MIN_SEEDS, NONE, OPEN, Answer, every, fact, share
from aswd.artifacts.claims.evidence import Evidence
from aswd.artifacts.claims.registry import CLAIMS, Claim, Verdict, claim, judge, load_claim

__all__ = [
    "CLAIMS", "FAILS", "HOLDS", "LEVEL", "MIN_SEEDS", "NONE", "OPEN", "Answer", "Claim", "Evidence", "Verdict", "claim", "every", "fact",
    "judge", "load_claim", "share",
]  # fmt: skip
