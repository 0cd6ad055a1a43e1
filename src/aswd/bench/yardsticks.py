"""The plain versions that ours are timed against: sort both sides with ``torch.sort``, subtract, let autograd do the rest.

They are written as the released codes are, one problem at a time and one optimiser each, and serve no other purpose.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def _directions(count: int, dim: int) -> Tensor:
    return functional.normalize(torch.randn(count, dim), dim=-1)


def _distance(u: Tensor, v: Tensor) -> Tensor:
    """Root of the mean squared difference of sorted values ``[N, L]``, transposed before they are sorted as in the released codes."""
    difference = u.transpose(0, 1).sort(dim=1).values - v.transpose(0, 1).sort(dim=1).values
    return difference.abs().pow(2).sum(1).div(len(u)).mean().pow(0.5)


def swd(x: Tensor, y: Tensor, num_projections: int) -> Tensor:
    """Sum over replicas ``[R, N, d]`` of SWD."""
    total = x.new_zeros(())
    for x_one, y_one in zip(x, y, strict=True):
        theta = _directions(num_projections, x.shape[-1])
        total = total + _distance(x_one @ theta.T, y_one @ theta.T)
    return total


def circular(x: Tensor, y: Tensor, num_projections: int, radius: float) -> Tensor:
    """Sum over replicas of the circular GSWD, through the N x d x L tensor of differences."""
    total = x.new_zeros(())
    for x_one, y_one in zip(x, y, strict=True):
        theta = radius * _directions(num_projections, x.shape[-1])
        values = [((side[:, :, None] - theta.T[None]) ** 2).sum(1).sqrt() for side in (x_one, y_one)]
        total = total + _distance(*values)
    return total


class PlainASWD:
    """ASWD with an affine phi as the released flow code has it: R networks with R optimisers."""

    def __init__(self, replicas: int, dim: int, num_projections: int, steps: int) -> None:
        self.num_projections, self.steps = num_projections, steps
        self.phis = [nn.Linear(dim, dim) for _ in range(replicas)]
        self.optimisers = [torch.optim.Adam(phi.parameters(), lr=0.005, betas=(0.999, 0.999)) for phi in self.phis]

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        """Sum over replicas of ASWD."""
        total = x.new_zeros(())
        for x_one, y_one, phi, optimiser in zip(x, y, self.phis, self.optimisers, strict=True):
            x_fixed, y_fixed = x_one.detach(), y_one.detach()
            for _ in range(self.steps):
                gx, gy, value = self._evaluate(x_fixed, y_fixed, phi)
                loss = 0.1 * (gx.norm(dim=1) + gy.norm(dim=1)).mean() - 512**0.5 * value
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            total = total + self._evaluate(x_one, y_one, phi)[2]
        return total

    def _evaluate(self, x: Tensor, y: Tensor, phi: nn.Module) -> tuple[Tensor, Tensor, Tensor]:
        gx, gy = (torch.cat([side, phi(side)], -1) for side in (x, y))
        theta = _directions(self.num_projections, gx.shape[-1])
        return gx, gy, _distance(gx @ theta.T, gy @ theta.T)
