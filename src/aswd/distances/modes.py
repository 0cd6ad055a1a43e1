"""Compilation and autocast: how the distances are kept out of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps

import torch


def eager(call: Callable) -> Callable:
    """Decorator: keep a function out of a ``torch.compile``d graph.

    ``torch.compiler.disable`` itself, used as a decorator, imports the compiler, which takes longer than importing torch.
    """

    @wraps(call)
    def outside(*args, **kwargs):
        if torch.compiler.is_compiling():
            return torch.compiler.disable(call)(*args, **kwargs)
        return call(*args, **kwargs)

    return outside


def without_autocast(device: torch.device) -> AbstractContextManager:
    """Context in which operations keep the dtypes of their tensors, also under autocast."""
    return nullcontext() if device.type == "meta" else torch.autocast(device.type, enabled=False)
