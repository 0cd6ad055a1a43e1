"""Number of threads for work outside of torch: numpy's sort, and the assignment solver.

Default: as many as torch uses. They can be set separately: for small tensors torch's threads cost more than they gain (on two shared
cores an ASWD step at N = 500, L = 1000 took 380 ms with two of them and 136 ms with one), while sorting blocks of rows in parallel is
still faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

_given: int | None = None


def worker_count() -> int:
    """Number of threads for work outside of torch."""
    return torch.get_num_threads() if _given is None else _given


@contextmanager
def workers(count: int | None) -> Iterator[None]:
    """Context with ``count`` threads; ``None``: as many as torch uses."""
    global _given
    former, _given = _given, count
    try:
        yield
    finally:
        _given = former
