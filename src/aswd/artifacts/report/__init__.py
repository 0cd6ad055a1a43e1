"""``aswd report``: one page with all reproduced artifacts and the verdicts on their claims, from a file or, live, from a server."""

from aswd.artifacts.report import live
from aswd.artifacts.report.page import report

__all__ = ["live", "report"]
