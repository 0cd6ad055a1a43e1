"""Averaged alignment: an approximate transport map from matchings on the line (appendix on colour transfer)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from aswd.distances.exact import optimal_couplings

_CHUNK = 1 << 22  # values on the line that are held in order at a time


def averaged_alignment(u: Tensor, v: Tensor, y: Tensor, x_weights: Tensor | None = None, y_weights: Tensor | None = None) -> Tensor:
    r"""Where L matchings on the line send each sample x_n, on average.

    Along direction l the sorted values of both sides are matched in order. With as many samples on both sides and no weights,

    .. math:: T(x_n) = \tfrac1L \sum_l y_{\sigma_l(n)}, \qquad \sigma_l = \mathrm{argsort}(v_l) \circ \mathrm{argsort}(u_l)^{-1};

    else the monotone plan of direction l splits samples, and :math:`y_{\sigma_l(n)}` is the mean of what x_n is coupled with.
    Equal values keep the order of their samples.

    Args:
        u: values of the x_n, ``[L, N]``.
        v: values of the y_m, ``[L, M]``.
        y: ``[M, d]``.
        x_weights, y_weights: ``[N]`` and ``[M]``, above zero; uniform when left out.

    Returns:
        ``[N, d]``.

    >>> y = torch.tensor([[1.0], [2.0], [3.0]])
    >>> averaged_alignment(torch.tensor([[5.0, 4.0, 6.0]]), y.T, y).T
    tensor([[2., 1., 3.]])
    """
    plain = u.shape[1] == v.shape[1] and x_weights is None and y_weights is None
    if not plain:
        x_weights, y_weights = (_shares(values, weights) for values, weights in ((u, x_weights), (v, y_weights)))
    total = y.new_zeros(u.shape[1], y.shape[1], dtype=torch.float64)
    step = max(1, _CHUNK // max(u.shape[1], v.shape[1]))
    for rows in range(0, len(u), step):
        x_order, y_order = (values[rows : rows + step].argsort(dim=1, stable=True) for values in (u, v))
        matched = y[y_order].double() if plain else _split(x_weights[x_order], y_weights[y_order], y[y_order].double())
        total += torch.empty_like(matched).scatter_(1, x_order[:, :, None].expand_as(matched), matched).sum(0)
    return (total / len(u)).to(y.dtype)


def barycentric_projection(
    x: Tensor, y: Tensor, x_weights: Tensor | None = None, y_weights: Tensor | None = None, order: float = 2.0
) -> Tensor:
    r"""Where an exact optimal plan sends each sample: :math:`T(x_n) = \sum_m \gamma_{nm} y_m / \sum_m \gamma_{nm}`, ``[N, d]``."""
    weights = (None if w is None else w[None] for w in (x_weights, y_weights))
    ((i, j, mass),) = optimal_couplings(x[None], y[None], *weights, order)
    i, j, mass = (torch.from_numpy(part).to(y.device) for part in (i, j, mass))
    sums = torch.zeros(len(x), y.shape[1], dtype=torch.float64, device=y.device).index_add_(0, i, mass[:, None] * y[j])
    return (sums / torch.zeros(len(x), dtype=torch.float64, device=y.device).index_add_(0, i, mass)[:, None]).to(y.dtype)


def _shares(values: Tensor, weights: Tensor | None) -> Tensor:
    weights = values.new_ones(values.shape[1]) if weights is None else weights
    return weights.double() / weights.double().sum()


def _split(a: Tensor, b: Tensor, y: Tensor) -> Tensor:
    r"""The mean of y under each of the shares ``a [L, N]``, the line being cut into shares ``b [L, M]`` of the sorted ``y [L, M, d]``.

    With F(t) the integral of y up to the level t, linear between the ends of the shares, it is :math:`(F(A_n) - F(A_{n-1})) / a_n`.
    """
    ends, knots = (functional.pad(shares.cumsum(1), (1, 0)) for shares in (a, b))
    integral = functional.pad((b[:, :, None] * y).cumsum(1), (0, 0, 1, 0))
    index = torch.searchsorted(knots, ends, right=True).sub_(1).clamp_(max=b.shape[1] - 1)
    level = integral.take_along_dim(index[:, :, None], 1)
    level = level + (ends - knots.gather(1, index))[:, :, None] * y.take_along_dim(index[:, :, None], 1)
    return level.diff(dim=1) / a[:, :, None]
