"""One batch shared by several processes, which Lightning starts and joins: what they exchange."""

from __future__ import annotations

from collections.abc import Iterable

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

    All processes must compute the same scalar from it, and average their gradients: each of these is then W times what comes by way of
    its own part, and their mean is the gradient of the whole.
    """
    if world_size() == 1:
        return part
    from torch.distributed.nn.functional import all_gather

    return torch.cat(all_gather(part.contiguous()), dim)


def total(value: Tensor) -> Tensor:
    """The sum of ``value`` over all processes, with a gradient."""
    if world_size() == 1:
        return value
    from torch.distributed.nn.functional import all_reduce

    return all_reduce(value.contiguous())


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
