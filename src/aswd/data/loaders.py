"""A loader whose batches are a function of their number alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any


class StepLoader:
    """Batches ``batch(start), batch(start + 1), ...`` in epochs of ``length``.

    A batch depends on its number and on nothing else, so that a run that resumes with the right number has the right batches. Each pass
    continues where the previous one stopped, up to the end of its epoch.

    Args:
        batch: gives the batch of a number, counted from 0 over all epochs.
        length: batches per epoch; ``None`` for a single epoch without end.
        start: number of the first batch.

    >>> loader = StepLoader(lambda number: 10 * number, length=3, start=1)
    >>> list(loader), list(loader), len(loader)
    ([10, 20], [30, 40, 50], 3)
    """

    def __init__(self, batch: Callable[[int], Any], length: int | None = None, start: int = 0) -> None:
        self.batch, self.length, self.position = batch, length, start

    def __len__(self) -> int:
        if self.length is None:
            raise TypeError("this loader has no end and no length")
        return self.length

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        end = None if self.length is None else (self.position // self.length + 1) * self.length
        for number in itertools.count(self.position):
            if number == end:
                return
            self.position = number + 1
            yield self.batch(number)
