"""Directions theta: uniform, pushed forward by a learned map, or a single one that is optimised."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from aswd.distances.layers import Parameters, apply_layer, linear_layer
from aswd.distances.streams import Streams
from aswd.utils.checks import check_at_least


class Directions:
    """Base of the distributions of theta: a random ``base``, drawn at every evaluation, and parameters."""

    parameter_names: tuple[str, ...] = ()
    closed_form: bool = False  # whether parameter_gradients is implemented, which saves autograd in every inner step

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        """Initial parameters, one set per replica, for directions of dimension ``dim``."""
        return {}

    def base(self, dim: int, streams: Streams) -> Tensor | None:
        """The random part, ``[R, L, dim]``."""
        return None

    def theta(self, base: Tensor | None, parameters: Parameters) -> Tensor:
        """Directions ``[R, L, dim]`` from the random part and the parameters."""
        return base

    def constrain(self, parameters: dict[str, Tensor]) -> None:
        """Project the parameters back onto their constraint set, in place, after an optimiser step."""

    def parameter_gradients(self, base: Tensor | None, theta: Tensor, parameters: Parameters, theta_grad: Tensor) -> dict[str, Tensor]:
        """Gradients of the parameters from the gradient of the directions; needed if :attr:`closed_form`."""
        return {}


@dataclass
class Uniform(Directions):
    """L directions, uniform on the unit sphere.

    Args:
        num_projections: L >= 1.
    """

    num_projections: int = 1000

    def __post_init__(self) -> None:
        check_at_least("num_projections", self.num_projections, 1, whole=True)

    def base(self, dim: int, streams: Streams) -> Tensor:
        return streams.sphere(self.num_projections, dim)


@dataclass
class PushForward(Uniform):
    """f(theta) / norm(f(theta)) for uniform theta, f one linear layer (DSWD)."""

    parameter_names = ("f_weight", "f_bias")

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        return linear_layer(streams, dim, dim, "f_")

    def theta(self, base: Tensor, parameters: Parameters) -> Tensor:
        return functional.normalize(apply_layer(base, parameters, "f_"), dim=-1)

    @property
    def closed_form(self) -> bool:
        """Not of subclasses, which may override :meth:`theta`."""
        return type(self) is PushForward

    def parameter_gradients(self, base: Tensor, theta: Tensor, parameters: Parameters, theta_grad: Tensor) -> dict[str, Tensor]:
        """Through the layer and theta = f / norm(f), whose derivative is (I - theta theta^T) / norm(f)."""
        norms = torch.linalg.vector_norm(apply_layer(base, parameters, "f_"), dim=-1, keepdim=True).clamp_min_(1e-12)
        f_grad = (theta_grad - theta * torch.linalg.vecdot(theta, theta_grad)[..., None]).div_(norms)
        return {"f_weight": f_grad.mT @ base, "f_bias": f_grad.sum(1)}


@dataclass
class Single(Directions):
    """One direction, which is the parameter itself (Max-SWD and the other Max- distances)."""

    parameter_names = ("theta",)

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        return {"theta": streams.sphere(1, dim)}

    def theta(self, base: None, parameters: Parameters) -> Tensor:
        return parameters["theta"]

    @property
    def closed_form(self) -> bool:
        """Not of subclasses, which may override :meth:`theta`."""
        return type(self) is Single

    def parameter_gradients(self, base: None, theta: Tensor, parameters: Parameters, theta_grad: Tensor) -> dict[str, Tensor]:
        return {"theta": theta_grad}

    def constrain(self, parameters: dict[str, Tensor]) -> None:
        functional.normalize(parameters["theta"], dim=-1, out=parameters["theta"])
