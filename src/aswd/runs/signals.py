"""Ctrl-C and SIGTERM as a request: finish the step, save, leave; and SIGTERM as an order where that takes too long."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACE = 5.0  # seconds after SIGTERM in which a run must reach the end of a step
SAVING = 60.0  # further seconds in which it may save


class Interrupted(Exception):
    """A signal stopped the run, which has saved a checkpoint."""

    def __init__(self, number: int, step: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name} after step {step}")
        self.number, self.step = number, step

    def __reduce__(self) -> tuple:
        return type(self), (self.number, self.step)


class StopRequest:
    """Whether a signal requests this process to stop, and which; a second Ctrl-C stops it at once.

    One serves all runs of a call: a request that comes while a run writes its record is kept for the runs after it. After a SIGTERM that
    is not answered within :data:`GRACE` seconds, by a step or a check, the process exits: data sets, evaluations and figures may take
    minutes in which no handler of Python's runs. What is on the disk then is what a kill leaves, and the same command resumes.

    Args:
        also: a further signal that asks to stop, such as that of a cluster before a job's time is over.
    """

    def __init__(self, also: signal.Signals | None = None) -> None:
        self._values: Any = [0, 0]  # the signal, and whether it was answered; shared where other processes are to see it
        self._listens = True
        self._signals = SIGNALS if also is None else (*SIGNALS, also)
        self._wake: int | None = None  # a pipe to the thread that watches

    @property
    def number(self) -> int | None:
        """The signal; ``None`` where there was none."""
        return self._values[0] or None

    @number.setter
    def number(self, number: int | None) -> None:
        self._values[0] = number or 0
        if self._wake is not None:
            with suppress(OSError):
                os.write(self._wake, b"\0")

    def answer(self) -> None:
        """Say that the request was seen, and that saving may take a while."""
        self._values[1] = 1

    def share(self) -> None:
        """Let processes that are spawned with this object see the request; they do not listen to signals themselves."""
        if isinstance(self._values, list):
            self._values = multiprocessing.get_context("spawn").Array("i", self._values, lock=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_listens": False, "_wake": None}

    @contextmanager
    def listening(self) -> Iterator[StopRequest]:
        """Take note of signals instead of dying from them; only the main thread of a process can."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        former = {number: signal.getsignal(number) for number in self._signals}
        with self._watched():
            try:
                self.take_over()
                yield self
            finally:
                for number, handler in former.items():
                    signal.signal(number, handler)

    def take_over(self) -> None:
        """Handle the signals, also where Lightning, which would exit without a checkpoint, has installed its own handlers."""
        if self._listens and threading.current_thread() is threading.main_thread():
            for number in self._signals:
                signal.signal(number, self._note)

    def _note(self, number: int, frame: object) -> None:
        if self.number is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.number = number

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Watch from a thread, which hears of signals while the main thread is in a call that runs no handlers."""
        if self._wake is not None:  # the caller watches
            yield
            return
        end, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        wakeup, closed = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False), threading.Event()
        thread = threading.Thread(target=self._watch, args=(end, closed), name="aswd-signals", daemon=True)
        thread.start()
        try:
            yield
        finally:
            closed.set()
            signal.set_wakeup_fd(wakeup)
            wake, self._wake = self._wake, None
            os.close(wake)  # wakes the thread, for good
            thread.join()
            os.close(end)

    def _watch(self, pipe: int, closed: threading.Event) -> None:
        deadline = None
        while not closed.is_set():
            ready, _, _ = select.select([pipe], [], [], None if deadline is None else 0.1)
            signals = os.read(pipe, 64) if ready else b""
            if deadline is None and (signal.SIGTERM in signals or self.number == signal.SIGTERM):
                deadline = time.monotonic() + GRACE
            if deadline is not None and time.monotonic() > deadline + SAVING * self._values[1] and not closed.is_set():
                print(f"aswd: SIGTERM was not answered within {GRACE:g} s: stopped at once; the same command resumes", file=sys.stderr)
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(128 + signal.SIGTERM)
