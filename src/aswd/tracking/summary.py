"""The numbers that W&B shows of a run as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def summary(steps: Sequence[int], columns: dict[str, np.ndarray], headline: str | None) -> dict[str, Any]:
    """``last/<metric>`` and ``min/<metric>`` of every metric; of the headline, of which less is better, ``best/<headline>`` and where it
    was; ``time_per_iteration``, the median of what was measured. Values that were not taken (NaN) are passed over.

    >>> summary([1, 5], {"w2": np.array([2.0, 1.0])}, "w2")
    {'last/w2': 1.0, 'min/w2': 1.0, 'best/w2': 1.0, 'best/step': 5}
    """
    found: dict[str, Any] = {}
    for name, values in columns.items():
        taken = ~np.isnan(values)
        if not taken.any():
            continue
        found |= {f"last/{name}": float(values[taken][-1]), f"min/{name}": float(values[taken].min())}
        if name == headline:
            place = int(np.nanargmin(values))
            found |= {f"best/{name}": float(values[place]), "best/step": int(steps[place])}
        if name == "seconds_per_iteration":
            found["time_per_iteration"] = float(np.median(values[taken]))
    return found
