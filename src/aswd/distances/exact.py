"""The exact Wasserstein distance in any dimension, with the interface of the sliced ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from aswd.distances.checks import check_order, check_seed
from aswd.distances.modes import eager, without_autocast
from aswd.distances.one_dimensional import mass_tolerance, safe_root
from aswd.distances.problem import NARROW, Problem
from aswd.distances.workers import map_chunks
from aswd.utils.checks import check_choice

_MAX_ASSIGNMENT = 1000  # samples; above, the network simplex takes a sixth of the assignment solver's time
Coupling = tuple[np.ndarray, np.ndarray, np.ndarray]  # indices i and j of the pairs, and the mass of each


class Wasserstein(nn.Module):
    r""":math:`W_k(x, y) = \bigl( \min_\gamma \sum_{ij} \gamma_{ij} |x_i - y_j|^k \bigr)^{1/k}` with Euclidean norms.

    Solved by scipy's assignment solver for N = M <= 1000 without weights, else by POT's network simplex. The plan is computed on the host
    in float64 and held constant, which gives the exact gradient with respect to the samples wherever the plan is unique.
    Replicas are solved in parallel threads. The time grows as N^3.

    Args:
        order: k >= 1.
        reduction: ``"mean"`` or ``"sum"`` over the samples; sum needs N = M and no weights.
        root: take the 1/k root.
        seed: ignored, as nothing is random; accepted so that all distances have the option.
        validate: check that the samples are finite on a GPU too, which costs a synchronisation.
    """

    supports_replicas = True

    def __init__(
        self,
        order: float = 2.0,
        reduction: str = "mean",
        root: bool = True,
        seed: int | Sequence[int] | None = None,
        validate: bool = False,
    ) -> None:
        super().__init__()
        check_order(order)
        check_choice("reduction", reduction, ["mean", "sum"])
        check_choice("root", root, [True, False])
        check_choice("validate", validate, [True, False])
        check_seed(seed)
        self.order, self.reduction, self.root, self.validate = float(order), reduction, root, validate

    @eager
    def forward(
        self,
        x: Tensor,
        y: Tensor,
        x_weights: Tensor | None = None,
        y_weights: Tensor | None = None,
        directions: Tensor | None = None,
    ) -> Tensor:
        """The distance between ``x [..., N, d]`` and ``y [..., M, d]``, of shape ``[...]``."""
        if directions is not None:
            raise ValueError("directions must be left out: the exact Wasserstein distance has none")
        problem, couplings = self._solve(x, y, x_weights, y_weights)
        with without_autocast(problem.x.device):
            costs = [self._cost(xr, yr, coupling) for xr, yr, coupling in zip(problem.x, problem.y, couplings, strict=True)]
            cost = torch.stack(costs) * (problem.n if self.reduction == "sum" else 1)
            return problem.result(safe_root(cost, self.order) if self.root else cost)

    @eager
    def plan(self, x: Tensor, y: Tensor, x_weights: Tensor | None = None, y_weights: Tensor | None = None) -> Tensor:
        """An optimal transport plan, ``[..., N, M]``."""
        problem, couplings = self._solve(x, y, x_weights, y_weights)
        plan = problem.x.new_zeros(problem.replicas, problem.n, problem.m)
        for one, coupling in zip(plan, couplings, strict=True):
            i, j, mass = (torch.from_numpy(part).to(plan.device) for part in coupling)
            one[i, j] = mass.to(plan.dtype)
        return problem.result(plan)

    def _solve(self, x: Tensor, y: Tensor, x_weights: Tensor | None, y_weights: Tensor | None) -> tuple[Problem, list[Coupling]]:
        problem = Problem.of(x, y, x_weights, y_weights, self.reduction, self.validate)
        if problem.x.device.type == "meta":
            raise ValueError("x must hold values to compute the exact plan from; got a tensor on the device meta")
        with without_autocast(problem.x.device):
            return problem, optimal_couplings(problem.x, problem.y, problem.x_weights, problem.y_weights, self.order)

    def _cost(self, x: Tensor, y: Tensor, coupling: Coupling) -> Tensor:
        i, j, mass = (torch.from_numpy(part).to(x.device) for part in coupling)
        squares = (x[i] - y[j]).square().sum(-1)
        return (mass.to(x.dtype) * safe_root(squares, 2).pow(self.order) if self.order != 2 else mass.to(x.dtype) * squares).sum()

    def extra_repr(self) -> str:
        return f"order={self.order:g}, reduction={self.reduction!r}, root={self.root}"


def optimal_couplings(x: Tensor, y: Tensor, x_weights: Tensor | None, y_weights: Tensor | None, order: float) -> list[Coupling]:
    """An optimal coupling for each replica of ``x [R, N, d]`` and ``y [R, M, d]``, solved in float64, in threads."""
    host = [None if t is None else t.detach().cpu().double() for t in (x, y, x_weights, y_weights)]
    replicas = list(zip(*(t if t is not None else [None] * len(x) for t in host), strict=True))
    return map_chunks(lambda replica: _coupling(*replica, order), replicas, torch.device("cpu"))


def _coupling(x: Tensor, y: Tensor, x_weights: Tensor | None, y_weights: Tensor | None, order: float) -> Coupling:
    n, m = len(x), len(y)
    cost = _costs(x, y, order).numpy()
    largest = cost.max()
    if not np.isfinite(largest):  # overflow: the distance is NaN
        return np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, np.nan)
    if n == m <= _MAX_ASSIGNMENT and x_weights is None and y_weights is None:
        from scipy.optimize import linear_sum_assignment

        i, j = linear_sum_assignment(cost)
        return i, j, np.full(n, 1 / n)
    import ot

    a, b = (
        np.full(size, 1 / size) if w is None else (w / w.sum()).numpy() for w, size in ((x_weights, n), (y_weights, m))
    )  # sums of one to the last bit
    if largest:
        cost /= largest  # POT's tolerance is absolute
    plan = ot.emd(a, b, cost, numItermax=10_000_000)
    i, j = (plan > mass_tolerance(n + m)).nonzero()
    return i, j, plan[i, j]


def _costs(x: Tensor, y: Tensor, order: float) -> Tensor:
    """Costs ``[N, M]`` to compute the plan from; the cost of the plan itself is computed from differences afterwards."""
    if order == 2 and x.shape[1] > NARROW:  # a matrix product is ten times faster, with a relative error of 1e-13 in float64
        centre = y.mean(0)
        x, y = x - centre, y - centre
        return (x.square().sum(1)[:, None] + y.square().sum(1)).addmm_(x, y.mT, alpha=-2)
    # From differences: expanded squares cancel when two clouds nearly coincide.
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist").pow_(order)
