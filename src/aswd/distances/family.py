"""The distances of the paper, its ablations and variants: each a choice of projection, directions and what is maximised."""

from __future__ import annotations

from aswd.distances.augmented import Augmented, NonInjective
from aswd.distances.directions import PushForward, Single
from aswd.distances.exact import Wasserstein
from aswd.distances.flows import Planar, Radial
from aswd.distances.neural import Neural
from aswd.distances.penalties import CosinePenalty, NormPenalty
from aswd.distances.projections import Circular, Linear, Polynomial
from aswd.distances.registry import register

searched = {"directions": Single, "maximised": "directions", "warm_start": False}  # one direction, drawn and optimised at every call
pushed = {"directions": PushForward, "maximised": "directions", "penalised_by": CosinePenalty}
learned = {"maximised": "projection", "penalised_by": NormPenalty}

register("swd")(Linear)
register("gswd_poly3", degree=3)(Polynomial)
register("gswd_poly5", degree=5)(Polynomial)
register("gswd_circular")(Circular)
for depth in (1, 2, 3):
    register(f"gswd_nn{depth}", directions=None, depth=depth)(Neural)

register("max_swd", **searched)(Linear)
register("max_gswd_poly3", **searched, degree=3)(Polynomial)
register("max_gswd_poly5", **searched, degree=5)(Polynomial)
register("max_gswd_circular", **searched)(Circular)
for depth in (1, 2, 3):
    register(f"max_gswd_nn{depth}", directions=None, **learned, depth=depth, penalty=0.0, objective="sum")(Neural)

register("dswd", **pushed)(Linear)
register("dgswd_circular", **pushed)(Circular)

register("aswd", **learned)(Augmented)
register("aswd_vanilla")(Augmented)
register("aswd_non_injective", **learned)(NonInjective)
register("aswd_vanilla_non_injective")(NonInjective)
register("aswd_planar", **learned)(Planar)
register("aswd_radial", **learned)(Radial)

register("wasserstein")(Wasserstein)
