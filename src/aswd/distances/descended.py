r"""Directions that are descended to a small lifted cost (min-SWGG by optimisation).

Under the matching of a slice the lifted cost is constant in the direction, almost everywhere. With pairs (x_k, y_k) of mass m_k matched
along theta, their midpoints c_k and z_k = <c_k, theta>, it is, for squared distances,

.. math:: 2 \, W_2^2(x, z \theta) + 2 \, W_2^2(y, z \theta) - 4 \, W_2^2(c, z \theta),

the generalised-geodesics form of the SWGG paper. There the midpoints c are replaced by those of perturbed copies of the projected
samples, b, which makes it smooth: its gradient, with all matchings as constants, is
:math:`8 \sum_k m_k (c_k \langle b_k - c_k, \theta \rangle + z_k (b_k - c_k))`.

The paper perturbs s copies of every sample with random normal numbers. Here their perturbations are the s quantiles of the normal law, for
every sample the same: the limit of many copies with less noise, and independent of the order of samples, as a distance has to be.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from aswd.distances.directions import Directions
from aswd.distances.layers import Parameters
from aswd.distances.one_dimensional import clamp_tiny, match_rows, quantile_plan
from aswd.distances.problem import Slices
from aswd.distances.slice_gradients import repeat_plan
from aswd.distances.streams import Streams
from aswd.distances.zonal import unit
from aswd.utils.checks import check_at_least


@dataclass
class Descended(Directions):
    """Directions, each descended on the smoothed lifted cost from a uniform start; given directions take their place, and none is searched.

    Args:
        starts: number of directions, which are descended independently.
        copies: s >= 2 perturbed copies of every sample.
        noise: standard deviation of the perturbations, in units of that of the projected samples.
    """

    starts: int = 1
    copies: int = 10
    noise: float = 0.1

    parameter_names = ("theta",)
    replaced_by_given = True
    has_own_objective = True

    def __post_init__(self) -> None:
        check_at_least("starts", self.starts, 1, whole=True)
        check_at_least("copies", self.copies, 2, whole=True)
        check_at_least("noise", self.noise, 0, strictly=True)

    @property
    def count(self) -> int:
        """The starts."""
        return self.starts

    def objective_sorts(self) -> int:
        """Both sides; and for each of them its copies, the midpoints, and the levels at which the masses of both meet."""
        return self.starts * (2 + 2 * 2 * (self.copies + 1))

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        return {"theta": streams.sphere(self.starts, dim)}

    def theta(self, base: Tensor | None, parameters: Parameters) -> Tensor:
        return parameters["theta"] if base is None else base

    def constrain(self, parameters: dict[str, Tensor]) -> None:
        parameters["theta"].copy_(unit(parameters["theta"]))

    def objective_gradients(self, s: Slices) -> dict[str, Tensor]:
        return {"theta": -smoothed_gradient(s, self.copies, self.noise)}


def smoothed_gradient(s: Slices, copies: int, noise: float) -> Tensor:
    """Gradient of the smoothed lifted cost with respect to the directions, ``[R, L, D]``."""
    replicas, count, dim = s.theta.shape
    n, m = s.x_features.shape[1], s.y_features.shape[1]
    like = {"device": s.theta.device, "dtype": s.theta.dtype}
    theta = s.theta.reshape(-1, 1, dim)
    sides = [side.repeat_interleave(count, 0) for side in (s.x_features, s.y_features)]  # one problem per direction
    u, v = ((theta @ side.mT)[:, 0] for side in sides)
    plan = repeat_plan(quantile_plan(n, m, s.x_weights, s.y_weights, **like), count)
    i, j, mass = match_rows(u, v, plan)
    mass = mass.expand(j.shape)
    x = sides[0] if i is None else sides[0].take_along_dim(i[..., None], 1)
    middle = (x + sides[1].take_along_dim(j[..., None], 1)) / 2  # c, [R L, K, D]
    along = torch.linalg.vecdot(middle, theta)  # z, [R L, K]
    gradient = -16 * ((mass * along)[:, None] @ middle)
    levels = (torch.arange(copies, **like) + 0.5) / copies
    width = noise * ((_variance(u, s.x_weights, count) + _variance(v, s.y_weights, count)) / 2).sqrt()
    shifts = width[..., None] * torch.special.ndtri(levels)  # [R L, 1, copies]
    for side, values, weights in ((sides[0], u, s.x_weights), (sides[1], v, s.y_weights)):
        size = values.shape[1]
        share = torch.full_like(values, 1 / size) if weights is None else weights.repeat_interleave(count, 0)
        blurred = (values[..., None] + shifts).flatten(1)
        plan = quantile_plan(size * copies, along.shape[1], (share / copies).repeat_interleave(copies, 1), mass, **like)
        k, pair, shared = match_rows(blurred, along.contiguous(), plan)
        k = k // copies  # the sample of a copy
        pull = torch.zeros_like(values).scatter_add_(1, k, shared * along.gather(1, pair))  # sum of mass z_k of every sample
        push = torch.zeros_like(along).scatter_add_(1, pair, shared * values.gather(1, k))  # sum of mass <x, theta> of every pair
        gradient = gradient + 4 * (pull[:, None] @ side + push[:, None] @ middle)
    return gradient.view(replicas, count, dim)


def _variance(values: Tensor, weights: Tensor | None, count: int) -> Tensor:
    """Variance of every row, ``[R L, 1]``."""
    if weights is None:
        return clamp_tiny(values.var(1, unbiased=False, keepdim=True))
    weights = weights.repeat_interleave(count, 0)
    mean = (weights * values).sum(1, keepdim=True)
    return clamp_tiny((weights * (values - mean).square()).sum(1, keepdim=True))
