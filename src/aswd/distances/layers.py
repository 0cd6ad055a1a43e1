"""Layers of small networks, batched over replicas, each with its own weights ``[R, ...]``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from aswd.distances.sorting import chunk_size
from aswd.distances.streams import Streams
from aswd.distances.workers import map_chunks, threads_for

Parameters = Mapping[str, Tensor]

_LARGE = 1 << 22  # multiplications, from which a product is worth several threads
_ROWS, _CHUNKS = 128, 16  # rows of a chunk at least, and chunks of a replica at most


def norm(features: Tensor) -> Tensor:
    """Norm of every sample, ``[R, N]``, with gradient zero at zero; torch's is slow where samples are on the contiguous axis."""
    return _Norm.apply(features) if torch.is_grad_enabled() else features.square().sum(-1).sqrt_()


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor) -> Tensor:
        norms = features.square().sum(-1).sqrt_()
        ctx.save_for_backward(features, norms)
        return norms

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        features, norms = ctx.saved_tensors
        zero = norms == 0
        return (grad / norms.masked_fill(zero, 1)).masked_fill(zero, 0)[..., None] * features


def root(squares: Tensor) -> Tensor:
    """Square root with gradient zero at zero."""
    return squares.clamp_min(torch.finfo(squares.dtype).tiny).sqrt()


def linear_layer(streams: Streams, fan_in: int, fan_out: int, prefix: str) -> dict[str, Tensor]:
    """Weight and bias of a linear layer per replica, with torch's default initialisation: uniform in +-1/sqrt(fan_in)."""
    bound = 1 / math.sqrt(fan_in)
    return {
        f"{prefix}weight": streams.uniform(bound, fan_out, fan_in),
        f"{prefix}bias": streams.uniform(bound, fan_out),
    }


def apply_layer(x: Tensor, parameters: Parameters, prefix: str) -> Tensor:
    """``x W^T + b``, each replica with its own W and b."""
    return _Affine.apply(x, parameters[f"{prefix}weight"], parameters[f"{prefix}bias"])


class _Affine(torch.autograd.Function):
    """A layer whose backward pass heeds the threads of a distance, as its forward pass does: torch's own, once started, keep the cores
    busy for a while.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return product(weight, x.mT, bias[..., None]).mT

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        need_x, need_weight, need_bias = ctx.needs_input_grad
        with threads_for(x):
            x_grad = product(weight.mT, grad.mT).mT if need_x else None
            return x_grad, product(grad.mT, x) if need_weight else None, grad.sum(1) if need_bias else None


def product(a: Tensor, b: Tensor, plus: Tensor | None = None) -> Tensor:
    """``a @ b`` of ``[R, M, K]`` and ``[R, K, P]``, plus ``[R, M, 1]``, a large one in chunks of rows for the threads of a distance."""
    (replicas, rows, inner), columns = a.shape, b.shape[2]
    is_large = replicas * rows * inner * columns >= _LARGE and a.device.type == "cpu"
    if not is_large or torch.is_grad_enabled() or torch._C._functorch.is_legacy_batchedtensor(a):
        return a @ b if plus is None else torch.baddbmm(plus, a, b)
    out, step = a.new_empty(replicas, rows, columns), chunk_size(rows, max(_ROWS, math.ceil(rows / _CHUNKS)))

    def fill(chunk: tuple[int, slice]) -> None:
        row, some = chunk
        if plus is None:
            torch.mm(a[row, some], b[row], out=out[row, some])
        else:
            torch.addmm(plus[row, some], a[row, some], b[row], out=out[row, some])

    map_chunks(fill, [(row, slice(start, start + step)) for row in range(replicas) for start in range(0, rows, step)], a.device)
    return out


def join(*features: Tensor) -> Tensor:
    """Concatenate features. Like :func:`apply_layer` it keeps the samples on the contiguous axis, as vectorised kernels need it."""
    return torch.cat([part.mT for part in features], -2).mT
