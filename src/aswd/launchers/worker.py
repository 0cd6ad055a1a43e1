"""A worker process of the pool: receives runs over a pipe and returns their outcomes, until the pipe is closed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from queue import SimpleQueue

from aswd.utils.start_up import large_imports

with large_imports():
    from aswd.config.run import RunConfig
    from aswd.runs.execution import RunResult, execute_run
    from aswd.runs.signals import StopRequest
    from aswd.runs.store import Run


def main() -> None:
    """Serve the pipe whose file descriptor is the first argument."""
    connection, request, runs = Connection(int(sys.argv[1])), StopRequest(), SimpleQueue()
    threading.Thread(target=_receive, args=(connection, request, runs), daemon=True).start()
    with request.listening():
        while (run := runs.get()) is not None:
            outcomes = [] if request.number is not None else _execute(run, request)
            try:
                connection.send(outcomes)
            except OSError:  # the parent is dead
                return


def _receive(connection: Connection, request: StopRequest, runs: SimpleQueue) -> None:
    """Receive runs and stop requests. The death of the parent process is a stop request too, so that no worker is left alone."""
    while True:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            message = int(signal.SIGTERM)
        except Exception:  # a run that cannot be rebuilt here, such as one whose plug-in is gone: the parent sees this process die
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        if isinstance(message, int):
            request.number = message
            runs.put(None)
            return
        runs.put(message)


def _execute(run: RunConfig, request: StopRequest) -> list[RunResult]:
    """The outcomes of a run; an unexpected error is a failure of all its seeds."""
    try:
        return execute_run(run, request)
    except Exception as error:
        traceback.print_exc()
        return [RunResult("failed", Run.of(run, seed), f"{type(error).__name__}: {error}") for seed in run.seeds]


if __name__ == "__main__":
    main()
