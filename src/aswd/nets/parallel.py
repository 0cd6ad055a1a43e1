"""One batch shared by several processes, which Lightning starts and joins: what they exchange."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def world_size() -> int:
    """Processes that share a batch."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def own_part(whole: Tensor, dim: int = 0) -> Tensor:
    """The part of a batch that belongs to this process."""
    return whole if world_size() == 1 else whole.chunk(world_size(), dim)[dist.get_rank()]


def gather(part: Tensor, dim: int = 0) -> Tensor:
    """The whole batch from the equal parts of all processes, with a gradient.

    All processes must compute the same scalar from it, and average their gradients. Each has only what comes by way of its own part:
    hence the factor W in the backward pass.
    """
    return part if world_size() == 1 else _Gather.apply(part, dim)


def total(value: Tensor) -> Tensor:
    """The sum of ``value`` over all processes, with a gradient."""
    return value if world_size() == 1 else _Sum.apply(value)


# torch's own collectives with gradients (torch.distributed.nn, on which Lightning's all_gather stands) are deprecated, and their backward
# pass over gloo scrambles gradients that are not contiguous.
class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, part: Tensor, dim: int) -> Tensor:
        ctx.dim = dim
        parts = [torch.empty_like(part, memory_format=torch.contiguous_format) for _ in range(world_size())]
        dist.all_gather(parts, part.contiguous())
        return torch.cat(parts, dim)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return own_part(grad, ctx.dim) * world_size(), None


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        return _reduce(value)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return _reduce(grad)


def _reduce(value: Tensor) -> Tensor:
    copy = value.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(copy)
    return copy


def average_gradients(parameters: Iterable[Tensor]) -> None:
    """Set the gradients of ``parameters`` to their mean over all processes."""
    if world_size() == 1:
        return
    grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
    flat = torch.cat([grad.flatten() for grad in grads])
    dist.all_reduce(flat)
    flat /= world_size()
    for grad, part in zip(grads, flat.split([grad.numel() for grad in grads]), strict=True):
        grad.copy_(part.view_as(grad))
