"""Random scramblings of the digits of points of low discrepancy, per replica and without leaving the device."""

from __future__ import annotations

import torch
from torch import Tensor

from aswd.distances.streams import Streams

BITS = 30  # binary digits of a coordinate


def scrambled_digits(digits: Tensor, count: int, streams: Streams) -> Tensor:
    r"""Points of a binary net after a random linear map of their digits and a random digital shift, ``[R, count, c]``.

    A digit :math:`a_k` becomes :math:`a_k + \sum_{j < k} m_{kj} a_j + s_k` modulo two, with independent random bits m and s for every
    coordinate and replica.

    Args:
        digits: ``[count, c]`` whole numbers of :data:`BITS` digits, of which only the first log2(count) are not zero.
        count: of points.
        streams: one per replica.
    """
    leading = max(1, (count - 1).bit_length())
    random = streams.integers(2**BITS, leading + 1, 1, digits.shape[1])  # [R, leading + 1, 1, c]
    result = random[:, 0].expand(-1, count, -1)
    for k in range(leading):
        one = 1 << (BITS - 1 - k)  # digit k
        column = random[:, k + 1] % one + one  # itself, and what it changes of the later ones
        result = result ^ torch.where((digits & one) != 0, column, 0)
    return (result.double() + 0.5) / 2**BITS


def permuted_inverse(index: Tensor, base: int, streams: Streams) -> Tensor:
    """Radical inverses of ``index [count]`` after a random permutation of the digits of each position, ``[R, count]``.

    Positions from which on all digits are zero get the same random digits, in one uniform number for all of them.
    """
    result, scale, highest = torch.zeros(streams.count, len(index), dtype=torch.float64, device=index.device), 1.0, len(index) - 1
    while highest > 0:
        permutation = streams.uniform(1.0, base).argsort(1)
        scale /= base
        result = result + scale * permutation[:, index % base].double()
        index, highest = index // base, highest // base
    return result + scale * (streams.uniform(0.5, 1).double() + 0.5).clamp(2.0**-24, 1 - 2.0**-24)
