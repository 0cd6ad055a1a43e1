"""Compilation, autocast and function transforms: how the distances are kept out of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps

import torch
from torch.autograd import forward_ad


def eager(call: Callable) -> Callable:
    """Decorator: keep a function out of a ``torch.compile``d graph, and refuse the tensors of function transforms.

    ``torch.compiler.disable`` itself, used as a decorator, imports the compiler, which takes longer than importing torch.

    Raises:
        ValueError: an argument is a tensor of ``torch.func`` (grad, vmap, jvp) or of forward-mode differentiation.
    """

    @wraps(call)
    def outside(*args, **kwargs):
        if torch.compiler.is_compiling():
            return torch.compiler.disable(call)(*args, **kwargs)
        if any(isinstance(arg, torch.Tensor) and _is_transformed(arg) for arg in (*args, *kwargs.values())):
            raise ValueError(
                "x and y must be plain tensors; got those of torch.func (grad, vmap, jvp) or of forward-mode differentiation: use "
                "torch.autograd for first and second derivatives, and leading dimensions of the samples instead of vmap"
            )
        return call(*args, **kwargs)

    return outside


def _is_transformed(tensor: torch.Tensor) -> bool:
    return torch._C._functorch.is_functorch_wrapped_tensor(tensor) or forward_ad.unpack_dual(tensor).tangent is not None


def without_autocast(device: torch.device) -> AbstractContextManager:
    """Context in which operations keep the dtypes of their tensors, also under autocast."""
    if device.type == "meta" or not torch.is_autocast_enabled(device.type):
        return nullcontext()
    return torch.autocast(device.type, enabled=False)
