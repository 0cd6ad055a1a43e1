"""Weights of clouds: one mixture, a strip between two, a triangle of three."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

GRID, STRIP = 4, 10  # default steps along a side


def check_mixture(weights: Sequence[float]) -> None:
    """Not negative, and of sum one."""
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise ValueError(f"weights must not be negative; got {list(weights)}")
    if abs(sum(weights) - 1) > 1e-6:
        raise ValueError(f"weights must sum to one; got {list(weights)}, which sum to {sum(weights):.6g}")


def check_steps(weights: object, grid: int | None, strip: int | None) -> None:
    """Only one way to say what is mixed."""
    given = [name for name, value in (("weights", weights), ("grid", grid), ("strip", strip)) if value is not None]
    if len(given) > 1:
        raise ValueError(f"{given[0]} must be left out where {given[1]} is given: one of weights, grid and strip says what is mixed")


def num_mixtures(weights: Sequence[float] | None, grid: int | None, strip: int | None, num_clouds: int) -> int:
    """How many :func:`mixtures` there are.

    Raises:
        ValueError: what is given is not for so many clouds.

    >>> num_mixtures(None, 2, None, 3), num_mixtures(None, None, None, 2)
    (6, 11)
    """
    for name, value, wanted in (("grid", grid, 3), ("strip", strip, 2)):
        if value is not None and num_clouds != wanted:
            raise ValueError(f"{name} must be left out unless there are {wanted} clouds; got {value} for {num_clouds}")
    if weights is not None and len(weights) != num_clouds:
        raise ValueError(f"weights must be as many as there are clouds, {num_clouds}; got {len(weights)}: {list(weights)}")
    if weights is not None or num_clouds not in (2, 3):
        return 1
    n = (GRID if grid is None else grid) if num_clouds == 3 else (STRIP if strip is None else strip)
    return (n + 1) * (n + 2) // 2 if num_clouds == 3 else n + 1


def mixtures(weights: Sequence[float] | None, grid: int | None, strip: int | None, num_clouds: int) -> np.ndarray:
    """The weights of all barycenters, ``[W, num_clouds]``.

    Default: a triangle for three clouds, a strip for two, equal weights for any other number.

    Raises:
        ValueError: what is given is not for so many clouds.

    >>> mixtures(None, 2, None, 3).tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]
    """
    num_mixtures(weights, grid, strip, num_clouds)
    if weights is not None:
        return np.array([weights]) / sum(weights)
    if num_clouds == 3:
        n = GRID if grid is None else grid
        return np.array([(i, j, n - i - j) for i in range(n, -1, -1) for j in range(n - i, -1, -1)]) / n
    if num_clouds == 2:
        n = STRIP if strip is None else strip
        return np.array([(n - i, i) for i in range(n + 1)]) / n
    return np.full((1, num_clouds), 1 / num_clouds)
