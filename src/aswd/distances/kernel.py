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

from aswd.distances.repeated import Repeated, Seen
from aswd.distances.workers import worker_count

MAX_DIM = 32  # of directions whose products with samples the kernel computes itself
_UNIT = 16_384  # values on the line per unit of work
_MOST_UNITS = 128  # of a replica: each has a gradient of its own, and they are summed in the end
_FEW_UNITS = 16  # that there may be, if the gradients of more would take more than _PARTS
_PARTS = 1 << 22  # numbers in the gradients of units that are held at a time

_FILE = Path(__file__).with_name("native") / "rows.so"
ACTIVATIONS = ("none", "relu", "leaky_relu", "tanh")  # that :func:`ascend` knows, in the order of native/ascent.inl
PENALTY_FORMS = ("mean_norm", "moment", "algorithm1")  # likewise
_INTERFACE = 5  # of native/rows.cpp: a library of another version is not used
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
        sides, sizes = [address, count, count] * 2, [*[count] * 4, ctypes.c_int, *[ctypes.c_double] * 2]
        outputs = [*[address] * 3, count, *[address] * 4, *[ctypes.c_int] * 2]
        library.aswd_sliced.argtypes = [*sides, address, address, *sizes, *outputs, count, count, ctypes.c_int]
        library.aswd_sliced.restype = None
        real, small = ctypes.c_double, ctypes.c_int
        layer = [address, count, count, *[small] * 4, address, count, count, real, real, address, small]
        library.aswd_ascend.argtypes = [*layer, *[address] * 6, count, *[real] * 3, *[count] * 3, small]
        library.aswd_ascend.restype = None
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


def sliced(
    x: Tensor,
    y: Tensor,
    directions: Tensor,
    order: float,
    need: tuple[bool, bool, bool],
    scale: float = 1.0,
    weights: Tensor | None = None,
    repeated: Repeated | None = None,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """All slices <x, theta> of ``x [R, N, D]`` and ``y [R, N, D]`` with ``directions [R, L, D]``, D at most :data:`MAX_DIM`, in threads.

    Returns:
        The sum over ranks of ``|u - v|^order`` of every slice, ``[R, L]``, and the gradients of their sum, under ``weights [R, L]`` if
        there are any, but for the factor ``order / scale``: with respect to those of ``x`` and ``y`` that are in ``need``, one after the
        other in ``[R, N or 2 N, D]``, and with respect to ``directions``.
        Where neither y nor the directions need one, and ``repeated`` knows them, y is not sorted again.
    """
    samples, dim = x.shape[1:]
    sides = x.new_empty(len(x), dim, samples * (need[0] + need[1])) if need[0] or need[1] else None
    x_grad = None if not need[0] else sides.data_ptr()
    y_grad = None if not need[1] else sides.data_ptr() + (4 * samples if need[0] else 0)
    theta_grad = torch.empty_like(directions, memory_format=torch.contiguous_format) if need[2] else None
    outputs = [x_grad, y_grad, 0 if sides is None else sides.shape[2], _address(theta_grad), None, None]
    known = None if repeated is None or need[1] or need[2] else repeated.look_up(y, directions)
    costs = _run(x, y, directions, order, outputs, scale, None if weights is None else weights.contiguous(), known)
    return costs, None if sides is None else sides.mT, theta_grad


def slopes(x: Tensor, y: Tensor, directions: Tensor, order: float, needs: tuple[bool, bool]) -> tuple[Tensor, list[Tensor | None]]:
    """Costs as by :func:`sliced`, and the slopes of every slice, ``[R, L, N]``, of the sides that need them, with the sign of x's."""
    kept = [x.new_empty(*directions.shape[:2], x.shape[1]) if needed else None for needed in needs]
    return _run(x, y, directions, order, [None, None, 0, None, *map(_address, kept)]), kept


def lifted(x: Tensor, y: Tensor, directions: Tensor, order: float) -> Tensor:
    """The sum of ``|x - y|^order`` between the samples that a slice matches, ``[R, L]``, with sizes as in :func:`sliced`."""
    return _run(x, y, directions, order, [None, None, 0, None, None, None], is_lifted=True)


def ascend(
    samples: Tensor,
    directions: Tensor,
    layer: tuple[int, int, int],
    penalty: tuple[Tensor | None, int],
    order: float,
    objective: float,
    state: list[Tensor],
    adam: tuple[float, float, float, int],
) -> None:
    """Adam steps along the gradient of ``(S mean_l W_k^k)^(1/k) - penalty`` for the layer of an augmented projection, in place.

    Args:
        samples: of x and then y, ``[R, 2 N, d]``.
        directions: of every step, ``[steps, R, L, D]``, with D at most :data:`MAX_DIM`.
        layer: outputs, coordinates of x that features begin with, and activation, an index into :data:`ACTIVATIONS`.
        penalty: lambda of every replica, ``[R]``, or ``None``, and the form, an index into :data:`PENALTY_FORMS`.
        order: k.
        objective: S.
        state: weight ``[R, outputs, d]`` and bias ``[R, outputs]``, their first and their second moments, contiguous.
        adam: learning rate, both decay rates, and the number of steps before.
    """
    samples, directions = samples.mT.contiguous(), directions.contiguous()
    (replicas, dim, row), (steps, _, slices, width) = samples.shape, directions.shape
    (strength, form), pointers = penalty, [tensor.data_ptr() for tensor in state]
    unit = _unit(row // 2, width, slices)
    problem = [samples.data_ptr(), replicas, row // 2, dim, *layer, directions.data_ptr(), slices, unit, order, objective]
    _library.aswd_ascend(*problem, _address(strength), form, *pointers, steps, *adam, _PARTS, worker_count(), _register_bytes)


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _unit(samples: int, dim: int, slices: int) -> int:
    """Slices per unit of work, which depends on the sizes of a replica alone."""
    tile = 16 if samples <= 1024 else 8  # slices that are sorted at once
    most = min(_MOST_UNITS, max(_FEW_UNITS, _PARTS // (2 * samples * math.ceil(dim / 4) * 4)))
    unit = max(_UNIT // samples, math.ceil(slices / most))
    return math.ceil(slices / math.ceil(slices / unit) / tile) * tile


def _run(
    x: Tensor,
    y: Tensor,
    directions: Tensor,
    order: float,
    outputs: list[int | None],
    scale: float = 1.0,
    weights: Tensor | None = None,
    known: Seen | None = None,
    is_lifted: bool = False,
) -> Tensor:
    (replicas, samples, dim), slices = x.shape, directions.shape[1]
    x, y = (side if side.stride(1) == 1 else side.mT.contiguous().mT for side in (x, y))
    sides = (part for side in (x, y) for part in (side.data_ptr(), side.stride(0), side.stride(2)))
    directions, costs = directions.contiguous(), x.new_empty(replicas, slices)
    sizes = replicas, samples, slices, _unit(samples, dim, slices), dim, order, scale
    kept = (None, False) if known is None else (known.values.data_ptr(), known.filled)
    outputs = [costs.data_ptr(), *outputs, *kept, is_lifted, _PARTS]
    _library.aswd_sliced(*sides, directions.data_ptr(), _address(weights), *sizes, *outputs, worker_count(), _register_bytes)
    if known is not None:
        known.filled = True
    return costs
