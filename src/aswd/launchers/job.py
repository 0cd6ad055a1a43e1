"""What a job of a batch system does on its node."""

from __future__ import annotations

from signal import Signals
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aswd.config.run import RunConfig


class Job:
    """What a job does on its node: execute its runs, one after the other; subclasses know how a job is requeued.

    Args:
        runs: to execute.
        requeues: how often the job may be requeued.
    """

    warning: Signals | None = None  # which the batch system sends before the time limit

    def __init__(self, runs: list[RunConfig], requeues: int) -> None:
        self.runs, self.requeues = runs, requeues

    def __call__(self) -> list[str]:
        """Execute the runs; at the time limit, save a checkpoint and requeue the job, which then skips what is done."""
        from aswd.runs.execution import execute_run  # here: the module of a launcher is imported to check a configuration
        from aswd.runs.signals import StopRequest

        request, lines = StopRequest(self.warning), []
        with request.listening():
            for run in self.runs:
                if request.number is None:
                    lines += [f"{outcome.run.folder}: {outcome.status} {outcome.text}" for outcome in execute_run(run, request)]
            if request.number is not None and request.number == self.warning and self.count_restarts() < self.requeues:
                self.requeue()
        print(*lines, sep="\n", flush=True)
        return lines

    def count_restarts(self) -> int:
        """How often this job was requeued; called on its node. Default: never."""
        return 0

    def requeue(self) -> None:
        """Put this job back into the queue; called on its node. Default: leave that to the next start of the command."""
