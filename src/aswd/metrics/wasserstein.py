"""The exact Wasserstein distance as a figure of merit."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from aswd.distances import build


def exact_wasserstein(x: Tensor, y: Tensor, order: float = 2.0, x_weights: Tensor | None = None, y_weights: Tensor | None = None) -> Tensor:
    r"""W_k between the samples ``x [..., N, d]`` and ``y [..., M, d]``, which may have weights ``[..., N]`` and ``[..., M]``, in float64.

    .. math:: W_k(x, y) = \Bigl( \min_\gamma \sum_{ij} \gamma_{ij} |x_i - y_j|^k \Bigr)^{1/k}

    Cost and plan are found on the host in float64, by differences: float32 with expanded squares reads 2e-4 where W2 is 1.6e-5.
    As many samples on both sides, at most 1000, no weights: scipy's assignment solver, else POT's network simplex; replicas in threads.

    Raises:
        ValueError: shapes that do not fit, or values that are not finite.

    >>> exact_wasserstein(torch.zeros(4, 2), torch.full((4, 2), 3.0))
    tensor(4.2426, dtype=torch.float64)
    """
    host = (None if tensor is None else tensor.detach().to("cpu", torch.float64) for tensor in (x, y, x_weights, y_weights))
    return build("wasserstein", order=order)(*host)


class ExactWasserstein(Metric):
    r""":func:`exact_wasserstein` between all samples seen, replicas side by side.

    Args:
        order: k >= 1.

    >>> metric = ExactWasserstein()
    >>> metric.update(torch.zeros(3, 4, 2), torch.ones(3, 4, 2))
    >>> metric.compute()
    tensor([1.4142, 1.4142, 1.4142], dtype=torch.float64)
    """

    is_differentiable = False
    higher_is_better = False
    full_state_update = False

    def __init__(self, order: float = 2.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.order = order
        # Gathered and joined along the samples, not by a reduction of torchmetrics: its "cat" joins the first axis, the replicas.
        self.add_state("x", default=[], dist_reduce_fx=None)
        self.add_state("y", default=[], dist_reduce_fx=None)

    def update(self, x: Tensor, y: Tensor) -> None:
        """Add samples ``x [..., N, d]`` and ``y [..., M, d]``; further calls add to the samples of the same replicas."""
        self.x.append(x.detach())
        self.y.append(y.detach())

    def compute(self) -> Tensor:
        """W_k of every replica, ``[...]``."""
        if not self.x:
            raise ValueError("ExactWasserstein.compute() was called before update(x, y)")
        return exact_wasserstein(_joined(self.x), _joined(self.y), self.order)


def _joined(parts: list[Tensor]) -> Tensor:
    parts = [piece for part in parts for piece in (part if isinstance(part, list) else [part])]
    return parts[0] if len(parts) == 1 else torch.cat(parts, -2)
