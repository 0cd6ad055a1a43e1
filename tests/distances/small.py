"""Small instances of every registered distance."""

import copy

import pytest
import torch

from aswd.distances import Single, SlicedDistance, available, build, options

NAMES = available()
LEARNING = [name for name in NAMES if "steps" in options(name)]


def small(name, **given):
    """The distance with few projections and steps, where it has such options."""
    sizes = {"num_projections": 12, "steps": 3, "seed": 0}
    return build(name, **({key: value for key, value in sizes.items() if key in options(name)} | given))


def skip_unless_defined(name, dim):
    """Skip a test of samples in a dimension for which the distance has no point set."""
    if options(name).get("sampling") in ("spiral", "equal_area") and dim != 3:
        pytest.skip("a point set in three dimensions")
    if name == "swd_shcv" and dim > 3:
        pytest.skip("more polynomials than directions")


def clouds(n=20, m=20, dim=3, lead=(), dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*lead, n, dim, generator=generator, dtype=dtype)
    y = 0.7 * torch.randn(*lead, m, dim, generator=generator, dtype=dtype) + 0.5
    return x, y


def frozen(distance, x, y, trained=True):
    """The distance as a pure function: what was learned, and the random numbers to come, are the same at every call."""
    if trained:
        distance(x.detach(), y.detach())
    distance.eval()
    extra = {}
    if isinstance(distance, SlicedDistance) and isinstance(distance.directions, Single):
        dim = distance.projection.direction_dim(x.shape[-1])
        theta = torch.randn(1, dim, dtype=x.dtype, generator=torch.Generator().manual_seed(7))
        extra = {"directions": theta / theta.norm()}
    elif (
        isinstance(distance, SlicedDistance)
        and distance.directions is not None
        and (distance.directions.from_samples or distance.directions.has_own_objective)
    ):
        extra = {"directions": distance.draw(x.detach(), y.detach())}
    return lambda *samples, **kwargs: copy.deepcopy(distance)(*samples, **extra, **kwargs)
