"""How the slices of an evaluation are split into chunks, and the memory that a chunk works in."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from aswd.distances.sorting import BLOCK, chunk_size
from aswd.distances.workers import map_chunks

_CHUNK_ELSEWHERE = 1 << 26  # values per chunk on other devices than a CPU
NARROW_FEATURES = 16  # features up to this dimension are sliced without regard to the shape of matrix products
MIN_SLICES = 64  # of a chunk of wider features: thinner products are slow
SHARES = 8  # with fewer chunks of slices than this, products are split by samples
_LONG = BLOCK // 2  # samples of a slice that is worth a chunk of its own
_SUMS = 16  # partial sums of a gradient, at most
KEPT = 1 << 23  # slopes that are kept at a time
_SHARED = 1 << 18  # numbers of a share, at least


class Chunk(NamedTuple):
    """Some slices of some replicas, a few at a time, and the partial sum that they add to."""

    rows: slice
    columns: list[slice]
    part: int


def slice_chunks(x: Tensor, y: Tensor, directions: Tensor) -> Iterator[tuple[slice, list[slice]]]:
    """Ranges of replicas, each with ranges of directions, whose values fit into a chunk."""
    for chunk in split_slices(x, y, directions):
        yield chunk.rows, chunk.columns


def split_slices(x: Tensor, y: Tensor, directions: Tensor, few: bool = False) -> list[Chunk]:
    """All slices in chunks; ``few``: of slices whose values are known, and no product limits their number from below."""
    replicas, count, dim = directions.shape
    on_cpu = directions.device.type == "cpu"
    most = max(1, _chunk_size(directions.device) // max(x.shape[1], y.shape[1]))
    if count <= most:  # whole replicas
        row_step = chunk_size(replicas, most // count)
        return [Chunk(slice(row, row + row_step), [slice(0, count)], 0) for row in range(0, replicas, row_step)]
    if few and count < 8 * SHARES and max(x.shape[1], y.shape[1]) >= _LONG:
        most = math.ceil(count / _SUMS)  # the kernel sorts such rows one by one
    elif on_cpu:
        most = max(most, 8 if few or dim <= NARROW_FEATURES else MIN_SLICES)  # the kernel sorts eight rows at a time
    step = chunk_size(count, most) if count > 2 * most else most
    columns = [slice(start, min(start + step, count)) for start in range(0, count, step)]
    run = chunk_size(len(columns), math.ceil(len(columns) / _SUMS)) if on_cpu else len(columns)
    return [
        Chunk(slice(row, row + 1), columns[start : start + run], start // run)
        for row in range(replicas)
        for start in range(0, len(columns), run)
    ]


def _chunk_size(device: torch.device) -> int:
    """Number of values on the line per side and chunk; on a CPU they are still in the cache when they are sorted."""
    return BLOCK if device.type == "cpu" else _CHUNK_ELSEWHERE


def sample_blocks(features: Tensor, directions: Tensor) -> list[slice]:
    """Ranges of samples for matrix products with all directions; narrow ones have little to split."""
    _, count, dim = features.shape
    least = 128 if dim > NARROW_FEATURES else 2048
    step = chunk_size(count, max(least, min(math.ceil(count / _SUMS), BLOCK * SHARES // directions.shape[1])))
    return [slice(start, start + step) for start in range(0, count, step)]


def shares(values: Tensor) -> int:
    """Number of parts for threads to pass over all ``values`` once."""
    return max(1, min(_SUMS, values.numel() // _SHARED)) if values.device.type == "cpu" else 1


def over_samples(function: Callable[[slice], object], values: Tensor) -> list:
    """``function`` of ranges of the samples of ``values [..., R, N, D]``, in threads where there are enough numbers."""
    count, parts = values.shape[-2], shares(values)
    if parts == 1:
        return [function(slice(None))]
    step = math.ceil(count / parts)
    return map_chunks(function, [slice(start, start + step) for start in reversed(range(0, count, step))], values.device)


def scaled(values: Tensor, factor: Tensor | float, in_place: bool) -> Tensor:
    """``factor * values``, ``[R, N, D]``, in memory of ``values`` or newly allocated; as fast as threads can."""
    if shares(values) == 1:
        return values.mul_(factor) if in_place else values * factor
    out = values if in_place else torch.empty_like(values)
    over_samples(lambda samples: torch.mul(values[:, samples], factor, out=out[:, samples]), values)
    return out


class RunningSum:
    """A sum of tensors of one shape, accumulated in the first."""

    def __init__(self) -> None:
        self.total: Tensor | None = None

    def add(self, part: Tensor | None) -> None:
        """Add ``part``; ``None`` adds nothing."""
        if part is not None:
            self.total = part if self.total is None else self.total.add_(part)


class _Scratch(threading.local):
    """Buffers for values, kept per thread: newly allocated memory costs more than the work done in it."""

    def __init__(self) -> None:
        self.buffers = [torch.empty(0, dtype=torch.float32, device="cpu") for _ in range(4)]


_scratch = _Scratch()


def value_buffer(features: Tensor, directions: Tensor, which: int) -> Tensor:
    """Uninitialised buffer for ``[r, l, N]`` values; on a CPU it is reused by this thread's next call for the same ``which``."""
    shape = (*directions.shape[:2], features.shape[1])
    size = math.prod(shape)
    if features.device.type != "cpu" or features.dtype != torch.float32 or size > KEPT:
        return features.new_empty(shape)
    if size > len(_scratch.buffers[which]):
        with torch.inference_mode(False):  # writable in any mode later
            _scratch.buffers[which] = torch.empty(size, dtype=torch.float32, device="cpu")
    return _scratch.buffers[which][:size].view(shape)
