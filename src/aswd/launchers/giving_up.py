"""Runs whose process or job died once too often."""

from __future__ import annotations

from aswd.config.run import RunConfig
from aswd.runs.execution import Outcome
from aswd.runs.locks import Locks
from aswd.runs.store import RunState


def mark_failed(spec: RunConfig, reason: str) -> list[Outcome]:
    """Write down that the process of a run died, for the seeds that are not done, unless another process has taken them over."""
    outcomes = []
    for seed in spec.seeds:
        run, locks = spec.run(seed), Locks()
        try:
            if not locks.acquire(run.lock):
                outcomes.append(Outcome("running", run))
            elif run.status is not None and run.status["status"] == RunState.DONE:
                outcomes.append(Outcome("done", run))
            else:
                outcomes.append(Outcome("failed", run, reason))
                run.fail(reason, reason + "\n", None)
        except OSError as error:
            outcomes.append(Outcome("failed", run, f"{reason} ({error.strerror})"))
        finally:
            locks.release()
    return outcomes
