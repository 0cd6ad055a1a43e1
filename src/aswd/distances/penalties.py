"""Penalties in the objective of an inner loop."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from aswd.distances.layers import norm, product
from aswd.distances.one_dimensional import safe_root
from aswd.distances.problem import Slices
from aswd.distances.sorting import sort_rows
from aswd.utils.checks import check_at_least, check_choice

PENALTY_FORMS = ("mean_norm", "moment", "algorithm1")


class Penalty:
    """Base of the penalties: lambda, and the scale S of the distance in the objective.

    The objective is ``(S mean_l W_k^k)^(1/k) - penalty``; relative to the mean-normalised distance, lambda acts as lambda / S^(1/k).
    """

    closed_form: bool = False  # whether subtract_gradients is implemented

    def check(self) -> None:
        """Check the options.

        Raises:
            ValueError: a value that is not allowed.
        """
        check_at_least("penalty", self.penalty, 0)
        if isinstance(self.objective, str) and self.objective not in ("mean", "sum"):
            raise ValueError(f"objective must be 'mean', 'sum' or a number above 0; got {self.objective!r}")
        if not isinstance(self.objective, str):
            check_at_least("objective", self.objective, 0, strictly=True)

    def samples(self, n: int, m: int) -> float:
        """S: 1 for ``"mean"``, (N + M) / 2 for ``"sum"``, or the number given."""
        return {"mean": 1.0, "sum": (n + m) / 2}.get(self.objective, self.objective)


@dataclass
class NormPenalty(Penalty):
    r"""lambda times the size of g(x) and g(y), which keeps the ASWD's hypersurface bounded.

    Args:
        penalty: lambda >= 0.
        penalty_form: ``"moment"``: E^(1/k) norm(g)^k, the paper's equation; ``"mean_norm"``: E norm(g), the released code;
            ``"algorithm1"``: the sum over n of (norm(g_n)^k / N)^(1/k), the paper's pseudo-code.
        penalty_relative: divide lambda by the mean of abs(y), as the released flow does (unless y is all zero).
        objective: scale S of the distance in the objective: ``"mean"`` (1), ``"sum"`` (number of samples), or a number.
    """

    penalty: float = 0.1
    penalty_form: str = "mean_norm"
    penalty_relative: bool = False
    objective: str | float = 512

    def __post_init__(self) -> None:
        self.check()
        check_choice("penalty_form", self.penalty_form, PENALTY_FORMS)
        check_choice("penalty_relative", self.penalty_relative, [True, False])

    def __call__(self, s: Slices) -> Tensor:
        """The penalty of every replica, ``[R]``."""
        if self.penalty == 0:
            return s.theta.new_zeros(())
        size = self._size(s, s.x_features, s.x_weights) + self._size(s, s.y_features, s.y_weights)
        return self.strength(s.y) * size

    @property
    def closed_form(self) -> bool:
        """Not of subclasses, which may override anything."""
        return type(self) is NormPenalty

    def subtract_gradients(self, s: Slices, features: Tensor, features_grad: Tensor, theta_grad: Tensor | None) -> None:
        """Subtract the gradient with respect to the ``features`` of x and then y, which is zero at zero, in place."""
        norms, sizes = norm(features), (s.x_features.shape[1], s.y_features.shape[1])
        strength = self.strength(s.y)[:, None] if self.penalty_relative else self.penalty
        factor = norms.reciprocal().nan_to_num_(nan=math.nan, posinf=0)
        for side, its_norms, weights in zip(factor.split(sizes, 1), norms.split(sizes, 1), (s.x_weights, s.y_weights), strict=True):
            side *= strength * self._slope(its_norms, weights, s.order)
        features_grad.addcmul_(features, factor[..., None], value=-1)

    def strength(self, y: Tensor) -> Tensor | float:
        """lambda; per replica if it depends on y."""
        if not self.penalty_relative:
            return self.penalty
        scale = y.abs().mean((1, 2))
        return self.penalty / torch.where(scale == 0, 1, scale)

    def _size(self, s: Slices, features: Tensor, weights: Tensor | None) -> Tensor:
        norms = s.projection.output_norm(features, s.parameters)
        share = 1 / norms.shape[1] if weights is None else weights
        if self.penalty_form == "mean_norm":
            return norms.mean(1) if weights is None else (share * norms).sum(1)
        power = share * norms.pow(s.order)
        return safe_root(power.sum(1), s.order) if self.penalty_form == "moment" else safe_root(power, s.order).sum(1)

    def _slope(self, norms: Tensor, weights: Tensor | None, k: float) -> Tensor | float:
        """Derivative of :meth:`_size` with respect to the norms ``[R, N]`` of the outputs."""
        share = 1 / norms.shape[1] if weights is None else weights
        if self.penalty_form == "mean_norm":
            return share
        if self.penalty_form == "algorithm1":
            return share ** (1 / k)
        power = (share * norms.pow(k)).sum(1, keepdim=True)
        return share * norms.pow(k - 1) * torch.where(power == 0, 0, power.pow(1 / k - 1))


@dataclass
class CosinePenalty(Penalty):
    """lambda times the mean of abs cos(f(theta), f(theta')) over all pairs, which keeps the DSWD's directions apart.

    Args:
        penalty: lambda >= 0.
        objective: scale S of the distance in the objective: ``"mean"`` (1), ``"sum"`` (number of samples), or a number.
    """

    penalty: float = 10.0
    objective: str | float = "sum"

    def __post_init__(self) -> None:
        self.check()

    def __call__(self, s: Slices) -> Tensor:
        """The penalty of every replica, ``[R]``."""
        return self.penalty * _MeanAbsoluteCosine.apply(s.theta) if self.penalty else s.theta.new_zeros(())

    @property
    def closed_form(self) -> bool:
        """Not of subclasses, which may override anything."""
        return type(self) is CosinePenalty

    def subtract_gradients(self, s: Slices, features: Tensor | None, features_grad: Tensor | None, theta_grad: Tensor) -> None:
        """Subtract the gradient with respect to the directions in place."""
        theta_grad.sub_(_mean_absolute_cosine_gradient(s.theta), alpha=self.penalty)


def _mean_absolute_cosine(theta: Tensor) -> Tensor:
    """``mean_ij abs <theta_i, theta_j>`` for unit vectors ``[R, L, d]``."""
    return torch.linalg.vecdot(_signed_sums(theta), theta).sum(1).div_(theta.shape[1] ** 2)


def _mean_absolute_cosine_gradient(theta: Tensor) -> Tensor:
    """Its gradient, ``2/L^2 sum_j sign(<theta_i, theta_j>) theta_j``."""
    return _signed_sums(theta).mul_(2 / theta.shape[1] ** 2)


def _signed_sums(theta: Tensor) -> Tensor:
    """``sum_j sign(<theta_i, theta_j>) theta_j``, ``[R, L, d]``."""
    if theta.shape[-1] != 2:
        return product(product(theta, theta.mT).sign_(), theta)
    # In the plane, in O(L log L): let l_j be the unit vector along theta_j with an angle in [0, pi). <l_i, l_j> is positive where the
    # angles differ by less than pi/2, which is a range of the sorted angles, so that the sum over it is a difference of prefix sums.
    angle, index = sort_rows(torch.atan2(theta[..., 1], theta[..., 0]).remainder(math.pi), True, 0)
    line = torch.stack([angle.cos(), angle.sin()], -1)
    along = torch.linalg.vecdot(theta.take_along_dim(index[..., None], 1), line)[..., None]
    sums = functional.pad((line * along.abs()).cumsum(1), (0, 0, 1, 0))  # of the first 0, 1, ..., L
    is_low = angle < math.pi / 2
    bound = torch.searchsorted(angle, torch.where(is_low, angle + math.pi / 2, angle - math.pi / 2))
    twice_below, total = 2 * sums.take_along_dim(bound[..., None], 1), sums[:, -1:]
    signed = torch.where(is_low[..., None], twice_below - total, total - twice_below).mul_(along.sign())
    return torch.empty_like(theta).scatter_(1, index[..., None].expand_as(theta), signed)


class _MeanAbsoluteCosine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, theta: Tensor) -> Tensor:
        ctx.save_for_backward(theta)
        return _mean_absolute_cosine(theta)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:
        (theta,) = ctx.saved_tensors
        if torch.is_grad_enabled():  # for second derivatives, under which signs are constants
            return grad[:, None, None] * ((theta @ theta.mT).sign() @ theta) * (2 / theta.shape[1] ** 2)
        return grad[:, None, None] * _mean_absolute_cosine_gradient(theta)
