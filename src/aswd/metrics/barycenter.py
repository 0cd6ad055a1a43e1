"""The Wasserstein barycenter with free support, for reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def free_support_barycenter(clouds: Sequence[np.ndarray], weights: Sequence[float], num_points: int) -> np.ndarray:
    r"""``num_points`` equal points x that minimise :math:`\sum_i w_i W_2^2(x, \mu_i)`, ``[num_points, d]``, by POT's fixed point iteration.

    Every point moves to the weighted mean of what it is sent to, until none moves, from the cloud with the largest weight on. For two
    clouds of ``num_points`` points each one step gives the exact barycenter, McCann's interpolation. For more clouds it is a
    local minimum: on the built-in shapes other starts ended with an objective within two per cent of it.

    Args:
        clouds: :math:`\mu_i`, each ``[M_i, d]``.
        weights: w, one a cloud, of sum one.
        num_points: of x.

    >>> free_support_barycenter([np.zeros((2, 2)), np.full((2, 2), 4.0)], [0.25, 0.75], 2)
    array([[3., 3.],
           [3., 3.]])
    """
    import ot

    heaviest = np.asarray(clouds[int(np.argmax(weights))], dtype=float)
    start = heaviest[np.arange(num_points) % len(heaviest)]
    live = [(np.asarray(cloud, dtype=float), weight) for cloud, weight in zip(clouds, weights, strict=True) if weight > 0]
    measures = [np.full(len(cloud), 1 / len(cloud)) for cloud, _ in live]
    return ot.lp.free_support_barycenter([cloud for cloud, _ in live], measures, start, weights=np.array([weight for _, weight in live]))
