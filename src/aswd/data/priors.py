"""Priors of an autoencoder's code, drawn on its device."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from aswd.utils.checks import check_choice

MODES, SPREAD = 10, 0.1  # of the mixture
Draw = Callable[..., Tensor]


def _on_circle(angle: Tensor, radius: Tensor | float = 1.0) -> Tensor:
    return radius * torch.stack([torch.cos(angle), torch.sin(angle)], -1)


def _ring(n: int, dim: int, normal: Draw, uniform: Draw) -> Tensor:
    """The outer ring of scikit-learn's ``make_circles`` with noise 0.01: n points at even angles on the unit circle, and their noise."""
    noise = 0.01 * normal(n, 2)
    return _on_circle(2 * math.pi / n * torch.arange(n, device=noise.device)) + noise


def _disk(n: int, dim: int, normal: Draw, uniform: Draw) -> Tensor:
    """Uniform on the unit disk."""
    radius, angle = uniform(2, n)
    return _on_circle(2 * math.pi * angle, radius.sqrt()[:, None])


def _square(n: int, dim: int, normal: Draw, uniform: Draw) -> Tensor:
    """Uniform on [-1, 1]^2."""
    return 2 * uniform(n, 2) - 1


def _gaussian(n: int, dim: int, normal: Draw, uniform: Draw) -> Tensor:
    """N(0, I)."""
    return normal(n, dim)


def _mixture(n: int, dim: int, normal: Draw, uniform: Draw) -> Tensor:
    """Ten Gaussians of standard deviation 0.1 with their means on the unit circle of the first two coordinates."""
    angle = 2 * math.pi / MODES * (MODES * uniform(n)).floor()
    return torch.nn.functional.pad(_on_circle(angle), (0, dim - 2)) + SPREAD * normal(n, dim)


def _swiss_roll(n: int, dim: int, normal: Draw, uniform: Draw) -> Tensor:
    """scikit-learn's roll without noise seen from its end, t (cos t, sin t) for uniform t in [1.5 pi, 4.5 pi], in the unit disk."""
    t = 1.5 * math.pi * (1 + 2 * uniform(n))
    return _on_circle(t, t[:, None] / (4.5 * math.pi))


PRIORS: dict[str, Callable[[int, int, Draw, Draw], Tensor]] = {
    "ring": _ring,
    "disk": _disk,
    "square": _square,
    "gaussian": _gaussian,
    "mixture": _mixture,
    "swiss_roll": _swiss_roll,
}


def check_prior(prior: str, latent_dim: int) -> None:
    """Refuse a prior that is not known, or that does not exist in that dimension."""
    check_choice("prior", prior, PRIORS)
    if prior == "mixture" and latent_dim < 2:
        raise ValueError(f"latent_dim must be at least 2 for prior 'mixture', whose modes are on a circle; got {latent_dim}")
    if prior not in ("gaussian", "mixture") and latent_dim != 2:
        raise ValueError(f"latent_dim must be 2 for prior {prior!r}, which is one of the plane; got {latent_dim}: use gaussian or mixture")


def draw_prior(name: str, num_samples: int, dim: int, place: Sequence[int], device: torch.device | str = "cpu") -> Tensor:
    """``num_samples`` points of a prior, ``[num_samples, dim]``, which depend on nothing but ``place``: a seed, a stream, a step.

    Nothing is copied between host and device.

    >>> draw_prior("gaussian", 100, 3, (0, 7, 1)).shape
    torch.Size([100, 3])
    """
    device = torch.device(device)
    seed = int(np.random.SeedSequence(place).generate_state(1)[0])
    generator = None if device.type == "meta" else torch.Generator(device).manual_seed(seed)
    normal, uniform = (partial(one, generator=generator, device=device) for one in (torch.randn, torch.rand))
    return PRIORS[name](num_samples, dim, normal, uniform)
