"""The samples of one call, checked and reshaped to ``[R, N, d]`` for the solvers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from aswd.distances.checks import broadcast_lead, check_samples, check_weights
from aswd.distances.one_dimensional import normalise_weights
from aswd.distances.repeated import Repeated
from aswd.distances.workers import one_torch_thread

if TYPE_CHECKING:
    from aswd.distances.projections import Projection

NARROW = 32  # up to this dimension the memory layout of the samples decides the speed of matrix products with them


_PARALLEL = 1 << 15  # elements, from which torch copies in several threads


def _samples_last(samples: Tensor) -> Tensor:
    """The same values with samples on the contiguous axis, as vectorised kernels need it."""
    is_large = samples.device.type == "cpu" and samples.numel() >= _PARALLEL
    return _SamplesLast.apply(samples) if is_large else samples.mT.contiguous().mT


class _SamplesLast(torch.autograd.Function):
    """The gradient is copied back in one thread: where it accumulates, torch would do so in threads that then keep the cores busy."""

    @staticmethod
    def forward(ctx, samples: Tensor) -> Tensor:
        return samples.mT.contiguous().mT

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:
        with one_torch_thread():
            return grad.contiguous()


@dataclass
class Problem:
    """R replicas of N and M samples in dimension d, in float32 or float64."""

    x: Tensor  # [R, N, d]
    y: Tensor  # [R, M, d]
    x_weights: Tensor | None  # [R, N], summing to one
    y_weights: Tensor | None  # [R, M]
    lead: tuple[int, ...]  # the caller's leading dimensions; their product is R
    dtype: torch.dtype  # the caller's
    look_inside: bool  # whether values may be checked without a synchronisation, or are to be checked anyway

    @classmethod
    def of(
        cls,
        x: Tensor,
        y: Tensor,
        x_weights: Tensor | None,
        y_weights: Tensor | None,
        reduction: str,
        validate: bool,
        copy: bool = False,
    ) -> Problem:
        """Check the samples of a call and flatten their leading dimensions.

        Args:
            x, y, x_weights, y_weights: arguments of the call.
            reduction: ``"mean"`` or ``"sum"``.
            validate: check values on a GPU too.
            copy: copy the samples, which takes them out of inference mode.

        Raises:
            ValueError: samples or weights that are not allowed.
        """
        look_inside = isinstance(x, Tensor) and (x.device.type == "cpu" or (validate and x.device.type != "meta"))
        check_samples(x, y, look_inside)
        lead = broadcast_lead(x, y)
        for name, weights, samples in (("x_weights", x_weights, x), ("y_weights", y_weights, y)):
            check_weights(name, weights, (*lead, samples.shape[-2]), samples.device, look_inside)
            if weights is not None and reduction == "sum":
                raise ValueError(f"{name} must be left out with reduction='sum', where all weights are one; use reduction='mean'")
        if reduction == "sum" and x.shape[-2] != y.shape[-2]:
            raise ValueError(
                f"x and y must have equally many samples with reduction='sum'; got {x.shape[-2]} and {y.shape[-2]}: use 'mean'"
            )
        dtype = torch.promote_types(x.dtype, y.dtype)
        compute = torch.promote_types(dtype, torch.float32)

        def flat(tensor: Tensor | None, kept: int) -> Tensor | None:
            if tensor is None:
                return None
            tensor = tensor.to(compute) if kept == 2 else normalise_weights(tensor, compute)
            narrow = kept == 2 and tensor.shape[-1] <= NARROW
            if not narrow or len(lead) != 1 or tensor.shape[:-2] != lead:  # otherwise it would change nothing, and take time
                tensor = tensor.expand(*lead, *tensor.shape[-kept:]).reshape(-1, *tensor.shape[-kept:])
            if narrow:
                tensor = _samples_last(tensor)
            return tensor.clone() if copy else tensor

        return cls(flat(x, 2), flat(y, 2), flat(x_weights, 1), flat(y_weights, 1), lead, dtype, look_inside)

    @property
    def replicas(self) -> int:
        """R."""
        return self.x.shape[0]

    @property
    def n(self) -> int:
        """N."""
        return self.x.shape[1]

    @property
    def m(self) -> int:
        """M."""
        return self.y.shape[1]

    @property
    def dim(self) -> int:
        """d."""
        return self.x.shape[2]

    def detach(self) -> Problem:
        """The same problem without a gradient to the samples."""
        return replace(self, x=self.x.detach(), y=self.y.detach())

    def result(self, value: Tensor) -> Tensor:
        """``value [R, ...]`` with the caller's leading dimensions and dtype."""
        if len(self.lead) != 1:
            value = value.reshape((*self.lead, *value.shape[1:]))
        return value.to(self.dtype)


class Slices(NamedTuple):
    """One evaluation of a distance, before its costs are known: what slice costs, aggregations and penalties can depend on."""

    projection: Projection
    parameters: Mapping[str, Tensor]
    x: Tensor  # [R, N, d]
    y: Tensor  # [R, M, d]
    x_features: Tensor  # [R, N, D]
    y_features: Tensor  # [R, M, D]
    theta: Tensor  # [R, L, D]
    x_weights: Tensor | None  # [R, N]
    y_weights: Tensor | None  # [R, M]
    order: float
    repeated: Repeated | None = None  # for y under directions that do not change
