"""The paper's claims as functions of what was measured: holds, does not hold, or not decided."""

from aswd.artifacts.claims import flow, images  # noqa: F401  each family registers its claims
from aswd.artifacts.claims.evidence import CLAIMS, FAILS, HOLDS, OPEN, Evidence, Verdict, judge

__all__ = ["CLAIMS", "FAILS", "HOLDS", "OPEN", "Evidence", "Verdict", "judge"]
