"""Sliced Wasserstein distances: one formula, with a choice of projection, directions, what is maximised, aggregation and slice cost.

>>> import torch
>>> from aswd.distances import build
>>> distance = build("aswd", num_projections=50, seed=0)
>>> distance(torch.randn(100, 2), torch.randn(80, 2) + 3).shape
torch.Size([])
"""

from aswd.utils.numpy_features import prefer_avx2

prefer_avx2()  # must come before the import of numpy

from aswd.distances import names  # noqa: F401  registers the names
from aswd.distances.aggregations import Aggregation
from aswd.distances.augmented import Augmented, NonInjective
from aswd.distances.directions import Directions, PushForward, Single, Uniform
from aswd.distances.exact import Wasserstein
from aswd.distances.flows import Planar, Radial
from aswd.distances.functional import sliced_wasserstein
from aswd.distances.maximiser import Maximiser
from aswd.distances.neural import Neural
from aswd.distances.one_dimensional import wasserstein_1d
from aswd.distances.penalties import CosinePenalty, NormPenalty
from aswd.distances.point_sets import PointSet
from aswd.distances.problem import Slices
from aswd.distances.projections import Circular, Linear, Polynomial, Projection
from aswd.distances.registry import (
    READINGS,
    about,
    added_options,
    available,
    axes,
    build,
    build_options,
    distance_info,
    option_types,
    options,
    origin,
    register,
    resolved_options,
)
from aswd.distances.slice_costs import SliceCost
from aswd.distances.sliced import SlicedDistance

__all__ = [
    "READINGS",
    "Aggregation",
    "Augmented",
    "Circular",
    "CosinePenalty",
    "Directions",
    "Linear",
    "Maximiser",
    "Neural",
    "NonInjective",
    "NormPenalty",
    "Planar",
    "PointSet",
    "Polynomial",
    "Projection",
    "PushForward",
    "Radial",
    "Single",
    "SliceCost",
    "SlicedDistance",
    "Slices",
    "Uniform",
    "Wasserstein",
    "about",
    "added_options",
    "available",
    "axes",
    "build",
    "build_options",
    "distance_info",
    "option_types",
    "options",
    "origin",
    "register",
    "resolved_options",
    "sliced_wasserstein",
    "wasserstein_1d",
]
