"""The Frechet distance between the Gaussians that have the moments of two sets of features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from aswd.utils.errors import UserError


@dataclass(frozen=True)
class Moments:
    """Mean ``[d]`` and covariance ``[d, d]`` (divided by n - 1) of ``count`` features, in float64 on the host."""

    mean: Tensor
    covariance: Tensor
    count: int

    @classmethod
    def of(cls, features: Tensor) -> Moments:
        """Of the features ``[n, d]``.

        Raises:
            UserError: fewer than two of them, or values that are not finite.
        """
        check_count(len(features))
        values = features.detach().to("cpu", torch.float64)
        if not torch.isfinite(values).all():
            raise UserError("the features of a Frechet distance must be finite; some are not")
        mean = values.mean(0)
        centred = values - mean
        return cls(mean, centred.T @ centred / (len(values) - 1), len(values))

    @cached_property
    def factor(self) -> Tensor:
        """L with L L^T the covariance, ``[d, d]``."""
        values, vectors = torch.linalg.eigh(self.covariance)
        return vectors * values.clamp(min=0).sqrt()


def check_count(count: int) -> None:
    """A covariance needs two samples."""
    if count < 2:
        raise UserError(f"a Frechet distance needs at least 2 images on each side; got {count}")


def frechet_distance(a: Tensor | Moments, b: Tensor | Moments) -> float:
    r"""The squared 2-Wasserstein distance between two Gaussians, with the moments of features ``[n, d]`` and ``[m, d]``:

    .. math:: |\mu_a - \mu_b|^2 + \operatorname{tr}\bigl(\Sigma_a + \Sigma_b - 2 (\Sigma_a \Sigma_b)^{1/2}\bigr)

    All in float64. The product is not symmetric, but with :math:`\Sigma_b = L L^T` it has the eigenvalues of
    :math:`L^T \Sigma_a L`, which is, so that covariances without full rank do no harm and no root is complex.

    Raises:
        UserError: fewer than two features on a side.
        ValueError: dimensions that differ.

    >>> x = torch.tensor([[0.0], [2.0]])
    >>> round(frechet_distance(x, 3 * x + 1), 10)  # means 1 and 4, deviations sqrt(2) and sqrt(18)
    17.0
    """
    a, b = (given if isinstance(given, Moments) else Moments.of(given) for given in (a, b))
    if a.mean.shape != b.mean.shape:
        raise ValueError(f"a and b must have features of the same dimension; got {len(a.mean)} and {len(b.mean)}")
    eigenvalues = torch.linalg.eigvalsh(b.factor.T @ a.covariance @ b.factor)
    cross = eigenvalues.clamp(min=0).sqrt().sum()
    return ((a.mean - b.mean).square().sum() + a.covariance.trace() + b.covariance.trace() - 2 * cross).item()
