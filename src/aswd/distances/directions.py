"""Directions theta: uniform, pushed forward by a learned map, or a single one that is optimised.

Others are in :mod:`~aswd.distances.zonal`, :mod:`~aswd.distances.random_paths` and :mod:`~aswd.distances.markov`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from aswd.distances.layers import Parameters, apply_layer, linear_layer, norm, product
from aswd.distances.parts import build_part
from aswd.distances.point_sets import orthonormal
from aswd.distances.problem import Slices
from aswd.distances.streams import Streams
from aswd.utils.checks import check_at_least, check_choice
from aswd.utils.fields import option


class Directions:
    """Base of the distributions of theta: a random ``base``, drawn at every evaluation, and parameters."""

    parameter_names: tuple[str, ...] = ()
    closed_form: bool = False  # whether parameter_gradients is implemented, which saves autograd in every inner step
    from_samples: bool = False  # whether the random part depends on the samples, and base_from draws it
    has_own_objective: bool = False  # whether objective_gradients is what the inner loop ascends, instead of the distance
    replaced_by_given: bool = False  # whether directions that are given to a call take the place of all, and nothing is searched

    @property
    def count(self) -> int:
        """Number of directions."""
        return self.num_projections

    @property
    def is_uniform(self) -> bool:
        """Whether every direction is uniform on the sphere, alone."""
        return False

    @property
    def is_fixed(self) -> bool:
        """Whether all evaluations have the same directions."""
        return False

    def drawing_sorts(self) -> int:
        """Rows of N values that are sorted to draw the directions."""
        return 0

    def objective_sorts(self) -> int:
        """Rows of N values that are sorted in one :meth:`objective_gradients`."""
        return 0

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        """Initial parameters, one set per replica, for directions of dimension ``dim``."""
        return {}

    def base(self, dim: int, streams: Streams) -> Tensor | None:
        """The random part, ``[R, L, dim]``."""
        return None

    def base_from(self, s: Slices, streams: Streams) -> Tensor | None:
        """The random part from samples and their features (``s.theta`` is ``None``); called instead of :meth:`base` if
        :attr:`from_samples`. No gradient reaches the samples through it.
        """
        return self.base(s.x_features.shape[-1], streams)

    def theta(self, base: Tensor | None, parameters: Parameters) -> Tensor:
        """Directions ``[R, L, dim]`` from the random part and the parameters."""
        return base

    def constrain(self, parameters: dict[str, Tensor]) -> None:
        """Project the parameters back onto their constraint set, in place, after an optimiser step."""

    def parameter_gradients(self, base: Tensor | None, theta: Tensor, parameters: Parameters, theta_grad: Tensor) -> dict[str, Tensor]:
        """Gradients of the parameters from the gradient of the directions; needed if :attr:`closed_form`."""
        return {}

    def objective_gradients(self, s: Slices) -> dict[str, Tensor]:
        """Gradients of the parameters of the directions' own objective; needed if :attr:`has_own_objective`."""
        return {}


@dataclass
class Uniform(Directions):
    """L directions, uniform on the unit sphere.

    Args:
        num_projections: L >= 1.
        sampling: ``"random"`` for independent ones, ``"orthogonal"`` for blocks of orthonormal ones, or a point set: ``"sobol"``,
            ``"halton"``, ``"spiral"``, ``"equal_area"``.
        randomisation: of a point set, anew at every evaluation: a random ``"rotation"``, ``"scramble"``, or ``"none"``.
    """

    num_projections: int = 1000
    sampling: str | dict[str, Any] = option("random", before="random")
    randomisation: str = option("rotation", before="rotation")

    def __post_init__(self) -> None:
        check_at_least("num_projections", self.num_projections, 1, whole=True)
        self._points = build_part("sampling", self.sampling)
        self._points.check(self.randomisation)

    @property
    def is_uniform(self) -> bool:
        """Not of subclasses."""
        return type(self) is Uniform

    @property
    def is_fixed(self) -> bool:
        """Not of subclasses."""
        return type(self) is Uniform and self._points.is_fixed(self.randomisation)

    def check_dim(self, dim: int) -> None:
        """Raise ``ValueError`` for a dimension in which there are no such directions."""
        self._points.check_dim(dim)

    def base(self, dim: int, streams: Streams) -> Tensor:
        return self._points.draw(self.num_projections, dim, streams, self.randomisation)


@dataclass
class PushForward(Uniform):
    """f(theta) / norm(f(theta)) for uniform theta, f one linear layer (DSWD).

    Args:
        redraw: draw theta anew in every inner step, as the ASWD paper's code does; otherwise once per call, for all inner steps and the
            value, as the DSWD authors' code does.
    """

    redraw: bool = option(True, before=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("redraw", self.redraw, [True, False])

    parameter_names = ("f_weight", "f_bias")

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        return linear_layer(streams, dim, dim, "f_")

    def theta(self, base: Tensor, parameters: Parameters) -> Tensor:
        f = apply_layer(base, parameters, "f_")
        return f / _lengths(f)

    @property
    def closed_form(self) -> bool:
        """Not of subclasses, which may override :meth:`theta`."""
        return type(self) is PushForward

    def parameter_gradients(self, base: Tensor, theta: Tensor, parameters: Parameters, theta_grad: Tensor) -> dict[str, Tensor]:
        """Through the layer and theta = f / norm(f), whose derivative is (I - theta theta^T) / norm(f)."""
        lengths = _lengths(apply_layer(base, parameters, "f_"))
        f_grad = (theta_grad - theta * torch.linalg.vecdot(theta, theta_grad)[..., None]).div_(lengths)
        return {"f_weight": product(f_grad.mT, base), "f_bias": f_grad.sum(1)}


def _lengths(vectors: Tensor) -> Tensor:
    """Norms, ``[R, L, 1]``, to divide by."""
    return norm(vectors).clamp_min(1e-12)[..., None]


@dataclass
class Single(Directions):
    """One direction, which is the parameter itself (Max-SWD and the other Max- distances)."""

    parameter_names = ("theta",)
    replaced_by_given = True
    num_directions = 1

    @property
    def count(self) -> int:
        """1, or K."""
        return self.num_directions

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        return {"theta": streams.sphere(1, dim)}

    def theta(self, base: None, parameters: Parameters) -> Tensor:
        return parameters["theta"]

    @property
    def closed_form(self) -> bool:
        """Not of subclasses, which may override :meth:`theta`."""
        return type(self) in (Single, Frame)

    def parameter_gradients(self, base: None, theta: Tensor, parameters: Parameters, theta_grad: Tensor) -> dict[str, Tensor]:
        return {"theta": theta_grad}

    def constrain(self, parameters: dict[str, Tensor]) -> None:
        functional.normalize(parameters["theta"], dim=-1, out=parameters["theta"])


@dataclass
class Frame(Single):
    """K orthonormal directions, which are the parameters (Max-K-SW).

    Args:
        num_directions: K, at most the dimension.
    """

    num_directions: int = 2

    def __post_init__(self) -> None:
        check_at_least("num_directions", self.num_directions, 1, whole=True)

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        if self.num_directions > dim:
            raise ValueError(f"num_directions must be at most the dimension of the directions, {dim}; got {self.num_directions}")
        return {"theta": orthonormal(streams.normal(dim, self.num_directions)).mT.contiguous()}

    def constrain(self, parameters: dict[str, Tensor]) -> None:
        parameters["theta"].copy_(orthonormal(parameters["theta"].mT).mT)
