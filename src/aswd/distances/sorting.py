"""Sorting many rows at once, with the sorting permutations.

Torch sorts slowly on a CPU. For float32 there, :mod:`aswd.distances.kernel` sorts. Where that was not built, :func:`sort_rows` packs the
position of every value into the mantissa bits that are free once the value is widened to float64, and one vectorised numpy sort gives
values and permutation at once, exactly, with ties in order of position as in a stable sort.
"""

from __future__ import annotations

import math
import threading
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from aswd.distances import kernel

BLOCK = 65_536  # values to sort at a time: large enough to amortise the calls, small enough for the cache
_INDEX_MASK = (1 << 26) - 1  # of 29 free bits: a position this small does not change the float32 that a key rounds to
_SMALLEST = np.array([5e-324])  # a denormal number
_fast_sort = True  # set to False by tests, to compare


def chunk_size(count: int, most: int) -> int:
    """Size of the chunks when ``count`` items are split into chunks of at most ``most`` items and about equal size.

    Chunks of one size use the same working memory, which then stays in the cache.
    """
    return math.ceil(count / math.ceil(count / max(1, most)))


def use_kernel(values: Tensor, length: int) -> bool:
    """Whether rows of this length, of values like these, are sorted by the compiled kernel."""
    return _fast_sort and kernel.takes(values, length)


def sort_is_fast(values: Tensor) -> bool:
    """Whether rows like these are sorted by numpy, where the kernel was not built."""
    return _fast_sort and values.device.type == "cpu" and values.dtype == torch.float32 and values.shape[1] <= _INDEX_MASK


def sort_rows(values: Tensor, with_index: bool, side: int) -> tuple[Tensor, Tensor | None]:
    """Rows in ascending order and, with ``with_index``, the stable permutations that sort them.

    By numpy the results are buffers of this thread, overwritten by the next call for the same ``side``.
    """
    if use_kernel(values, values.shape[1]):
        return kernel.sort(values, with_index)
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
    """Sorted float32 rows and their permutation by one sort of float64 keys; ``None`` where keys do not sort as the values do.

    The key of the value at position n is the value with n in the low bits of its mantissa. Infinities have no mantissa; the keys of zeros
    are denormal numbers, useless where the processor flushes those to zero; and those of 0.0 and -0.0 would not tie.
    """
    keys, index = scratch.keys, scratch.index
    if _SMALLEST * 1.0 == 0 and not values.all():
        return None
    np.copyto(keys, values)
    index |= scratch.positions
    keys.sort(axis=1)
    if np.isnan(keys[:, -1]).any():  # from an infinity; NaN sorts last
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
    """Restore the order of position in runs of equal negative values, where a larger mantissa sorts first."""
    tied = tied[values[tied] < 0]
    if not (tied[1:] - tied[:-1] == 1).any():  # only pairs, as chance ties of random values: swap them
        index[tied], index[tied + 1] = index[tied + 1], index[tied]
    else:
        first = np.flatnonzero(np.diff(tied, prepend=-2) != 1)
        start, length = tied[first], np.diff(first, append=len(tied)) + 1
        offset = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        index[np.repeat(start, length) + offset] = index[np.repeat(start + length - 1, length) - offset]


class _Buffers:
    """Working memory for one side of a block; newly allocated memory costs more than the passes over it."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.keys, self.ordered = np.empty(shape, np.float64), np.empty(shape, np.float32)
        self.index = self.keys.view(np.int64)
        self.positions = np.arange(shape[1], dtype=np.int64)
        self.neighbours = self.ordered.reshape(-1)[:-1], self.ordered.reshape(-1)[1:]
        self.tied = np.empty(self.ordered.size - 1, bool)  # positions tied with the next one
        with torch.inference_mode(False):  # writable in any mode later
            self.result = torch.from_numpy(self.ordered), torch.from_numpy(self.index)


class _Scratch(threading.local):
    """The last few :class:`_Buffers` of each thread."""

    def __init__(self) -> None:
        self._cached = lru_cache(maxsize=8)(lambda side, shape: _Buffers(shape))

    def side(self, side: int, shape: tuple[int, int]) -> _Buffers:
        """Buffers for a side of a block; those for very long rows are not kept."""
        return _Buffers(shape) if shape[0] * shape[1] > 4 * BLOCK else self._cached(side, shape)


_scratch = _Scratch()
