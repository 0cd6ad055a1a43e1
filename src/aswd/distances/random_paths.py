r"""Random-path directions (RPSW): towards samples of one side from samples of the other."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from aswd.distances.directions import Directions
from aswd.distances.problem import Slices
from aswd.distances.streams import Streams
from aswd.distances.zonal import MAX_KAPPA, directions_around, sample_noise, unit
from aswd.utils.checks import check_at_least, check_number


@dataclass
class RandomPath(Directions):
    r"""L directions of power spherical laws around :math:`(x_i - y_j) / |x_i - y_j|` for random pairs of features (RPSW).

    The pairs are independent, x_i by the weights of x and y_j by those of y. They are constants: no gradient reaches the samples through
    the directions. Where a pair coincides, its direction is uniform.

    So that the value depends neither on the order of the samples nor on that of x and y, a sample is drawn by the quantile of a uniform
    number in the order of its side along a common random direction; and of the two numbers of a pair, the first belongs to the side
    whose mean is lower along it. For given samples that is a pair of independent samples, as with two random indices.

    Args:
        num_projections: L >= 1.
        kappa: concentration around the paths; 0 is the uniform law. The authors let it fall from 100 to 1 during a flow.
    """

    num_projections: int = 1000
    kappa: float = 50.0

    from_samples = True

    def __post_init__(self) -> None:
        check_at_least("num_projections", self.num_projections, 1, whole=True)
        check_number("kappa", self.kappa, at_least=0, at_most=MAX_KAPPA)

    def drawing_sorts(self) -> int:
        """Both sides along the axis."""
        return 2

    def base_from(self, s: Slices, streams: Streams) -> Tensor:
        dim = s.x_features.shape[-1]
        axis = streams.sphere(1, dim)
        first, second = (streams.uniform(0.5, 2, self.num_projections) + 0.5).unbind(1)
        noise = sample_noise(streams, self.num_projections, dim)
        sides = [_Side(features, weights, axis) for features, weights in ((s.x_features, s.x_weights), (s.y_features, s.y_weights))]
        lower = sides[0].mean <= sides[1].mean
        x = sides[0].at(torch.where(lower, first, second))
        y = sides[1].at(torch.where(lower, second, first))
        path = unit(x - y)
        uniform = functional.normalize(noise[..., :-1], dim=-1)
        coincide = (x == y).all(-1, keepdim=True)
        return torch.where(coincide, uniform, directions_around(path, noise, "power_spherical", self.kappa, odd=True))


class _Side:
    """The samples of one side ``[R, N, D]`` in their order along an axis ``[R, 1, D]``."""

    def __init__(self, features: Tensor, weights: Tensor | None, axis: Tensor) -> None:
        along, index = (axis @ features.mT)[:, 0].sort(dim=1, stable=True)
        shares = torch.full_like(along, 1 / along.shape[1]) if weights is None else weights.gather(1, index)
        self.features, self.index = features, index
        self.mean = (along * shares).sum(1, keepdim=True)  # [R, 1]
        self.levels = shares.double().cumsum(1)

    def at(self, level: Tensor) -> Tensor:
        """Samples at levels ``[R, L]`` of the distribution function: ``[R, L, D]``."""
        rank = torch.searchsorted(self.levels, level.double() * self.levels[:, -1:], right=True).clamp_(max=self.levels.shape[1] - 1)
        return self.features.take_along_dim(self.index.gather(1, rank)[..., None], 1)
