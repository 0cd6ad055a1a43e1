"""The store of results: one folder a run, written so that no moment of a crash can spoil it, and read back as tables."""

from aswd.results.records import curves, records
from aswd.results.store import Run, RunState

__all__ = ["Run", "RunState", "curves", "records"]
