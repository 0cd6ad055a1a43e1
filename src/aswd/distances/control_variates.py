r"""Control variates: aggregations whose weights use what is known of the mean over all directions. A negative estimate counts as zero.

With functions :math:`G_l` of the directions whose means over the sphere are known, the intercept of a regression of the costs on
them has a smaller variance than the mean of the costs. It is a weighted sum of the costs, with weights that do not depend on these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
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

    def variate(self, x: Tensor, y: Tensor, theta: Tensor, x_weights: Tensor | None, y_weights: Tensor | None) -> tuple[Tensor, Tensor]:
        """G_l, ``[R, L]``, and its mean over all directions, ``[R, 1]``, from features of both sides and directions."""
        raise NotImplementedError

    def gradients(
        self,
        x: Tensor,
        y: Tensor,
        theta: Tensor,
        x_weights: Tensor | None,
        y_weights: Tensor | None,
        variate_grad: Tensor,
        expected_grad: Tensor,
    ) -> Iterator[Tensor]:
        """Gradients with respect to x, then y, from those of what :meth:`variate` returns; each is computed when it is asked for."""
        raise NotImplementedError

    def slice_weights(self, s: Slices) -> Tensor:
        r""":math:`\tfrac1L - (\bar G - E G) (G_l - \bar G) / \sum_j (G_j - \bar G)^2`."""
        return _Weights.apply(s.x_features, s.y_features, s.theta, self, (s.x_weights, s.y_weights))


def _weights(variate: Tensor, expected: Tensor) -> Tensor:
    mean = variate.mean(1, keepdim=True)
    centred = variate - mean
    return 1 / variate.shape[1] - (mean - expected) / clamp_tiny(centred.square().sum(1, keepdim=True)) * centred


class _Weights(torch.autograd.Function):
    """:func:`_weights` of a variate with gradients in closed form, which saves the forty nodes of a graph."""

    @staticmethod
    def forward(ctx, x: Tensor, y: Tensor, theta: Tensor, kind: _Variate, masses: tuple[Tensor | None, Tensor | None]) -> Tensor:
        variate, expected = kind.variate(x, y, theta, *masses)
        ctx.save_for_backward(x, y, theta, variate, expected)
        ctx.kind, ctx.masses = kind, masses
        return _weights(variate, expected)

    @staticmethod
    def backward(ctx, grad: Tensor):
        *inputs, variate, expected = ctx.saved_tensors
        need_x, need_y, need_theta = ctx.needs_input_grad[:3]
        if torch.is_grad_enabled() or torch._C._functorch.is_legacy_batchedtensor(grad) or need_theta:  # batched in a vectorised Hessian

            def plain(x: Tensor, y: Tensor, theta: Tensor) -> Tensor:
                return _weights(*ctx.kind.variate(x, y, theta, *ctx.masses))

            with torch.enable_grad():
                inputs = [each.view_as(each) for each in inputs]  # of which none depends on another
            grads = differentiable_gradients(plain, inputs, ctx.needs_input_grad, grad)
            return *grads, None, None
        mean = variate.mean(1, keepdim=True)
        centred = variate - mean
        squares = clamp_tiny(centred.square().sum(1, keepdim=True))
        slope, off = (grad * centred).sum(1, keepdim=True) / squares, (mean - expected) / squares
        constant = off * grad.mean(1, keepdim=True) - slope / variate.shape[1]
        variate_grad = (2 * slope * off * centred).add_(constant).sub_(off * grad)
        found = zip(ctx.kind.gradients(*inputs, *ctx.masses, variate_grad, slope), (need_x, need_y), strict=True)
        return *(side if needed else None for side, needed in found), None, None, None


class LowerVariate(_Variate):
    r"""LCV: :math:`G_l = \langle \theta_l, m_x - m_y \rangle^2`, W_2^2 between Gaussians with the means of the samples and equal
    covariances, a lower bound; its mean is :math:`|m_x - m_y|^2 / d`.
    """

    def variate(self, x: Tensor, y: Tensor, theta: Tensor, x_weights: Tensor | None, y_weights: Tensor | None) -> tuple[Tensor, Tensor]:
        difference = _mean(x, x_weights) - _mean(y, y_weights)
        inner = (theta @ difference.mT)[..., 0]
        return inner.square(), difference.square().sum(-1) / difference.shape[-1]

    def gradients(self, x, y, theta, x_weights, y_weights, variate_grad, expected_grad):
        """Through the difference of the means."""
        pulled = _pull_back(_mean(x, x_weights) - _mean(y, y_weights), theta, variate_grad, expected_grad)
        yield _of_samples(pulled, x, x_weights)
        yield _of_samples(-pulled, y, y_weights)


class UpperVariate(LowerVariate):
    r"""UCV: the lower variate plus the variances of both sides along theta, whose means are traces of covariances over d."""

    def variate(self, x: Tensor, y: Tensor, theta: Tensor, x_weights: Tensor | None, y_weights: Tensor | None) -> tuple[Tensor, Tensor]:
        variate, expected = super().variate(x, y, theta, x_weights, y_weights)
        dim, sides = theta.shape[2], []
        for features, weights in ((x, x_weights), (y, y_weights)):
            centred = features - _mean(features, weights)
            sides.append((centred, centred / features.shape[1] if weights is None else weights[..., None] * centred))
        if dim <= min(x.shape[1], y.shape[1]):
            covariance = sum(centred.mT @ weighted for centred, weighted in sides)
            along = ((theta @ covariance) * theta).sum(-1)
            trace = covariance.diagonal(dim1=1, dim2=2).sum(-1)
        else:
            along = sum(((theta @ centred.mT) * (theta @ weighted.mT)).sum(-1) for centred, weighted in sides)
            trace = sum((centred * weighted).sum((1, 2)) for centred, weighted in sides)
        return variate + along, expected + trace[:, None] / dim

    def gradients(self, x, y, theta, x_weights, y_weights, variate_grad, expected_grad):
        """What variances and the difference of means give to a sample is that of its difference from the other side's mean."""
        yield _of_samples(_pull_back(x - _mean(y, y_weights), theta, variate_grad, expected_grad), x, x_weights)
        yield _of_samples(_pull_back(y - _mean(x, x_weights), theta, variate_grad, expected_grad), y, y_weights)


def _pull_back(vectors: Tensor, theta: Tensor, variate_grad: Tensor, expected_grad: Tensor) -> Tensor:
    r"""Gradients of :math:`\sum_l a_l \langle \theta_l, v \rangle^2 + b |v|^2 / d` at vectors v, ``[R, N, D]``, with the gradients a of the
    variate, ``[R, L]``, and b of its mean, ``[R, 1]``.
    """
    dim = vectors.shape[2]
    if dim <= vectors.shape[1]:
        product = vectors @ ((variate_grad[..., None] * theta).mT @ theta)
    else:
        product = ((vectors @ theta.mT) * variate_grad[:, None]) @ theta
    return product.addcmul_(vectors, expected_grad[..., None], value=1 / dim).mul_(2)


def _of_samples(grad: Tensor, samples: Tensor, weights: Tensor | None) -> Tensor:
    """The gradients of samples by their masses."""
    return (grad / samples.shape[1] if weights is None else weights[..., None] * grad).expand_as(samples)


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
