"""The store of results: one folder a run, written so that no moment of a crash can spoil it, and read back as tables."""

from aswd.utils import torchvision_import

torchvision_import.install()  # before Lightning or torchmetrics import it

from aswd.runs.records import curves, records, select
from aswd.runs.store import Run, RunState

__all__ = ["Run", "RunState", "curves", "records", "select"]
