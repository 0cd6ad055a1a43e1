"""How many threads the work outside of torch takes: numpy's sort, and the assignment solver.

By default as many as torch has. The two can be set apart: where tensors are small, torch's own threads cost more than they bring (on two
shared cores an ASWD step at N = 500, L = 1000 took 380 ms with two of them and 136 ms with one), while sorting blocks of rows side by side
still pays.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

_given: int | None = None


def worker_count() -> int:
    """Threads for work outside of torch."""
    return torch.get_num_threads() if _given is None else _given


@contextmanager
def workers(count: int | None) -> Iterator[None]:
    """Use ``count`` threads inside; ``None``: as many as torch has."""
    global _given
    former, _given = _given, count
    try:
        yield
    finally:
        _given = former
