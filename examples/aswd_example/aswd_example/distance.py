"""A generalised sliced Wasserstein distance with the projection sin(frequency <x, theta>)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from aswd.distances import Projection, Single, register


@register("gswd_sine")  # uniform directions
@register("max_gswd_sine", directions=Single, maximised="directions", warm_start=False)  # the direction with the largest cost
@dataclass
class Sine(Projection):
    """Project samples by a sine wave along each direction; injective for samples within a radius of pi / (2 frequency).

    Args:
        frequency: of the wave; becomes the option ``distance.frequency``.
    """

    frequency: float = 0.5

    def values(self, features: Tensor, directions: Tensor) -> Tensor:
        """Projections ``[R, L, N]`` of samples ``[R, N, d]`` along directions ``[R, L, d]``."""
        return torch.sin(self.frequency * directions @ features.mT)
