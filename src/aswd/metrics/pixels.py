"""W2 and SWD between sets of pictures, on their pixels in [0, 1]: the figures of merit of the paper's MNIST experiment.

Units. ``w2`` is W2, with the root; what the released code of that experiment reports (``emd2``) is its square. ``swd`` is mean-normalised
over the samples; the released code sums over its 10 000 samples inside the root, which gives 100 = sqrt(10 000) times the value here.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from aswd.distances import build
from aswd.metrics.reference import check_images

PUBLISHED_COUNT = 10_000  # pictures, and projections, of the paper
_SLICES = 1000  # directions drawn at a time


def pixels(images: Tensor, num_samples: int | None = None) -> Tensor:
    """The first ``num_samples`` pictures, bytes ``[n, C, H, W]``, as points ``[n, C H W]`` of the unit cube."""
    check_images(images)
    if num_samples is not None and not 1 <= num_samples <= len(images):
        raise ValueError(f"num_samples must be from 1 to the number of pictures, {len(images)}; got {num_samples}")
    return images[:num_samples].flatten(1).float() / 255


def w2(x: Tensor, y: Tensor, num_samples: int | None = None) -> float:
    r"""The exact :math:`W_2(x, y) = (\min_\gamma \sum_{ij} \gamma_{ij} |x_i - y_j|^2)^{1/2}` between pictures, by POT's network simplex.

    The cost is found in float64 by expanded squares: 1e-13 of a squared norm is nothing beside distances between pictures. Time grows
    faster than N^2: a second or so for 1000 pictures a side, half a minute to minutes and 1.8 GB for 10 000.

    Args:
        x, y: bytes ``[n, C, H, W]``.
        num_samples: of each, the first; all, if nothing is said.
    """
    import ot

    a, b = (pixels(images, num_samples).double().cpu() for images in (x, y))
    cost = (a.square().sum(1)[:, None] + b.square().sum(1)).addmm_(a, b.T, alpha=-2).clamp_(min=0).numpy()
    return float(np.sqrt(ot.emd2(np.full(len(a), 1 / len(a)), np.full(len(b), 1 / len(b)), cost, numItermax=10_000_000)))


def swd(x: Tensor, y: Tensor, num_projections: int = PUBLISHED_COUNT, num_samples: int | None = None, seed: int = 0) -> float:
    r"""The sliced :math:`(\frac1L \sum_l W_2^2(\langle x, \theta_l \rangle, \langle y, \theta_l \rangle))^{1/2}`, on the pictures' device.

    Args:
        x, y: bytes ``[n, C, H, W]``.
        num_projections: L, uniform on the sphere.
        num_samples: of each, the first; all, if nothing is said.
        seed: of the directions: the same ones every time.
    """
    a, b = pixels(x, num_samples), pixels(y, num_samples)
    total = 0.0
    for start in range(0, num_projections, _SLICES):
        count = min(_SLICES, num_projections - start)
        square = build("swd", num_projections=count, root=False, seed=seed + start)
        with torch.no_grad():
            total += square(a, b).double().item() * count
    return (total / num_projections) ** 0.5
