"""A process of the pool: takes runs over a pipe and says what came of them, until the pipe is closed."""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from queue import SimpleQueue

from aswd.config.run import RunConfig
from aswd.runs.execution import Outcome, execute_run
from aswd.runs.signals import StopRequest


def main() -> None:
    """Serve the pipe whose number is the first argument."""
    connection, request, runs = Connection(int(sys.argv[1])), StopRequest(), SimpleQueue()
    threading.Thread(target=_listen, args=(connection, request, runs), daemon=True).start()
    with request.listening():
        while (spec := runs.get()) is not None:
            ended = [] if request.number is not None else _executed(spec, request)
            try:
                connection.send(ended)
            except OSError:  # nobody listens any more
                return


def _listen(connection: Connection, request: StopRequest, runs: SimpleQueue) -> None:
    """Take runs, and requests to stop. When the one who started this process dies, that is one too: no run goes on for nobody."""
    while True:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            message = int(signal.SIGTERM)
        if isinstance(message, int):
            request.number = message
            runs.put(None)
            return
        runs.put(message)


def _executed(spec: RunConfig, request: StopRequest) -> list[Outcome]:
    """What came of a run; whatever happens, something can be said about it."""
    try:
        return execute_run(spec, request)
    except Exception as error:
        traceback.print_exc()
        return [Outcome("failed", spec.run(seed), f"{type(error).__name__}: {error}") for seed in spec.seeds]


if __name__ == "__main__":
    main()
