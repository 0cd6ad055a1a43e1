"""The sliced Wasserstein distance as a function, for those who want no object."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from aswd.distances.directions import Uniform
from aswd.distances.one_dimensional import safe_root, wasserstein_1d
from aswd.distances.projections import Linear
from aswd.distances.sliced import SlicedDistance
from aswd.utils.checks import check_at_least, check_number


class Estimate(NamedTuple):
    """A distance with a confidence interval for its limit of infinitely many directions, each ``[...]``."""

    value: Tensor
    low: Tensor
    high: Tensor


def sliced_wasserstein(
    x: Tensor,
    y: Tensor,
    x_weights: Tensor | None = None,
    y_weights: Tensor | None = None,
    *,
    num_projections: int = 1000,
    order: float = 2.0,
    directions: Tensor | None = None,
    sampling: str = "random",
    randomisation: str = "rotation",
    root: bool = True,
    seed: int | None = None,
    confidence: float | None = None,
    repetitions: int = 10,
) -> Tensor | Estimate:
    r"""The sliced Wasserstein distance: the 1/k root of the mean over l of :math:`W_k^k` between the <x, theta_l> and the <y, theta_l>.

    Args:
        x, y: samples ``[..., N, d]`` and ``[..., M, d]``.
        x_weights, y_weights: ``[..., N]`` and ``[..., M]``; default: uniform.
        num_projections: L.
        order: k >= 1.
        directions: ``[L, d]`` or ``[..., L, d]``, instead of drawn ones.
        sampling, randomisation: of the directions: see :class:`~aswd.distances.directions.Uniform`.
        root: take the 1/k root.
        seed: of the directions; default: from torch's global random state.
        confidence: level of a confidence interval, such as 0.95. The mean of W_k^k over all directions has an interval by Student's t, from
            the costs of independent directions (``sampling="random"``), or from ``repetitions`` independent randomisations of a point
            set, each with L directions, whose mean is then the value.
        repetitions: number of randomisations, at least 2.

    Returns:
        ``[...]``, differentiable with respect to the samples; with ``confidence``, an :class:`Estimate`.

    Raises:
        ValueError: a value that is not allowed, or ``confidence`` with directions that are not random.

    Example:
        >>> x, y = torch.zeros(5, 2), torch.ones(5, 2)
        >>> sliced_wasserstein(x, y, sampling="orthogonal", num_projections=100, seed=0)
        tensor(1.)
    """
    distance = SlicedDistance(Linear(), Uniform(num_projections, sampling, randomisation), order=order, root=root, seed=seed)
    if confidence is None:
        return distance(x, y, x_weights, y_weights, directions)
    check_number("confidence", confidence, above=0, below=1)
    if directions is not None or (randomisation == "none" and sampling != "random"):
        raise ValueError("confidence needs random directions; got given ones or a point set without randomisation")
    if sampling == "random":
        check_at_least("num_projections", num_projections, 2, whole=True)
        weights = (None if w is None else w[..., None, :] for w in (x_weights, y_weights))
        estimates = wasserstein_1d(*distance.project(x, y, x_weights, y_weights), *weights, order=order, root=False)
    else:
        check_at_least("repetitions", repetitions, 2, whole=True)
        distance.root = False
        estimates = torch.stack([distance(x, y, x_weights, y_weights) for _ in range(repetitions)], -1)
    return _with_interval(estimates, confidence, order if root else 1)


def _with_interval(estimates: Tensor, confidence: float, order: float) -> Estimate:
    """The mean of independent estimates ``[..., n]``, with an interval by Student's t, and the 1/k root of all three."""
    from scipy.stats import t

    count, mean = estimates.shape[-1], estimates.mean(-1)
    half = t.ppf((1 + confidence) / 2, count - 1) / count**0.5 * estimates.detach().std(-1)
    bounds = ((mean.detach() + sign * half).clamp_min(0) for sign in (-1, 1))
    return Estimate(safe_root(mean, order), *(safe_root(bound, order) for bound in bounds))
