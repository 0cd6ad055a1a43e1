"""One batch shared by several processes: what they tell each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def world_size() -> int:
    """Processes that share a batch."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def share(whole: Tensor, dim: int = 0) -> Tensor:
    """This process's part of a batch."""
    return whole if world_size() == 1 else whole.chunk(world_size(), dim)[dist.get_rank()]


def gathered(part: Tensor, dim: int = 0) -> Tensor:
    """The whole batch from the parts of all processes, with a gradient.

    All processes must make the same scalar of it. Their gradients are then averaged (:func:`average_gradients`), while each has only
    what comes by way of its own part: hence the factor in the backward pass.
    """
    return part if world_size() == 1 else _Gather.apply(part, dim)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, part: Tensor, dim: int) -> Tensor:
        ctx.dim = dim
        parts = [torch.empty_like(part, memory_format=torch.contiguous_format) for _ in range(world_size())]
        dist.all_gather(parts, part.contiguous())
        return torch.cat(parts, dim)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return share(grad, ctx.dim) * world_size(), None


def summed(value: Tensor) -> Tensor:
    """The sum over all processes, with a gradient: what one of them does to its part, all of them feel."""
    return value if world_size() == 1 else _Sum.apply(value)


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        return _all_reduced(value)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return _all_reduced(grad)


def _all_reduced(value: Tensor) -> Tensor:
    total = value.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total)
    return total


def average_gradients(parameters: Iterable[Tensor]) -> None:
    """Give all processes the mean of their gradients."""
    if world_size() == 1:
        return
    grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
    flat = torch.cat([grad.flatten() for grad in grads])
    dist.all_reduce(flat)
    flat /= world_size()
    for grad, part in zip(grads, flat.split([grad.numel() for grad in grads]), strict=True):
        grad.copy_(part.view_as(grad))
