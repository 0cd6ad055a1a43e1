"""Time and memory of small pieces of code, alternatives side by side."""

from __future__ import annotations

import gc
import math
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping


def interleaved_medians(
    alternatives: Mapping[str, Callable[[], object]], rounds: int, budget: float = 60.0, on_round: Callable[[], None] = lambda: None
) -> dict[str, tuple[float, int]]:
    """Median seconds of each alternative and the number of rounds that it is of.

    The alternatives take turns, so that a slow spell of the machine meets all of them; at its turn each is called, as in a training
    loop, again and again until a tenth of a second is over. One that would take more than ``budget`` seconds for all rounds
    is run as often as fits, three times at least.
    """
    times: dict[str, list[float]] = {name: [] for name in alternatives}
    calls = {}
    for name, run in alternatives.items():
        run()  # the first call sets things up
        start = time.perf_counter()
        run()
        calls[name] = max(1, math.ceil(0.1 / (time.perf_counter() - start)))
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
    return {name: (statistics.median(values), len(values)) for name, values in times.items()}


def peak_memory(run: Callable[..., object], *args: object) -> int:
    """Bytes by which ``run(*args)`` raises the peak of a fresh process above what importing and a small call take."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_peak_of, (run, args))


def _peak_of(run: Callable[..., object], args: tuple) -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    run(*args, small=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(*args, small=False)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit
