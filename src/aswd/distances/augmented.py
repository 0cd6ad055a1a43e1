r"""Augmented projections: p(x, theta) = <g(x), theta> with a map g to a hypersurface (the paper's spatial Radon transform).

g must be injective for a metric. The paper's choice is to concatenate, g(x) = [x, phi(x)]; its ablations take phi alone (not
injective), and the planar and radial flows of Rezende and Mohamed (2015), which are invertible under the constraints that they give.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from aswd.distances.checks import check_at_least, check_choice
from aswd.distances.layers import Parameters, apply_layer, join, linear_layer, norm
from aswd.distances.projections import Linear
from aswd.distances.streams import Streams

ACTIVATIONS = {
    "none": lambda x: x,
    "relu": functional.relu,
    "leaky_relu": functional.leaky_relu,
    "tanh": torch.tanh,
}
# Their derivatives, as functions of what comes out.
_SLOPES = {
    "relu": lambda phi: phi > 0,
    "leaky_relu": lambda phi: torch.where(phi > 0, 1.0, 0.01),
    "tanh": lambda phi: 1 - phi.square(),
}


class AugmentedProjection(Linear):
    """Base of the projections <g(x), theta> with a map g; which of the readings apply is decided by it."""


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
        """Whether :meth:`parameter_gradients` knows the gradients, which saves autograd in every inner step; a subclass may be anything."""
        return type(self) in (Augmented, NonInjective)

    def parameter_gradients(self, x: Tensor, features: Tensor, features_grad: Tensor) -> dict[str, Tensor]:
        """Gradients of phi's parameters from those of the features of ``x``."""
        first = x.shape[-1] if self.injective else 0
        phi_grad = features_grad[..., first:]
        if self.activation != "none":
            phi_grad = phi_grad * _SLOPES[self.activation](features[..., first:])
        return {"phi_weight": phi_grad.mT @ x, "phi_bias": phi_grad.sum(1)}


@dataclass
class NonInjective(Augmented):
    """g(x) = phi(x) alone, which may carry different points to one: d_theta = expansion * d."""

    injective: ClassVar[bool] = False


@dataclass
class _Flow(AugmentedProjection):
    """A chain of ``layers`` invertible layers, each with parameters of its own."""

    layers: int = 4

    def __post_init__(self) -> None:
        check_at_least("layers", self.layers, 1, whole=True)

    def features(self, x: Tensor, parameters: Parameters) -> Tensor:
        for layer in zip(*(parameters[name].unbind(1) for name in self.names), strict=True):
            x = self.layer(x, *layer)
        return x


@dataclass
class Planar(_Flow):
    r"""Planar flow: z + u' tanh(<w, z> + b).

    It is invertible for <w, u'> > -1, which u' = u + (softplus(<w, u>) - 1 - <w, u>) w / norm(w)^2 ensures.

    Args:
        layers: length of the flow; the paper does not give it.
    """

    names = ("planar_u", "planar_w", "planar_b")

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        bound = 1 / math.sqrt(dim)
        shapes = (self.layers, dim), (self.layers, dim), (self.layers, 1)
        return {name: streams.uniform(bound, *shape) for name, shape in zip(self.names, shapes, strict=True)}

    def layer(self, z: Tensor, u: Tensor, w: Tensor, b: Tensor) -> Tensor:
        """One layer on ``z [R, N, d]`` with ``u, w [R, d]`` and ``b [R, 1]``."""
        wu = (w * u).sum(-1, keepdim=True)
        squared = w.square().sum(-1, keepdim=True).clamp_min(torch.finfo(w.dtype).tiny)
        u = u + (functional.softplus(wu) - 1 - wu) * w / squared
        return z + torch.tanh((z * w[:, None]).sum(-1, keepdim=True) + b[:, None]) * u[:, None]


@dataclass
class Radial(_Flow):
    r"""Radial flow: z + beta (z - z0) / (alpha + norm(z - z0)), with alpha > 0 and beta > -alpha, which make it invertible.

    Args:
        layers: length of the flow; the paper does not give it.
    """

    names = ("radial_centre", "radial_alpha", "radial_beta")

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        bound = 1 / math.sqrt(dim)
        shapes = (self.layers, dim), (self.layers, 1), (self.layers, 1)
        return {name: streams.uniform(bound, *shape) for name, shape in zip(self.names, shapes, strict=True)}

    def layer(self, z: Tensor, centre: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
        """One layer on ``z [R, N, d]`` with ``centre [R, d]`` and ``alpha, beta [R, 1]``, mapped to where they are allowed."""
        alpha = functional.softplus(alpha)[:, None]
        beta = functional.softplus(beta)[:, None] - alpha
        offset = z - centre[:, None]
        return z + beta * offset / (alpha + norm(offset)[..., None])
