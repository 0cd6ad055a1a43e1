"""The distances: each a choice of projection, directions, what is maximised, aggregation and slice cost."""

from __future__ import annotations

from aswd.distances.aggregations import Max, Mean, MeanOfRoots, Min, Softmax, Softmin
from aswd.distances.augmented import Augmented, NonInjective
from aswd.distances.control_variates import LowerVariate, SphericalHarmonics, UpperVariate
from aswd.distances.descended import Descended
from aswd.distances.directions import Frame, PushForward, Single
from aswd.distances.exact import Wasserstein
from aswd.distances.flows import Planar, Radial
from aswd.distances.lifted import Lifted
from aswd.distances.markov import MarkovChains
from aswd.distances.neural import Neural
from aswd.distances.penalties import CosinePenalty, NormPenalty
from aswd.distances.point_sets import EqualArea, Halton, Orthogonal, Random, Sobol, Spiral
from aswd.distances.projections import Circular, Linear, Polynomial
from aswd.distances.random_paths import RandomPath
from aswd.distances.registry import register
from aswd.distances.slice_costs import Sorted
from aswd.distances.trees import Tree
from aswd.distances.zonal import VonMisesFisher

for part_name, part in {
    **{"mean": Mean, "algorithm1": MeanOfRoots, "softmax": Softmax, "softmin": Softmin, "max": Max, "min": Min},
    **{"lcv": LowerVariate, "ucv": UpperVariate, "shcv": SphericalHarmonics},
    **{"sorted": Sorted, "lifted": Lifted, "tree": Tree},
    **{"random": Random, "orthogonal": Orthogonal, "spiral": Spiral, "equal_area": EqualArea, "sobol": Sobol, "halton": Halton},
}.items():
    register(part_name)(part)

searched = {"directions": Single, "maximised": "directions", "warm_start": False}  # one direction, drawn and optimised at every call
pushed = {"directions": PushForward, "maximised": "directions", "penalised_by": CosinePenalty}
learned = {"maximised": "projection", "penalised_by": NormPenalty}

register("swd", about="sliced Wasserstein distance (Linear)")(Linear)
register("gswd_poly3", about="generalised SWD, homogeneous polynomial of degree 3", degree=3)(Polynomial)
register("gswd_poly5", about="generalised SWD, homogeneous polynomial of degree 5", degree=5)(Polynomial)
register("gswd_circular", about="generalised SWD, circular defining function")(Circular)
for depth in (1, 2, 3):
    register(f"gswd_nn{depth}", about=f"GSW-NN, {depth} hidden layer{'s' * (depth > 1)}", directions=None, depth=depth)(Neural)

register("swd1", about="SWD of order 1", order=1.0)(Linear)
register("osw", about="SWD with blocks of orthonormal directions", sampling="orthogonal")(Linear)
register("qsw_spiral", about="quasi SWD, generalised spiral (d = 3)", sampling="spiral")(Linear)
register("qsw_equal_area", about="quasi SWD, Sobol points mapped by areas (d = 3)", sampling="equal_area")(Linear)
register("qsw_sobol", about="quasi SWD, Sobol points", sampling="sobol")(Linear)
register("qsw_halton", about="quasi SWD, Halton points", sampling="halton")(Linear)
for variate, text in ((LowerVariate, "lower"), (UpperVariate, "upper")):
    register(f"swd_{text[0]}cv", about=f"SWD with the {text} control variate", aggregation=variate)(Linear)
register("swd_shcv", about="SWD with spherical harmonics as control variates", aggregation=SphericalHarmonics)(Linear)
register("min_swgg", about="min-SWGG: the best matching of all slices", aggregation=Min, slice_cost=Lifted)(Linear)
descent = {"directions": Descended, "maximised": "directions", "warm_start": False, "steps": 200, "lr": 0.02, "betas": (0.9, 0.999)}
register("min_swgg_opt", about="min-SWGG by descent of a smoothed cost", aggregation=Min, slice_cost=Lifted, **descent)(Linear)
register("est", about="expected sliced transport: the slices' plans under softmin weights", aggregation=Softmin, slice_cost=Lifted)(Linear)
register("pwd", about="projected Wasserstein distance: the mean of the slices' plans", slice_cost=Lifted)(Linear)
register("tsw_sl", about="tree-sliced Wasserstein distance, constant split", slice_cost=Tree, split="constant", order=1.0)(Linear)
blocks = {"name": "orthogonal", "block": 4}
register("db_tsw", about="tree-sliced, split by distance, orthogonal lines", slice_cost=Tree, order=1.0, sampling=blocks)(Linear)
register("max_k_swd", about="Max-K-SW: K orthogonal directions", **{**searched, "directions": Frame})(Linear)
register("ebsw", about="energy-based SWD", aggregation=Softmax)(Linear)

register("vdsw", about="SWD of von Mises-Fisher directions", directions=VonMisesFisher, maximised="directions")(Linear)
register("msw", about="Markovian SWD: chains of directions", directions=MarkovChains)(Linear)
register("rpsw", about="random-path SWD: directions between samples", directions=RandomPath)(Linear)
register("iwrpsw", about="importance weighted random-path SWD", directions=RandomPath, aggregation=Softmax)(Linear)

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
