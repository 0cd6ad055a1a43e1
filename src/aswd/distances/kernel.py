"""The compiled kernel of the transport on the line (``native/rows.cpp``): float32 rows on a CPU, without the interpreter's lock.

It is built when the package is installed, where there is a compiler for it; without it :mod:`aswd.distances.sorting` sorts by numpy. Both
give the same sorted values, permutations and slopes; sums of costs differ in rounding.
"""

from __future__ import annotations

import ctypes
import math
from pathlib import Path

import torch
from torch import Tensor

from aswd.distances.workers import map_chunks, worker_count

MAX_DIM = 16  # of directions whose products with samples the kernel computes itself
_UNIT = 32_768  # values on the line per unit of work
_MOST_UNITS = 16  # of a replica: each has a gradient of its own, and they are summed in the end

_FILE = Path(__file__).with_name("native") / "rows.so"
_INTERFACE = 2  # of native/rows.cpp: a library of another version is not used
_register_bytes = 0  # width of the registers; 0: the kernel chooses. Tests set it


def _load(file: Path) -> ctypes.CDLL | None:
    """The library, or ``None`` where it was not built, is of another version, or this processor cannot run it."""
    try:
        library = ctypes.CDLL(str(file))
        address, count = ctypes.c_void_p, ctypes.c_int64
        library.aswd_longest_row.restype = count
        library.aswd_sort.argtypes = [address, count, count, address, address, ctypes.c_int]
        library.aswd_sort.restype = None
        library.aswd_solve.argtypes = [address, address, count, count, ctypes.c_double, *[ctypes.c_int] * 2, address, ctypes.c_int]
        library.aswd_solve.restype = None
        sizes = [*[count] * 4, ctypes.c_int, ctypes.c_double]
        library.aswd_sliced.argtypes = [*[address] * 3, *sizes, *[address] * 6, ctypes.c_int, address, ctypes.c_int]
        library.aswd_sliced.restype = None
        fits = library.aswd_interface() == _INTERFACE and library.aswd_register_bytes()
    except (OSError, AttributeError):
        return None
    return library if fits else None


_library = _load(_FILE)
_longest_row = _library.aswd_longest_row() if _library else 0


def kernel_is_built() -> bool:
    """Whether the compiled kernel is used."""
    return _library is not None


def takes(values: Tensor, length: int) -> bool:
    """Whether the kernel can sort rows of this length, of values like these."""
    return _library is not None and values.device.type == "cpu" and values.dtype == torch.float32 and 0 < length <= _longest_row


def sort(values: Tensor, with_index: bool) -> tuple[Tensor, Tensor | None]:
    """Rows in ascending order and, with ``with_index``, the stable permutations that sort them."""
    values = values.contiguous()
    ordered = torch.empty_like(values)
    index = torch.empty_like(values, dtype=torch.int64) if with_index else None
    pointer = index.data_ptr() if with_index else None
    _library.aswd_sort(values.data_ptr(), *values.shape, ordered.data_ptr(), pointer, _register_bytes)
    return ordered, index


def solve(u: Tensor, v: Tensor, order: float, need_u: bool, need_v: bool) -> Tensor:
    """Sum over ranks of ``|u - v|^order`` of every row; ``u`` and ``v``, contiguous, are overwritten with slopes where needed."""
    costs = torch.empty(len(u), dtype=torch.float32, device="cpu")
    _library.aswd_solve(u.data_ptr(), v.data_ptr(), *u.shape, order, need_u, need_v, costs.data_ptr(), _register_bytes)
    return costs


def sliced(x: Tensor, y: Tensor, directions: Tensor, order: float, need: tuple[bool, bool, bool]) -> tuple[Tensor, list[Tensor | None]]:
    """All slices <x, theta> of ``x [R, N, D]`` and ``y [R, N, D]`` with ``directions [R, L, D]``, D at most :data:`MAX_DIM`, in threads.

    Returns:
        The sum over ranks of ``|u - v|^order`` of every slice, ``[R, L]``, and the gradients of their sum, but for the factor ``order``,
        with respect to ``x``, ``y`` and ``directions``, those in ``need``; that of ``y`` is negated.
    """
    units, width = math.ceil(directions.shape[1] / _unit(x, directions)), math.ceil(x.shape[2] / 4) * 4
    parts = [x.new_empty(len(x), units, x.shape[1], width) if needed else None for needed in need[:2]]
    theta_grad = torch.empty_like(directions, memory_format=torch.contiguous_format) if need[2] else None
    costs = _run(x, y, directions, order, [*parts, theta_grad, None, None])
    sums = [None if part is None else part[:, 0] if units == 1 else part.sum(1) for part in parts]
    return costs, [*(None if grad is None else grad[..., : x.shape[2]] for grad in sums), theta_grad]


def slopes(x: Tensor, y: Tensor, directions: Tensor, order: float, needs: tuple[bool, bool]) -> tuple[Tensor, list[Tensor | None]]:
    """As :func:`sliced`, with the slopes of every slice, ``[R, L, N]``, instead of gradients; both sides' with the sign of x's."""
    kept = [x.new_empty(*directions.shape[:2], x.shape[1]) if needed else None for needed in needs]
    return _run(x, y, directions, order, [None, None, None, *kept]), kept


def lifted(x: Tensor, y: Tensor, directions: Tensor, order: float) -> Tensor:
    """The sum of ``|x - y|^order`` between the samples that a slice matches, ``[R, L]``, with sizes as in :func:`sliced`."""
    return _run(x, y, directions, order, [None] * 5, is_lifted=True)


def _unit(x: Tensor, directions: Tensor) -> int:
    """Slices per unit of work, which depends on the sizes of a replica alone."""
    samples, slices = x.shape[1], directions.shape[1]
    tile = 16 if samples <= 1024 else 8  # slices that are sorted at once
    unit = max(_UNIT // samples, math.ceil(slices / _MOST_UNITS))
    return math.ceil(slices / math.ceil(slices / unit) / tile) * tile


def _run(x: Tensor, y: Tensor, directions: Tensor, order: float, outputs: list[Tensor | None], is_lifted: bool = False) -> Tensor:
    (replicas, samples, dim), slices, unit = x.shape, directions.shape[1], _unit(x, directions)
    inputs = x.mT.contiguous(), y.mT.contiguous(), directions.contiguous()
    costs, following = x.new_empty(replicas, slices), ctypes.c_int64(0)
    pointers = [None if tensor is None else tensor.data_ptr() for tensor in (*inputs, costs, *outputs)]

    def work(_: int) -> None:
        sizes = replicas, samples, slices, unit, dim, order
        _library.aswd_sliced(*pointers[:3], *sizes, *pointers[3:], is_lifted, ctypes.addressof(following), _register_bytes)

    map_chunks(work, range(min(worker_count(), replicas * math.ceil(slices / unit))), x.device)
    return costs
