"""What makes a process start faster."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def large_imports() -> Iterator[None]:
    """Import torch, Lightning and what else is large without the garbage collector, which takes a fifth of the time and finds nothing.

    What was imported stays: later collections do not look at it again. Where all of it was imported before, nothing is done.
    """
    if "pytorch_lightning" in sys.modules:
        yield
        return
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
