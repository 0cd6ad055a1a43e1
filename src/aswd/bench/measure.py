"""Time and memory of small pieces of code, alternatives side by side."""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aswd.utils.progress import progress_bar
from aswd.utils.timing import time_rounds


def interleaved_medians(
    alternatives: Mapping[str, Callable[[], object]], rounds: int, budget: float = 60.0, on_round: Callable[[], None] = lambda: None
) -> dict[str, tuple[float, int]]:
    """Median seconds of each alternative and the number of rounds that it is of: see :func:`aswd.utils.timing.time_rounds`."""
    times = time_rounds(alternatives, rounds, budget, on_round=on_round)
    return {name: (statistics.median(values), len(values)) for name, values in times.items()}


def chosen(cases: Iterable[Any], only: str | None) -> list[Any]:
    """The cases whose title has all words of ``only``: ``L=10`` is not ``L=100``."""
    return [case for case in cases if only is None or set(only.split()) <= set(case.title.replace(",", "").split())]


def timed(
    cases: Iterable[Any], rounds: int, only: str | None, measure: Callable[[Any], Sequence[float]]
) -> Iterator[tuple[Any, list[Sequence[float]], list[float]]]:
    """Each of the :func:`chosen` cases, with what ``measure`` found in every round, and the medians; with a progress bar."""
    taken = chosen(cases, only)
    with progress_bar(total=len(taken) * rounds, unit="round") as bar:
        for case in taken:
            bar.set_description(case.title)
            times = []
            for _ in range(rounds):
                times.append(measure(case))
                bar.update()
            yield case, times, [statistics.median(column) for column in zip(*times, strict=True)]


def gain_of_two_processes(make: Callable[..., Callable[[], object]], *args: object, seconds: float = 1.5) -> float:
    """How many times the calls of one process two processes make in the same time, each calling ``make(*args)`` repeatedly.

    More than that two threads cannot gain: it is less than two where cores share memory, caches or clock rate.
    """
    context = multiprocessing.get_context("spawn")
    with context.Pool(2, _keep_meeting, (context.Barrier(2),)) as pool:
        alone = pool.apply(_median_seconds, (make, args, seconds, False))
        both = pool.starmap(_median_seconds, [(make, args, seconds, True)] * 2, chunksize=1)
    return 2 * alone / statistics.mean(both)


def _keep_meeting(meeting: Any) -> None:
    """Keep what the processes of a pool wait for each other at."""
    _keep_meeting.point = meeting


def _median_seconds(make: Callable[..., Callable[[], object]], args: tuple, seconds: float, meets: bool) -> float:
    call = make(*args)
    for _ in range(2):
        call()
    if meets:
        _keep_meeting.point.wait()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak_memory(run: Callable[..., object], *args: object) -> int:
    """Bytes by which ``run(*args)`` raises the peak of a fresh process above what importing and a small call take."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_peak_of, (run, args))


def _peak_of(run: Callable[..., object], args: tuple) -> int:
    run(*args, small=True)
    before = _high_water()
    run(*args, small=False)
    return _high_water() - before


def _high_water() -> int:
    """Most bytes that this process ever had in memory."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says on Linux includes the parent before the fork
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
