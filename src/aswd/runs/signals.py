"""Ctrl-C and SIGTERM as a request: finish the step, save, leave."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(Exception):
    """A signal stopped the run, which has saved a checkpoint."""

    def __init__(self, number: int, step: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name} after step {step}")
        self.number, self.step = number, step

    def __reduce__(self) -> tuple:
        return type(self), (self.number, self.step)


class StopRequest:
    """Whether a signal requests this process to stop, and which; a second Ctrl-C stops it at once.

    One serves all runs of a call: a request that comes while a run writes its record is kept for the runs after it.

    Args:
        also: a further signal that asks to stop, such as that of a cluster before a job's time is over.
    """

    def __init__(self, also: signal.Signals | None = None) -> None:
        self._number = 0
        self._shared: Any = None  # instead, where other processes are to see it
        self._listens = True
        self._signals = SIGNALS if also is None else (*SIGNALS, also)

    @property
    def number(self) -> int | None:
        """The signal; ``None`` where there was none."""
        return (self._number if self._shared is None else self._shared.value) or None

    @number.setter
    def number(self, number: int | None) -> None:
        if self._shared is None:
            self._number = number or 0
        else:
            self._shared.value = number or 0

    def share(self) -> None:
        """Let processes that are spawned with this object see the request; they do not listen to signals themselves."""
        if self._shared is None:
            self._shared = multiprocessing.get_context("spawn").Value("i", self._number, lock=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_listens": False}

    @contextmanager
    def listening(self) -> Iterator[StopRequest]:
        """Take note of signals instead of dying from them; only the main thread of a process can."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        former = {number: signal.getsignal(number) for number in self._signals}
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
