r"""Directions around a mean direction: the von Mises-Fisher and the power spherical law, in any dimension.

Both have a density that depends on the cosine of the angle to the mean direction only: exp(kappa cos) and (1 + cos)^kappa. A direction is

.. math:: \theta = \cos(\varphi) \, \mu + \sin(\varphi) \, w,

with w uniform among the unit vectors orthogonal to the mean :math:`\mu`. The angle has the density
:math:`f(\cos \varphi) \sin^{d-2} \varphi`, whose inverse distribution function is tabulated once for every dimension and kappa. So
every direction takes a fixed count of random numbers, without the rejections of other samplers, whose number would have to be read from
a device; and it is a differentiable function of its mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from aswd.distances.directions import Directions
from aswd.distances.layers import Parameters
from aswd.distances.streams import Streams
from aswd.utils.checks import check_at_least, check_number

MAX_KAPPA = 10**12  # beyond, the density is narrower than the table of its quantiles

_NODES = 8192  # of the table, between which angles are interpolated: their law is exact to about 1e-8
_NEGLIGIBLE = 40.0  # logarithm of the ratio to the largest density from which on angles are left out

# Logarithms of the densities, without their constants, from the cosine.
ZONAL_LAWS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "von_mises_fisher": lambda cosine, kappa: kappa * cosine,
    "power_spherical": lambda cosine, kappa: kappa * np.log1p(cosine) if kappa else np.zeros_like(cosine),
}


def sample_noise(streams: Streams, count: int, dim: int) -> Tensor:
    """Random numbers for ``count`` directions of dimension ``dim``, ``[R, count, dim + 1]``: a normal vector and a uniform number each."""
    return torch.cat([streams.normal(count, dim), streams.uniform(0.5, count, 1) + 0.5], -1)


def directions_around(mean: Tensor, noise: Tensor, law: str, kappa: float, odd: bool = False) -> Tensor:
    """Directions of a zonal law around unit vectors ``mean [R, 1 or L, d]``, from :func:`sample_noise`.

    Args:
        mean: differentiable.
        noise: ``[R, L, d + 1]``.
        law: one of :data:`ZONAL_LAWS`.
        kappa: concentration; 0 is the uniform law.
        odd: make them the opposite ones for the opposite mean: of the same law, but no continuous function of the mean.
    """
    normal, uniform = noise[..., :-1], noise[..., -1:]
    if normal.shape[-1] == 1:  # two directions, of the same slice
        return mean.expand_as(normal)
    angle = _angles(law, kappa, normal.shape[-1], uniform)
    inner = torch.linalg.vecdot(normal, mean)[..., None]
    tangent = normal - inner * mean
    tangent = functional.normalize(tangent - torch.linalg.vecdot(tangent, mean)[..., None] * mean, dim=-1)  # twice is enough
    if odd:
        tangent = torch.where(inner < 0, -tangent, tangent)  # the sign is independent of the tangent
    return functional.normalize(angle.cos() * mean + angle.sin() * tangent, dim=-1)


def unit(vectors: Tensor) -> Tensor:
    """Vectors divided by their norms, also where its square overflows or vanishes; zero stays zero."""
    largest = vectors.abs().amax(-1, keepdim=True)
    return functional.normalize(vectors / torch.where(largest > 0, largest, 1), dim=-1)


def _angles(law: str, kappa: float, dim: int, uniform: Tensor) -> Tensor:
    """Angles to the mean direction by the inverse distribution function at uniform numbers."""
    levels, angles = _table(law, float(kappa), dim, uniform.device)
    where = uniform.detach().double().contiguous()
    right = torch.searchsorted(levels, where).clamp_(1, len(levels) - 1)
    low, high = levels[right - 1], levels[right]
    share = ((where - low) / (high - low).clamp_min(torch.finfo(torch.float64).tiny)).clamp_(0, 1)
    return torch.lerp(angles[right - 1], angles[right], share).to(uniform.dtype)


@lru_cache(maxsize=32)
def _table(law: str, kappa: float, dim: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Levels of the distribution function and the angles where it has them, in float64."""
    log_density = ZONAL_LAWS[law]

    def logarithm(angle: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            power = (dim - 2) * np.log(np.sin(angle)) if dim > 2 else 0.0
            return np.nan_to_num(log_density(np.cos(angle), kappa) + power, nan=-np.inf, neginf=-np.inf)

    coarse = np.union1d(np.geomspace(1e-9, np.pi, _NODES), np.linspace(0, np.pi, _NODES))
    values = logarithm(coarse)
    support = np.flatnonzero(values > values.max() - _NEGLIGIBLE)
    low, high = coarse[max(support[0] - 1, 0)], coarse[min(support[-1] + 1, len(coarse) - 1)]
    angles = np.linspace(low, high, _NODES)
    density = np.exp(logarithm(angles) - values.max())
    levels = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    with torch.inference_mode(False):
        return tuple(torch.from_numpy(part).to(device) for part in (levels / levels[-1], angles))


@dataclass
class VonMisesFisher(Directions):
    """L directions of a von Mises-Fisher law, whose mean direction is the parameter (vDSW). Given directions take their place.

    Args:
        num_projections: L >= 1.
        kappa: concentration; 0 is the uniform law, and with a large one all directions are close to one, as in Max-SWD.
    """

    num_projections: int = 1000
    kappa: float = 50.0

    parameter_names = ("location",)
    replaced_by_given = True

    def __post_init__(self) -> None:
        check_at_least("num_projections", self.num_projections, 1, whole=True)
        check_number("kappa", self.kappa, at_least=0, at_most=MAX_KAPPA)

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        return {"location": streams.sphere(1, dim)}

    def base(self, dim: int, streams: Streams) -> Tensor:
        return sample_noise(streams, self.num_projections, dim)

    def theta(self, base: Tensor, parameters: Parameters) -> Tensor:
        location = parameters["location"]
        if base.shape[-1] == location.shape[-1]:
            return base  # given directions
        return directions_around(functional.normalize(location, dim=-1), base, "von_mises_fisher", self.kappa)

    def constrain(self, parameters: dict[str, Tensor]) -> None:
        parameters["location"].copy_(unit(parameters["location"]))
