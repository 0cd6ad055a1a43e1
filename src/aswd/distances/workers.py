"""Threads for the work of the distances on a CPU.

A distance splits its work into chunks whose number and size do not depend on the number of threads, and sums their results in a fixed
order, so that any number of threads gives the same bits. Torch uses one thread: parallel chunks are faster than many parallel operations on
small tensors, and torch's own threads, once started, keep their cores busy for a while. Default: as many threads as torch uses.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import torch

from aswd.utils.checks import check_at_least

Item, Result = TypeVar("Item"), TypeVar("Result")

_given: int | None = None


class _Here(threading.local):
    """What is set for a thread."""

    count: int | None = None  # of threads, inside of :func:`one_torch_thread`, where torch does not say it
    busy: bool = False  # at work on a chunk, which starts no threads of its own


_here = _Here()


def worker_count() -> int:
    """Number of threads for the chunks of a distance."""
    if _here.busy:
        return 1
    if _given is not None:
        return _given
    return torch.get_num_threads() if _here.count is None else _here.count


@contextmanager
def workers(count: int | None) -> Iterator[None]:
    """Context with ``count`` threads; ``None``: as many as torch uses."""
    global _given
    if count is not None:
        check_at_least("count", count, 1, whole=True)
    former, _given = _given, count
    try:
        yield
    finally:
        _given = former


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Context in which torch uses one thread, and chunks as many as before.

    For small tensors torch's own threads cost more than they gain, and sums in several threads have other bits than in one. Other threads
    of the process are not affected, where torch was built with OpenMP and MKL.
    """
    threads = torch.get_num_threads()
    if threads == 1 or _here.count is not None:
        yield
        return
    _here.count = threads
    restore = _use_one_thread(threads)
    try:
        yield
    finally:
        restore()
        _here.count = None


def _use_one_thread(threads: int) -> Callable[[], None]:
    """Have torch use one thread in this thread; returns what undoes it."""
    setters = _thread_setters()
    if setters is None:
        torch.set_num_threads(1)
        return lambda: torch.set_num_threads(threads)
    openmp, mkl = setters
    openmp(1)
    former = mkl(1)

    def restore() -> None:
        openmp(threads)
        mkl(former)

    return restore


@lru_cache(maxsize=1)
def _thread_setters() -> tuple[Callable[[int], object], Callable[[int], int]] | None:
    """OpenMP's and MKL's settings of the calling thread alone, or ``None`` where torch has others.

    ``torch.set_num_threads`` is also what threads that start meanwhile begin with.
    """
    try:
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
        return library.omp_set_num_threads, library.MKL_Set_Num_Threads_Local
    except (OSError, AttributeError):
        return None


def threads_for(samples: object) -> AbstractContextManager:
    """Context for an evaluation with these samples, in which torch uses one thread, if they are on a CPU."""
    is_here = isinstance(samples, torch.Tensor) and samples.device.type == "cpu" and samples.ndim
    return one_torch_thread() if is_here else nullcontext()


def map_chunks(function: Callable[[Item], Result], chunks: Iterable[Item], device: torch.device) -> list[Result]:
    """``[function(chunk) for chunk in chunks]`` without gradients, on a CPU in several threads, of which this is one."""
    chunks = list(chunks)
    count = min(worker_count(), len(chunks)) if device.type == "cpu" else 1
    if count <= 1:
        with torch.no_grad():
            return [function(chunk) for chunk in chunks]
    results: list = [None] * len(chunks)
    waiting = deque(enumerate(chunks))

    def work() -> None:
        _here.busy = True
        try:
            with torch.no_grad():
                while waiting:
                    try:
                        position, chunk = waiting.popleft()
                    except IndexError:  # another thread was faster
                        return
                    results[position] = function(chunk)
        finally:
            _here.busy = False

    with one_torch_thread():
        others = []
        with suppress(RuntimeError):  # while the interpreter exits, this thread is the only one
            for _ in range(count - 1):
                others.append(_pool(count - 1, os.getpid()).submit(work))
        try:
            work()
        finally:
            waiting.clear()  # after a failure nothing more is begun
            failures = [other.exception() for other in others]
    for failure in failures:
        if failure is not None:
            raise failure
    return results


@lru_cache(maxsize=4)
def _pool(count: int, pid: int) -> ThreadPoolExecutor:
    """Threads beside this one; the process is part of the key because threads do not survive a fork.

    Torch's number of threads is a setting per thread: every thread of the pool sets it to one.
    """
    before = torch.get_num_threads()

    def begin() -> None:
        torch.get_num_threads()  # sets it to that of the process, as the first operation would do later
        _use_one_thread(before)

    pool = ThreadPoolExecutor(count, "aswd", initializer=begin)
    together = threading.Barrier(count)
    list(pool.map(lambda _: together.wait(), range(count)))
    if _thread_setters() is None:
        torch.set_num_threads(before)  # of the process
    return pool
