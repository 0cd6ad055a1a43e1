"""Time of small pieces of code, alternatives side by side."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping


def time_rounds(
    alternatives: Mapping[str, Callable[[], object]],
    rounds: int,
    budget: float = 60.0,
    burst: float = 0.3,
    on_round: Callable[[], object] = lambda: None,
) -> dict[str, list[float]]:
    """Measure the seconds that each alternative takes in every round.

    The alternatives take turns, so that a slow spell of the machine affects all of them. At its turn each is called repeatedly, as in a
    training loop, for about ``burst`` seconds, at least once. An alternative that would take more than ``budget`` seconds for all rounds
    is run as often as fits, at least three times.

    Args:
        alternatives: functions to time, by name.
        rounds: number of rounds.
        budget: seconds per alternative for all rounds.
        burst: seconds of repeated calls per round.
        on_round: called after every round.

    Returns:
        Seconds per call in every round, by name.
    """
    times: dict[str, list[float]] = {name: [] for name in alternatives}
    calls = {}
    for name, run in alternatives.items():
        run()  # the first call sets things up
        start = time.perf_counter()
        run()
        calls[name] = max(1, math.ceil(burst / (time.perf_counter() - start)))
    gc.collect()
    for turn in range(rounds):
        for name, run in alternatives.items():
            if turn >= 3 and statistics.mean(times[name]) * calls[name] * rounds > budget:
                continue
            start = time.perf_counter()
            for _ in range(calls[name]):
                run()
            times[name].append((time.perf_counter() - start) / calls[name])
        on_round()
    return times
