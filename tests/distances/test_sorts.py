"""The number of 1-D sorts that a distance says it does, against those that torch does."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from aswd.distances import available, build, options
from aswd.distances.workers import workers

N, DIM = 16, 3


class CountedSorts(TorchDispatchMode):
    """Counts the values that are sorted."""

    values = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket in (torch.ops.aten.sort, torch.ops.aten.argsort):
            self.values += args[0].numel()
        return func(*args, **(kwargs or {}))


SLICED = [name for name in available() if name != "wasserstein"]
VARIANTS = [
    *((name, {}) for name in SLICED),
    ("msw", {"transition": "input_aware", "burn_in": 2}),
    ("max_k_swd", {"num_directions": 3}),
    ("min_swgg_opt", {"starts": 2, "copies": 4}),
    ("swd", {"aggregation": "max"}),
    ("gswd_poly3", {"slice_cost": "lifted"}),
]


@pytest.mark.parametrize(("name", "given"), VARIANTS)
def test_sorts_per_call_are_those_of_a_step(name, given):
    known = options(name)
    few = {key: value for key, value in {"num_projections": 12, "steps": 3}.items() if key in known}
    distance = build(name, seed=0, **few, **given)
    x, y = torch.randn(2, N, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x.requires_grad_()
    with workers(1), CountedSorts() as counted:  # float64: sorted by torch, in this thread
        distance(x, y).backward()
    expected = counted.values / N
    if getattr(distance.slice_cost, "lines", None):  # rows of a tree have the root besides both sides
        expected *= 2 * N / (2 * N + 1)
    assert distance.sorts_per_call == pytest.approx(expected)
