"""How the modes that torch can be in are met: compilation and autocast."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps

import torch


def eager(call: Callable) -> Callable:
    """Leave a function out of a ``torch.compile``d graph.

    ``torch.compiler.disable`` as a plain decorator would import the compiler, which takes longer than importing torch.
    """

    @wraps(call)
    def outside(*args, **kwargs):
        if torch.compiler.is_compiling():
            return torch.compiler.disable(call)(*args, **kwargs)
        return call(*args, **kwargs)

    return outside


def without_autocast(device: torch.device) -> AbstractContextManager:
    """Arithmetic in the types that the tensors have, whatever autocast says."""
    return nullcontext() if device.type == "meta" else torch.autocast(device.type, enabled=False)
