r"""Control variates: aggregations whose weights use what is known of the mean over all directions. A negative estimate counts as zero.

With functions :math:`G_l` of the directions whose means over the sphere are known, the intercept of a regression of the costs on
them has a smaller variance than the mean of the costs. It is a weighted sum of the costs, with weights that do not depend on these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement

import torch
from torch import Tensor

from aswd.distances.aggregations import Weighted
from aswd.distances.one_dimensional import clamp_tiny, differentiable_gradients
from aswd.distances.problem import Slices
from aswd.utils.checks import check_at_least


class _Variate(Weighted):
    """One variate, which depends on the samples."""

    needs_uniform = True

    def variate(self, s: Slices) -> tuple[Tensor, Tensor]:
        """G_l, ``[R, L]``, and its mean over all directions, ``[R, 1]``."""
        raise NotImplementedError

    def slice_weights(self, s: Slices) -> Tensor:
        r""":math:`\tfrac1L - (\bar G - E G) (G_l - \bar G) / \sum_j (G_j - \bar G)^2`."""
        return _Weights.apply(*self.variate(s))


def _weights(variate: Tensor, expected: Tensor) -> Tensor:
    mean = variate.mean(1, keepdim=True)
    centred = variate - mean
    return 1 / variate.shape[1] - (mean - expected) / clamp_tiny(centred.square().sum(1, keepdim=True)) * centred


class _Weights(torch.autograd.Function):
    """:func:`_weights` with its gradients in closed form, which saves a dozen nodes of a graph."""

    @staticmethod
    def forward(ctx, variate: Tensor, expected: Tensor) -> Tensor:
        ctx.save_for_backward(variate, expected)
        return _weights(variate, expected)

    @staticmethod
    def backward(ctx, grad: Tensor):
        variate, expected = inputs = ctx.saved_tensors
        if torch.is_grad_enabled() or torch._C._functorch.is_legacy_batchedtensor(grad):  # as in a vectorised Hessian
            return tuple(differentiable_gradients(_weights, inputs, ctx.needs_input_grad, grad))
        mean = variate.mean(1, keepdim=True)
        centred = variate - mean
        squares = clamp_tiny(centred.square().sum(1, keepdim=True))
        slope, off = (grad * centred).sum(1, keepdim=True) / squares, (mean - expected) / squares
        constant = off * grad.mean(1, keepdim=True) - slope / variate.shape[1]
        return (2 * slope * off * centred).add_(constant).sub_(off * grad), slope


class LowerVariate(_Variate):
    r"""LCV: :math:`G_l = \langle \theta_l, m_x - m_y \rangle^2`, W_2^2 between Gaussians with the means of the samples and equal
    covariances, a lower bound; its mean is :math:`|m_x - m_y|^2 / d`.
    """

    def variate(self, s: Slices) -> tuple[Tensor, Tensor]:
        difference = _mean(s.x_features, s.x_weights) - _mean(s.y_features, s.y_weights)
        inner = (s.theta @ difference.mT)[..., 0]
        return inner.square(), difference.square().sum(-1) / difference.shape[-1]


class UpperVariate(LowerVariate):
    r"""UCV: the lower variate plus the variances of both sides along theta, whose means are traces of covariances over d."""

    def variate(self, s: Slices) -> tuple[Tensor, Tensor]:
        variate, expected = super().variate(s)
        dim, sides = s.theta.shape[2], []
        for features, weights in ((s.x_features, s.x_weights), (s.y_features, s.y_weights)):
            centred = features - _mean(features, weights)
            sides.append((centred, centred / features.shape[1] if weights is None else weights[..., None] * centred))
        if dim <= min(s.x.shape[1], s.y.shape[1]):
            covariance = sum(centred.mT @ weighted for centred, weighted in sides)
            along = ((s.theta @ covariance) * s.theta).sum(-1)
            trace = covariance.diagonal(dim1=1, dim2=2).sum(-1)
        else:
            along = sum(((s.theta @ centred.mT) * (s.theta @ weighted.mT)).sum(-1) for centred, weighted in sides)
            trace = sum((centred * weighted).sum((1, 2)) for centred, weighted in sides)
        return variate + along, expected + trace[:, None] / dim


def _mean(features: Tensor, weights: Tensor | None) -> Tensor:
    """Mean of the samples, ``[R, 1, D]``."""
    return features.mean(1, keepdim=True) if weights is None else weights[:, None] @ features


@dataclass
class SphericalHarmonics(Weighted):
    r"""SHCV: the intercept of a least-squares regression of the costs on all even spherical harmonics up to a degree.

    These, and the constant, span the homogeneous polynomials of that degree on the sphere, so that the intercept is the mean over the
    sphere of the polynomial that fits the costs best: with the matrix :math:`\Phi` of monomials and their means m, the weights are
    :math:`\Phi (\Phi^T \Phi)^{-1} m`.

    Args:
        degree: even; the number of directions must exceed the C(d + degree - 1, degree) monomials.
    """

    degree: int = 2
    needs_uniform = True

    def __post_init__(self) -> None:
        check_at_least("degree", self.degree, 2, whole=True)
        if self.degree % 2:
            raise ValueError(f"degree must be even, as the costs are even functions of the direction; got {self.degree}")

    def check(self, count: int, dim: int) -> None:
        needed = math.comb(dim + self.degree - 1, self.degree)
        if count <= needed:
            raise ValueError(
                f"num_projections must exceed the {needed:,} polynomials of degree {self.degree} in dimension {dim}; got {count}: "
                "use more directions, a lower degree, or another control variate"
            )

    def slice_weights(self, s: Slices) -> Tensor:
        index, means = _monomials_and_means(s.theta.shape[2], self.degree, s.theta.device, s.theta.dtype)
        theta = s.theta.detach()
        q, r = torch.linalg.qr(theta[..., index].prod(-1))
        return (q @ torch.linalg.solve_triangular(r.mT, means.expand(len(r), -1, 1), upper=False))[..., 0]


@lru_cache(maxsize=8)
def _monomials_and_means(dim: int, degree: int, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The variables of every monomial, ``[count, degree]``, and its mean over the sphere, ``[count, 1]``.

    The mean of prod_i theta_i^(a_i) is prod_i (a_i - 1)!! / (d (d + 2) ... (d + degree - 2)) if all a_i are even, else zero.
    """
    monomials = list(combinations_with_replacement(range(dim), degree))
    total = math.prod(range(dim, dim + degree, 2))
    means = []
    for monomial in monomials:
        powers = [monomial.count(variable) for variable in set(monomial)]
        means.append(0.0 if any(a % 2 for a in powers) else math.prod(math.prod(range(1, a, 2)) for a in powers) / total)
    with torch.inference_mode(False):
        return torch.tensor(monomials, device=device), torch.tensor(means, device=device, dtype=dtype)[:, None]
