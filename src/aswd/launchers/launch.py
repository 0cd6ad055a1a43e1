"""The one place where many checked runs are carried out, whatever the launcher."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tqdm import tqdm

from aswd.config.run import RunConfig
from aswd.data.fetch import prepare
from aswd.launchers.pool import execute_in_pool
from aswd.launchers.slurm import check_slurm, execute_on_slurm
from aswd.launchers.sweep import SweepRecord
from aswd.runs import RunState
from aswd.runs.execution import Outcome, execute_run
from aswd.runs.signals import StopRequest
from aswd.utils.errors import UserError

OnOutcome = Callable[[int, list[Outcome]], None]


def _prepare_data(specs: list[RunConfig]) -> None:
    """Have the data of all that is still to be run, or refuse, before anything is run."""
    due = (spec for spec in specs if spec.force or any(spec.run(seed).state is not RunState.DONE for seed in spec.seeds))
    for settings in {repr(spec.data): spec.data for spec in due}.values():
        prepare(settings)


def launch(specs: list[RunConfig], request: StopRequest, on_outcome: OnOutcome) -> list[Outcome]:
    """Carry out ``specs`` with the launcher that they name.

    Args:
        specs: checked; all with the same launcher.
        request: when it asks to stop, runs under way save where they stand and others are not started.
        on_outcome: told the place in ``specs`` and what came of its seeds, in the order in which that is known.

    Returns:
        What came of all seeds that were started, in the order of ``specs``.

    Raises:
        UserError: the launcher cannot work here.
    """
    if not specs:
        return []
    settings = specs[0].launcher
    if any(spec.launcher != settings for spec in specs):
        raise UserError("launcher must be the same for all runs of a sweep")
    if settings.name == "slurm":
        check_slurm()
    _prepare_data(specs)
    ended: dict[int, list[Outcome]] = {}
    record = SweepRecord(specs) if len(specs) > 1 or settings.name != "local" else None
    with tqdm(
        total=len(specs),
        desc=settings.name,
        unit="run",
        leave=False,
        disable=record is None or not specs[0].trainer.progress or settings.name == "local" or not sys.stderr.isatty(),
    ) as bar:

        def tell(place: int, outcomes: list[Outcome]) -> None:
            ended[place] = outcomes
            with bar.external_write_mode():
                on_outcome(place, outcomes)
            bar.update(not bar.disable)

        try:
            with request.listening():
                if settings.name == "pool":
                    execute_in_pool(specs, settings, request, tell, record)
                elif settings.name == "slurm":
                    execute_on_slurm(specs, settings, request, tell, record)
                else:
                    _execute_in_turn(specs, request, tell)
        finally:
            if record is not None:
                record.close()
    return [outcome for place in sorted(ended) for outcome in ended[place]]


def _execute_in_turn(specs: list[RunConfig], request: StopRequest, tell: OnOutcome) -> None:
    for place, spec in enumerate(specs):
        if request.number is not None:
            break
        tell(place, execute_run(spec, request))
