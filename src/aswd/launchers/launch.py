"""The one entry point for executing many checked runs, whatever the launcher."""

from __future__ import annotations

from aswd.config.run import RunConfig
from aswd.launchers.base import OnResult
from aswd.launchers.registry import LAUNCHERS
from aswd.runs.execution import RunResult
from aswd.runs.signals import StopRequest
from aswd.utils.errors import UserError


def launch(runs: list[RunConfig], request: StopRequest, on_result: OnResult) -> list[RunResult]:
    """Execute ``runs`` with the launcher that they name.

    Args:
        runs: checked configurations, all with the same launcher.
        request: when it is set, runs in progress save a checkpoint and others are not started.
        on_result: called with the index of a run and the outcomes of its seeds, as soon as they are known.

    Returns:
        The outcomes of all seeds that were started, in the order of ``runs``.

    Raises:
        UserError: the launcher cannot work here, differs between runs, or data are missing.
    """
    if not runs:
        return []
    config = runs[0].launcher
    if any(run.launcher != config for run in runs):
        raise UserError("launcher must be the same for all runs of a sweep")
    return LAUNCHERS.target(config.name)(config).launch(runs, request, on_result)
