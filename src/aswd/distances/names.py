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

register("swd", about="sliced Wasserstein distance (Linear)")(Linear)
register("gswd_poly3", about="generalised SWD, homogeneous polynomial of degree 3", degree=3)(Polynomial)
register("gswd_poly5", about="generalised SWD, homogeneous polynomial of degree 5", degree=5)(Polynomial)
register("gswd_circular", about="generalised SWD, circular defining function")(Circular)
for depth in (1, 2, 3):
    register(f"gswd_nn{depth}", about=f"GSW-NN, {depth} hidden layer{'s' * (depth > 1)}", directions=None, depth=depth)(Neural)

register("max_swd", about="Max-SWD", **searched)(Linear)
register("max_gswd_poly3", about="Max-GSWD, polynomial of degree 3", **searched, degree=3)(Polynomial)
register("max_gswd_poly5", about="Max-GSWD, polynomial of degree 5", **searched, degree=5)(Polynomial)
register("max_gswd_circular", about="Max-GSWD, circular", **searched)(Circular)
for depth in (1, 2, 3):
    register(
        f"max_gswd_nn{depth}",
        about=f"MAX-GSW-NN, {depth} hidden layer{'s' * (depth > 1)}",
        directions=None,
        **learned,
        depth=depth,
        penalty=0.0,
        objective="sum",
    )(Neural)

register("dswd", about="distributional SWD", **pushed)(Linear)
register("dgswd_circular", about="distributional GSWD, circular", **pushed)(Circular)

register("aswd", about="augmented SWD, g(x) = [x, phi(x)]", **learned)(Augmented)
register("aswd_vanilla", about="ASWD with a random phi that is not optimised")(Augmented)
register("aswd_non_injective", about="ASWD with g = phi, which need not be injective", **learned)(NonInjective)
register("aswd_vanilla_non_injective", about="g = phi, random and not optimised")(NonInjective)
register("aswd_planar", about="ASWD with a planar flow as g", **learned)(Planar)
register("aswd_radial", about="ASWD with a radial flow as g", **learned)(Radial)

register("wasserstein", about="exact Wasserstein distance")(Wasserstein)
