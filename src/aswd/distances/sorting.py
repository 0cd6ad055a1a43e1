"""Sorting many rows at once, with the permutation that does it.

Torch sorts slowly on a CPU. For float32 there, :func:`sort_rows` packs the position of every value into the mantissa bits that are
free once the value is widened to float64, and one vectorised numpy sort gives values and permutation at once, exactly, with ties in order
of position as a stable sort has them.
"""

from __future__ import annotations

import math
import threading
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

BLOCK = 131_072  # values to sort at a time: large enough to pay for the calls, small enough for the cache
_INDEX_MASK = (1 << 26) - 1  # of 29 free bits: so small a position does not change what float32 a key rounds to
_SMALLEST = np.array([5e-324])  # a denormal number
_fast_sort = True  # tests switch it off to compare


def chunk_size(count: int, most: int) -> int:
    """Into how many at a time ``count`` things are split so that no share has over ``most`` and all are about as large.

    Shares of one size use the same working memory, which then stays in the cache.
    """
    return math.ceil(count / math.ceil(count / max(1, most)))


def sort_is_fast(values: Tensor) -> bool:
    """Whether rows like these take the numpy path."""
    return _fast_sort and values.device.type == "cpu" and values.dtype == torch.float32 and values.shape[1] <= _INDEX_MASK


def sort_rows(values: Tensor, with_index: bool, side: int) -> tuple[Tensor, Tensor | None]:
    """Rows in ascending order and, if asked for, the stable permutation that sorts them.

    On the fast path the results are scratch memory of this thread: good until the next call for the same ``side``.
    """
    if sort_is_fast(values):
        packed = (_packed_sort if with_index else _plain_sort)(values.numpy(), _scratch.side(side, values.shape))
        if packed is not None:
            return packed
    result = values.sort(dim=1, stable=True)
    return result.values, result.indices


def _plain_sort(values: np.ndarray, scratch: _Buffers) -> tuple[Tensor, None]:
    np.copyto(scratch.ordered, values)
    scratch.ordered.sort(axis=1)
    return scratch.result[0], None


def _packed_sort(values: np.ndarray, scratch: _Buffers) -> tuple[Tensor, Tensor] | None:
    """Sorted float32 rows and their permutation by one sort of float64 keys; ``None`` where keys cannot tell the values apart.

    The key of the value at position n is the value with n in the low bits of its mantissa. Infinities have none; the keys of zeros are
    denormal numbers, of no use where the processor takes those for zero; and those of 0.0 and -0.0 would not tie.
    """
    keys, index = scratch.keys, scratch.index
    if _SMALLEST * 1.0 == 0 and not values.all():
        return None
    np.copyto(keys, values)
    index |= scratch.positions
    keys.sort(axis=1)
    if np.isnan(keys[:, -1]).any():  # what an infinity becomes; NaN sorts last
        return None
    np.copyto(scratch.ordered, keys, casting="same_kind")  # rounds the position away
    index &= _INDEX_MASK
    if np.equal(*scratch.neighbours, out=scratch.tied).any():
        values, tied = scratch.ordered.reshape(-1), np.flatnonzero(scratch.tied)
        if np.signbit(values[tied[values[tied] == 0]]).any():
            return None
        _reverse_negative_ties(values, scratch.index.reshape(-1), tied[(tied + 1) % keys.shape[1] != 0])
    return scratch.result


def _reverse_negative_ties(values: np.ndarray, index: np.ndarray, tied: np.ndarray) -> None:
    """Put runs of equal negative values in order of position: a larger mantissa has sorted their last position first."""
    tied = tied[values[tied] < 0]
    if not (tied[1:] - tied[:-1] == 1).any():  # pairs, the chance ties of random values: swap them
        index[tied], index[tied + 1] = index[tied + 1], index[tied]
    else:
        first = np.flatnonzero(np.diff(tied, prepend=-2) != 1)
        start, length = tied[first], np.diff(first, append=len(tied)) + 1
        offset = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        index[np.repeat(start, length) + offset] = index[np.repeat(start + length - 1, length) - offset]


class _Buffers:
    """Working memory for one side of a block. Memory fresh from the system costs more than the passes over it."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.keys, self.ordered = np.empty(shape, np.float64), np.empty(shape, np.float32)
        self.index = self.keys.view(np.int64)
        self.positions = np.arange(shape[1], dtype=np.int64)
        self.neighbours = self.ordered.reshape(-1)[:-1], self.ordered.reshape(-1)[1:]
        self.tied = np.empty(self.ordered.size - 1, bool)  # places tied with the place after them
        with torch.inference_mode(False):  # to be written to in any mode later
            self.result = torch.from_numpy(self.ordered), torch.from_numpy(self.index)


class _Scratch(threading.local):
    """The last few :class:`_Buffers` of each thread."""

    def __init__(self) -> None:
        self._cached = lru_cache(maxsize=8)(lambda side, shape: _Buffers(shape))

    def side(self, side: int, shape: tuple[int, int]) -> _Buffers:
        """Buffers for a side of a block; those for very long rows are not kept."""
        return _Buffers(shape) if shape[0] * shape[1] > 4 * BLOCK else self._cached(side, shape)


_scratch = _Scratch()
