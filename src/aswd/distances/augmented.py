r"""Augmented projections: p(x, theta) = <g(x), theta> with a map g to a hypersurface (the paper's spatial Radon transform).

The distance is a metric if g is injective. The paper concatenates, g(x) = [x, phi(x)]; its ablations use phi alone (not injective) and the
invertible flows of :mod:`aswd.distances.flows`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from aswd.distances.layers import Parameters, apply_layer, join, linear_layer, product
from aswd.distances.projections import Linear
from aswd.distances.streams import Streams
from aswd.utils.checks import check_at_least, check_choice

ACTIVATIONS = {
    "none": lambda x: x,
    "relu": functional.relu,
    "leaky_relu": functional.leaky_relu,
    "tanh": torch.tanh,
}
# Their derivatives, as functions of their values.
_SLOPES = {
    "relu": lambda phi: phi > 0,
    "leaky_relu": lambda phi: (phi > 0).to(phi.dtype).clamp_min_(0.01),
    "tanh": lambda phi: 1 - phi.square(),
}


class AugmentedProjection(Linear):
    """Base of the projections <g(x), theta> with a map g, to which the readings of the paper apply."""


@dataclass
class Augmented(AugmentedProjection):
    r"""g(x) = [x, phi(x)], the paper's injective architecture; phi is one fully-connected layer.

    Args:
        activation: of phi. ``"relu"`` in the paper's text, ``"none"`` in the released code, which makes g affine.
        expansion: phi has ``expansion * d`` outputs, so d_theta = (1 + expansion) d.
    """

    activation: str = "none"
    expansion: int = 1
    injective: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice("activation", self.activation, ACTIVATIONS)
        check_at_least("expansion", self.expansion, 1, whole=True)

    def direction_dim(self, dim: int) -> int:
        return (self.expansion + self.injective) * dim

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        return linear_layer(streams, dim, self.expansion * dim, "phi_")

    def features(self, x: Tensor, parameters: Parameters) -> Tensor:
        phi = ACTIVATIONS[self.activation](apply_layer(x, parameters, "phi_"))
        return join(x, phi) if self.injective else phi

    @property
    def closed_form(self) -> bool:
        """Not of subclasses, which may override anything."""
        return type(self) in (Augmented, NonInjective)

    def parameter_gradients(
        self, x: Tensor, features: Tensor, trace: None, features_grad: Tensor, parameters: Parameters
    ) -> dict[str, Tensor]:
        first = x.shape[-1] if self.injective else 0
        phi_grad = features_grad[..., first:]
        if self.activation != "none":
            phi_grad = phi_grad * _SLOPES[self.activation](features[..., first:])
        return {"phi_weight": product(phi_grad.mT, x), "phi_bias": phi_grad.sum(1)}


@dataclass
class NonInjective(Augmented):
    """g(x) = phi(x) alone, which may map different points to the same one: d_theta = expansion * d."""

    injective: ClassVar[bool] = False
