r"""Squared distances between matched samples, and what a gradient with respect to them pulls back, in the way that suits their number.

- Few dimensions: one coordinate at a time, from samples as columns.
- Many dimensions: all coordinates of some matches at a time, from samples as rows.
- Many dimensions and many slices: all pairs once. Then a match is one look-up, and the gradient of a sum of costs under weights,
  :math:`\sum_{ij} S_{ij} |x_i - y_j|^2 / 2`, is :math:`(\sum_j S_{ij}) x_i - (S y)_i`, one matrix product for all slices.

Squared distances of all pairs are :math:`|x_i|^2 + |y_j|^2 - 2 \langle x_i, y_j \rangle` in float64 for centred samples, which cancels for
pairs that are close: these are computed again from their differences, so that small distances are as exact as large ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

_COLUMNS_UP_TO = 16  # dimensions
_HELD = 1 << 19  # coordinates of matched samples that are held at a time
_MOST_PAIRS = 1 << 26  # of all replicas
_PAIRS_PER_MATCH = 32  # a pair from a matrix product takes about a thirtieth of the time of a match of gathered samples
_CANCELLED = {torch.float32: 1e-6, torch.float64: 1e-3}  # relative to the squared norms: below it differences are computed

Pieces = Iterator[tuple[slice, Tensor]]


def all_pairs_are_cheaper(x: Tensor, y: Tensor, slices: int) -> bool:
    """Whether the distances of all pairs of ``[R, N, d]`` and ``[R, M, d]`` cost less than those of the matches of so many slices."""
    (replicas, n, dim), m = x.shape, y.shape[1]
    return dim > _COLUMNS_UP_TO and min(n, m) <= _PAIRS_PER_MATCH * slices and replicas * n * m <= _MOST_PAIRS


def squared_distances(x: Tensor, y: Tensor) -> Tensor:
    """|x_i - y_j|^2 of all pairs, ``[R, N, M]``; exactly zero for equal samples.

    On a CPU by matrix products in float64; elsewhere, where looking for cancelled pairs would be a synchronisation, by differences.
    """
    if x.device.type != "cpu":
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist").square_()
    centre = (x.mean(1, keepdim=True, dtype=torch.float64) + y.mean(1, keepdim=True, dtype=torch.float64)) / 2
    squares = x.new_empty(len(x), x.shape[1], y.shape[1])
    for out, x_rows, y_rows, middle in zip(squares, x, y, centre, strict=True):
        b = y_rows - middle
        b_norms = torch.linalg.vecdot(b, b)
        for rows in _ranges(len(x_rows), _HELD // y.shape[1]):
            a = x_rows[rows] - middle
            norms = torch.linalg.vecdot(a, a)[:, None] + b_norms
            product = torch.addmm(norms, a, b.mT, alpha=-2)
            out[rows] = product
            # Not "close" but "not far": what has overflowed to NaN stays so.
            i, j = torch.nonzero(product <= _CANCELLED[x.dtype] * norms, as_tuple=True)
            for some in _ranges(len(i), _HELD // x.shape[2]):
                out[rows.start + i[some], j[some]] = _norms(x_rows[rows.start + i[some]] - y_rows[j[some]])
    return squares


def pull_back_pairs(slopes: Tensor, x: Tensor, y: Tensor, need: tuple[bool, bool]) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of sum_ij S_ij |x_i - y_j|^2 / 2 for slopes S ``[R, N, M]``, those in ``need``; in float64 against cancellation."""
    centre = x.mean(1, keepdim=True, dtype=torch.float64)
    a, b, s = x - centre, y - centre, slopes.double()
    x_grad = (s.sum(2)[..., None] * a).baddbmm_(s, b, alpha=-1).to(x.dtype) if need[0] else None
    y_grad = (s.sum(1)[..., None] * b).baddbmm_(s.mT, a, alpha=-1).to(x.dtype) if need[1] else None
    return x_grad, y_grad


def matched_squares(x: Tensor, y: Tensor, i: Tensor | None, j: Tensor) -> Tensor:
    """|x_i - y_j|^2, ``[r, l, K]``, of samples ``[r, N, d]`` and ``[r, M, d]`` under indices ``[r, l, K]``; no ``i``: all x in order."""
    total = torch.zeros(j.shape, device=x.device, dtype=x.dtype)
    if x.shape[2] <= _COLUMNS_UP_TO:
        for _, difference in _by_columns(x.mT, y.mT, i, j):
            total += difference.square_().sum(1)
    else:
        for some, difference in _by_rows(x, y, i, j):
            total.view(-1)[some] = _norms(difference)
    return total


def pull_back_matches(
    factor: Tensor, x: Tensor, y: Tensor, i: Tensor | None, j: Tensor, need: tuple[bool, bool]
) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of the sum of factor |x_i - y_j|^2 / 2 over matches, those in ``need``; factor and indices are ``[r, l, K]``."""
    columns = x.shape[2] <= _COLUMNS_UP_TO
    grads = [torch.zeros_like(side.mT if columns else side).contiguous() if n else None for side, n in zip((x, y), need, strict=True)]
    if columns:
        for some, difference in _by_columns(x.mT, y.mT, i, j):
            slope = difference.mul_(factor[:, None])
            for grad, index, sign in ((grads[0], i, 1), (grads[1], j, -1)):
                if grad is not None and index is None:
                    grad[:, some] += slope.sum(2)
                elif grad is not None:
                    grad[:, some].scatter_add_(2, index.flatten(1)[:, None].expand(-1, slope.shape[1], -1), sign * slope.flatten(2))
        return tuple(None if grad is None else grad.mT for grad in grads)
    index = [_flat_index(k, j, side.shape[1]) for k, side in ((i, x), (j, y))]
    for some, difference in _by_rows(x, y, i, j):
        slope = difference.mul_(factor.reshape(-1)[some, None])
        for grad, rows, sign in zip(grads, index, (1, -1), strict=True):
            if grad is not None:
                grad.flatten(0, 1).index_add_(0, rows[some], slope, alpha=sign)
    return tuple(grads)


def _by_columns(x: Tensor, y: Tensor, i: Tensor | None, j: Tensor) -> Pieces:
    """Coordinates of x_i - y_j, ``[r, c, l, K]``, a few at a time, for samples as columns ``[r, d, N]``."""
    x, y = x.contiguous(), y.contiguous()

    def taken(side: Tensor, index: Tensor) -> Tensor:
        return side.gather(2, index.flatten(1)[:, None].expand(-1, side.shape[1], -1)).view(*side.shape[:2], *index.shape[1:])

    for some in _ranges(x.shape[1], _HELD // j.numel()):
        yield some, torch.sub(x[:, some, None] if i is None else taken(x[:, some], i), taken(y[:, some], j))


def _by_rows(x: Tensor, y: Tensor, i: Tensor | None, j: Tensor) -> Pieces:
    """x_i - y_j, ``[c, d]``, for a few matches at a time, in the order of the flattened indices."""
    sides = [(side.reshape(-1, side.shape[2]), _flat_index(k, j, side.shape[1])) for side, k in ((x, i), (y, j))]
    for some in _ranges(j.numel(), _HELD // x.shape[2]):
        a, b = (rows.index_select(0, index[some]) for rows, index in sides)
        yield some, a.sub_(b)


def _flat_index(index: Tensor | None, like: Tensor, count: int) -> Tensor:
    """Indices of ``count`` samples of every replica, as those of the rows of all."""
    first = torch.arange(0, len(like) * count, count, device=like.device)[:, None, None]
    within = torch.arange(count, device=like.device) if index is None else index
    return (first + within).expand_as(like).reshape(-1)


def _ranges(count: int, most: int) -> Iterator[slice]:
    """Ranges of ``count`` items, at most so many each, but at least one."""
    step = max(1, most)
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def _norms(difference: Tensor) -> Tensor:
    return torch.linalg.vecdot(difference, difference)
