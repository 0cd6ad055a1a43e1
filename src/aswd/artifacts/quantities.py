"""What a metric of an artifact is made of: a recorded metric, its square or logarithm, at the end of a run or at a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Quantity:
    """A number of every run.

    Args:
        metric: that runs record, such as ``w2``.
        squared: its square.
        log10: the logarithm.
        step: at which it is taken; default: the last.
    """

    metric: str
    squared: bool = False
    log10: bool = False
    step: int | None = None

    @classmethod
    def of(cls, name: str) -> Quantity:
        """The quantity of a name.

        >>> Quantity.of("log10_w2_squared@500")
        Quantity(metric='w2', squared=True, log10=True, step=500)
        """
        name, _, step = name.partition("@")
        metric = name.removeprefix("log10_").removesuffix("_squared")
        return cls(metric, name.endswith("_squared"), name.startswith("log10_"), int(step) if step else None)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """The quantity from values of the metric."""
        values = np.square(values) if self.squared else np.asarray(values, dtype=float)
        return np.log10(np.maximum(values, np.finfo(float).tiny)) if self.log10 else values
