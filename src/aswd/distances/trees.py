r"""Trees of lines: the slice cost of the tree-sliced Wasserstein distances.

Lines through a common root are a tree. Every sample is projected to all lines of a tree, and its mass is split between them; W_1 on
the tree is the sum over its edges of length times the absolute difference of the masses beyond. With a constant split it is the mean of
W_1 on the lines.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from aswd.distances.aggregations import Aggregation, power
from aswd.distances.one_dimensional import clamp_tiny
from aswd.distances.problem import Slices
from aswd.distances.slice_costs import SliceCost
from aswd.utils.checks import check_at_least, check_choice

_DIRECT_UP_TO = 4  # dimensions


@dataclass
class Tree(SliceCost):
    """The k-th power of W_1 on trees of lines through the mean of all samples; directions that do not fill a tree are not used.

    Args:
        lines: of a tree, at most.
        split: of the mass of a sample: ``"distance"``, softmax of -delta times the distance to each line (Db-TSW), or ``"constant"``.
        delta: of the split by distance.
    """

    lines: int = 4
    split: str = "distance"
    delta: float = 2.0

    def __post_init__(self) -> None:
        check_at_least("lines", self.lines, 1, whole=True)
        check_choice("split", self.split, ["distance", "constant"])
        check_at_least("delta", self.delta, 0, strictly=True)

    one_direction = False

    def count(self, directions: int) -> int:
        return max(1, directions // self.lines)

    def num_sorts(self, directions: int, aggregation: Aggregation) -> int:
        """One row with both sides for every line."""
        return 2 * self.count(directions) * min(self.lines, directions)

    def aggregate(self, s: Slices, aggregation: Aggregation) -> Tensor:
        return aggregation(self.costs(s), s)

    def costs(self, s: Slices) -> Tensor:
        trees, lines = self.count(s.theta.shape[1]), min(self.lines, s.theta.shape[1])
        theta = s.theta[:, : trees * lines]
        means = [f.mean(1, keepdim=True) if w is None else w[:, None] @ f for f, w in _sides(s)]
        root = (means[0] + means[1]) / 2
        coordinates, masses = [], []
        for (features, weights), sign in zip(_sides(s), (1, -1), strict=True):
            offset = features - root
            along = (theta @ offset.mT).unflatten(1, (trees, lines))  # [R, trees, lines, N]
            share = sign / features.shape[1] if weights is None else sign * weights[:, None, None]
            coordinates.append(along)
            masses.append(self._split(along, offset, theta) * share)
        zero = coordinates[0].new_zeros(*coordinates[0].shape[:3], 1)  # the root
        position, order = torch.cat([*coordinates, zero], -1).sort(stable=True)
        below = torch.cat([*masses, zero], -1).gather(-1, order).cumsum(-1)
        total = below[..., -1:]
        below = below[..., :-1]
        left, right = position.clamp_max(0).diff(), position.clamp_min(0).diff()
        cost = (_along_edges(below, left) + _along_edges(total - below, right)).sum((-2, -1))
        return cost if s.order == 1 else power(cost, s.order)

    def _split(self, along: Tensor, offset: Tensor, theta: Tensor) -> Tensor:
        """Shares of the lines in the mass of every sample, ``[R, trees, lines, N]``."""
        if self.split == "constant":
            return torch.full_like(along, 1 / along.shape[2])
        squares = _squared_distances(along.flatten(1, 2), offset, theta)
        return torch.softmax(-self.delta * clamp_tiny(squares).sqrt().view_as(along), 2)


def _squared_distances(along: Tensor, offset: Tensor, theta: Tensor) -> Tensor:
    """Squared distances ``[R, L, N]`` of samples ``[R, N, D]`` to the lines along theta, on which their values are ``along``."""
    norms = clamp_tiny(torch.linalg.vector_norm(theta, dim=-1, keepdim=True))
    along, theta = along / norms, theta / norms
    if offset.shape[-1] > _DIRECT_UP_TO:
        return offset.square().sum(-1)[:, None] - along.square()
    # That difference cancels for samples close to a line, which in few dimensions there are: one coordinate at a time.
    coordinates = zip(offset[:, None].unbind(-1), theta[:, :, None].unbind(-1), strict=True)
    return sum((x - along * direction).square() for x, direction in coordinates)


def _sides(s: Slices) -> tuple[tuple[Tensor, Tensor | None], tuple[Tensor, Tensor | None]]:
    return (s.x_features, s.x_weights), (s.y_features, s.y_weights)


def _along_edges(mass: Tensor, length: Tensor) -> Tensor:
    """Absolute differences of mass times lengths of edges, with gradient zero where either is zero.

    What is within the rounding error of sums of mass counts as zero.
    """
    tolerance = 4 * mass.shape[-1] ** 0.5 * torch.finfo(mass.dtype).eps
    none = (mass.detach().abs() < tolerance) | (length.detach() == 0)
    return mass.masked_fill(none, 0).abs() * length
