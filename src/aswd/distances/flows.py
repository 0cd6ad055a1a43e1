"""The planar and radial flows of Rezende and Mohamed (2015) as the ASWD's map g, with their constraints for invertibility.

Internally samples are columns, ``[R, d, N]``: contiguous along N, as vectorised kernels need it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from aswd.distances.augmented import AugmentedProjection
from aswd.distances.layers import Parameters, norm
from aswd.distances.streams import Streams
from aswd.utils.checks import check_at_least


@dataclass
class _Flow(AugmentedProjection, ABC):
    """A chain of ``layers`` invertible layers, each with parameters of its own, ``[R, layers, ...]``."""

    layers: int = 4
    names: ClassVar[dict[str, int | None]]  # parameter -> size per layer; None: d

    def __post_init__(self) -> None:
        check_at_least("layers", self.layers, 1, whole=True)

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        bound = 1 / math.sqrt(dim)
        return {name: streams.uniform(bound, self.layers, size or dim) for name, size in self.names.items()}

    def features(self, x: Tensor, parameters: Parameters) -> Tensor:
        return self.traced(x, parameters)[0]

    def traced(self, x: Tensor, parameters: Parameters) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
        z, trace = x.mT, []
        for layer in self._layers(parameters):
            z, kept = self.layer(z, *layer)
            trace.append((*layer, *kept))
        return z.mT, trace

    def _layers(self, parameters: Parameters) -> Iterator[tuple[Tensor, ...]]:
        allowed = self.allowed(*(parameters[name] for name in self.names))
        return zip(*(value.unbind(1) for value in allowed), strict=True)

    @property
    def closed_form(self) -> bool:
        """Not of subclasses, which may override anything."""
        return type(self) in (Planar, Radial)

    def parameter_gradients(
        self, x: Tensor, features: Tensor, trace: list[tuple[Tensor, ...]], features_grad: Tensor, parameters: Parameters
    ) -> dict[str, Tensor]:
        z_grad, per_layer = features_grad.mT, []
        for layer in reversed(trace):
            z_grad, grads = self.layer_gradients(z_grad, *layer)
            per_layer.append(grads)
        grads = [torch.stack(grads, 1) for grads in zip(*reversed(per_layer), strict=True)]
        return dict(zip(self.names, self.gradients_before(*(parameters[name] for name in self.names), *grads), strict=True))

    @abstractmethod
    def allowed(self, *parameters: Tensor) -> tuple[Tensor, ...]:
        """The parameters of all layers, mapped to values for which the layers are invertible."""

    @abstractmethod
    def gradients_before(self, *parameters_and_gradients: Tensor) -> tuple[Tensor, ...]:
        """Gradients of the raw parameters from those of the :meth:`allowed` ones."""

    @abstractmethod
    def layer(self, z: Tensor, *parameters: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """One layer applied to ``z [R, d, N]``, and what its gradient needs besides its parameters."""

    @abstractmethod
    def layer_gradients(self, grad: Tensor, *trace: Any) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Gradients of the input and of the parameters of a layer from the gradient of its output."""


@dataclass
class Planar(_Flow):
    r"""Planar flow: z + u' tanh(<w, z> + b).

    It is invertible for <w, u'> > -1, which u' = u + (softplus(<w, u>) - 1 - <w, u>) w / norm(w)^2 ensures.

    Args:
        layers: length of the flow; not given in the paper.
    """

    names: ClassVar = {"planar_u": None, "planar_w": None, "planar_b": 1}

    def allowed(self, u: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        wu, squared = self._products(u, w)
        return u + (functional.softplus(wu) - 1 - wu) / squared * w, w, b

    def gradients_before(self, u: Tensor, w: Tensor, b: Tensor, u_grad: Tensor, w_grad: Tensor, b_grad: Tensor) -> tuple[Tensor, ...]:
        wu, squared = self._products(u, w)
        along = (u_grad * w).sum(-1, keepdim=True) / squared
        pull = (wu.sigmoid() - 1) * along  # of <w, u>
        bend = (functional.softplus(wu) - 1 - wu) / squared
        return u_grad + pull * w, w_grad + pull * u + bend * (u_grad - 2 * along * w), b_grad

    @staticmethod
    def _products(u: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        """<w, u> and norm(w)^2, ``[R, layers, 1]``."""
        return (w * u).sum(-1, keepdim=True), w.square().sum(-1, keepdim=True).clamp_min(torch.finfo(w.dtype).tiny)

    def layer(self, z: Tensor, u: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        tanh = torch.baddbmm(b[..., None], w[:, None], z).tanh()
        return torch.baddbmm(z, u[..., None], tanh), (z, tanh)

    def layer_gradients(self, grad: Tensor, u: Tensor, w: Tensor, b: Tensor, z: Tensor, tanh: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        u_grad = (grad @ tanh.mT)[..., 0]
        inside = (u[:, None] @ grad) * (1 - tanh.square())  # of <w, z> + b
        return torch.baddbmm(grad, w[..., None], inside), (u_grad, (inside @ z.mT)[:, 0], inside.sum(-1))


@dataclass
class Radial(_Flow):
    r"""Radial flow: z + beta (z - z0) / (alpha + norm(z - z0)), with alpha > 0 and beta > -alpha, which make it invertible.

    Args:
        layers: length of the flow; not given in the paper.
    """

    names: ClassVar = {"radial_centre": None, "radial_alpha": 1, "radial_beta": 1}

    def allowed(self, centre: Tensor, alpha: Tensor, beta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        alpha = functional.softplus(alpha)
        return centre, alpha, functional.softplus(beta) - alpha

    def gradients_before(
        self, centre: Tensor, alpha: Tensor, beta: Tensor, centre_grad: Tensor, alpha_grad: Tensor, beta_grad: Tensor
    ) -> tuple[Tensor, ...]:
        return centre_grad, alpha.sigmoid() * (alpha_grad - beta_grad), beta.sigmoid() * beta_grad

    def layer(self, z: Tensor, centre: Tensor, alpha: Tensor, beta: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
        offset = z - centre[..., None]
        radius = norm(offset.mT)[:, None]
        share = 1 / (alpha[..., None] + radius)
        return torch.addcmul(z, beta[..., None] * share, offset), (offset, radius, share)

    def layer_gradients(
        self, grad: Tensor, centre: Tensor, alpha: Tensor, beta: Tensor, offset: Tensor, radius: Tensor, share: Tensor
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        along = (grad * offset).sum(1, keepdim=True) * share  # of beta, sample by sample
        pulled = along * share * beta[..., None]  # of -alpha, and of -radius
        stretched = beta[..., None] * share * grad - torch.where(radius == 0, 0, pulled / radius) * offset
        return grad + stretched, (-stretched.sum(-1), -pulled.sum(-1), along.sum(-1))
