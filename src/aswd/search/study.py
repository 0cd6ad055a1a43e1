"""The search itself: trials by Optuna, runs by the store."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aswd.config.composition import CommandLine, plan_runs
from aswd.config.memory import check_memory
from aswd.config.run import RunConfig
from aswd.runs import RunState
from aswd.runs.execution import execute_run
from aswd.runs.locks import Locks
from aswd.runs.signals import StopRequest
from aswd.search import summary
from aswd.search.space import Axis, parse
from aswd.utils.errors import UserError
from aswd.utils.files import check_writable

if TYPE_CHECKING:
    from optuna import Study, Trial


@dataclass(frozen=True)
class Search:
    """What is searched.

    Args:
        line: overrides of every run, and folders of configurations.
        axes: the options that are searched over.
        seeds: per trial, as one batch where the task can.
        seed: of the search.
        output_dir: of the store, and of the study in ``search/`` there.
    """

    line: CommandLine
    axes: tuple[Axis, ...]
    seeds: int
    seed: int
    output_dir: Path

    def run_config(self, values: dict[str, str]) -> RunConfig:
        """The run of a trial, without images."""
        (run,) = plan_runs(replace(self.line, overrides=self.arguments(values)))
        return replace(run, task=replace(run.task, images=False)) if hasattr(run.task, "images") else run

    def arguments(self, values: dict[str, str]) -> list[str]:
        """The overrides of a trial, as ``aswd train`` takes them."""
        return [*self.line.overrides, *(f"{option}={value}" for option, value in values.items()), f"replicas={self.seeds}"]

    def check(self) -> RunConfig:
        """Compose both ends of every axis before any work; returns one of the runs.

        Raises:
            UserError: an option that does not exist, or a value that it does not take.
        """
        given = {override.partition("=")[0].lstrip("+~") for override in self.line.overrides}
        options = [axis.option for axis in self.axes]
        for option in options:
            if option in given or options.count(option) > 1:
                raise UserError(f"{option} must be given once: as an override or with --over")
            if option in ("seed", "replicas", "force"):
                raise UserError(f"--over must name an option that changes the numbers of a run; got {option!r}")
        for option in given & {"replicas", "force"}:
            raise UserError(f"{option} must be left out: --seeds is the number of seeds per trial, and finished trials are not run again")
        first = {axis.option: axis.extremes[0] for axis in self.axes}
        for axis in self.axes:
            runs = [self.run_config({**first, axis.option: value}) for value in axis.extremes]
            if len({run.key for run in runs}) == 1:
                raise UserError(f"--over must name an option that changes the numbers of a run; got {axis.option!r}")
            for run in runs:
                check_memory(run)
        return runs[0]

    def folder(self, run: RunConfig) -> Path:
        """One per search: whatever changes it but the number of its trials."""
        neutral = ("paths.", "logger", "launcher")
        overrides = sorted(override for override in self.line.overrides if not override.lstrip("+~").startswith(neutral))
        content = [overrides, sorted(map(repr, self.axes)), self.seeds, self.seed]
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:8]
        return self.output_dir / "search" / f"{run.task.name}-{run.data.name}-{run.distance_name}-{digest}"


def search(line: CommandLine, over: list[str], trials: int, seeds: int, seed: int, output_dir: Path) -> int:
    """Start or resume a search; the exit code is 0, 1 if no trial was successful, 128 + n if it was stopped by signal n.

    Raises:
        UserError: a mistake in the options; Optuna is not installed; another process runs this search.
    """
    if not over:
        raise UserError("--over OPTION=VALUES must say what is searched over, for example --over 'distance.penalty=log(0.01,1)'")
    parameters = Search(line, tuple(parse(text) for text in over), seeds, seed, output_dir)
    optuna = _optuna()
    folder = parameters.folder(parameters.check())
    check_writable(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    locks = Locks()
    if not locks.acquire(folder / "lock"):
        raise UserError(f"this search is running in another process (lock: {folder / 'lock'}): wait, or give another --search-seed")
    try:
        # SQLite, not Optuna's journal: a kill in the middle of a write leaves the former as it was before.
        study = optuna.create_study(storage=f"sqlite:///{(folder / 'study.db').absolute()}", study_name="aswd", load_if_exists=True)
        code = _optimize(study, parameters, trials)
        return summary.show(study, parameters, folder) or code if code < 128 else code
    finally:
        locks.release()


def _optuna():
    try:
        import optuna
        import sqlalchemy  # noqa: F401
    except ImportError as error:
        raise UserError(f"the search needs Optuna ({error}): pip install 'aswd[search]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _optimize(study: Study, search: Search, trials: int) -> int:
    request = StopRequest()
    ended = len(summary.ended(study))
    if ended:
        print(f"{ended} of {trials} trials are done; {max(trials - ended, 0)} to go", flush=True)
    for number in range(ended, trials):
        trial = _next_trial(study, search.seed, number)
        values = {axis.option: axis.suggest(trial) for axis in search.axes}
        trial.set_user_attr("values", values)
        run = search.run_config(values)
        trial.set_user_attr("folder", str(run.folder.relative_to(search.output_dir)))
        title = f"[{number + 1}/{trials}] " + " ".join(f"{option}={value}" for option, value in values.items())
        with request.listening():
            results = execute_run(run, request)
        if any(result.status == "interrupted" for result in results):
            print(f"{title}: stopped; the same command resumes from the checkpoint", file=sys.stderr)
            return 128 + request.number
        failed = [result for result in results if result.run.state is not RunState.DONE]
        if failed:
            reason = failed[0].text or failed[0].status
            trial.set_user_attr("reason", reason)
            study.tell(trial, state=_states().FAIL)
            print(f"{title}: {len(failed)} of {len(results)} seeds failed, {reason}", flush=True)
        else:
            name = results[0].run.headline[0]
            finals = [result.run.headline[1] for result in results]
            study.set_user_attr("value", name)
            trial.set_user_attr("finals", finals)
            study.tell(trial, float(np.mean(finals)))
            print(f"{title}: {name} {np.mean(finals):.4g}", flush=True)
        if request.number is not None:
            print("stopped; the same command resumes", file=sys.stderr)
            return 128 + request.number
    return 0


def _next_trial(study: Study, seed: int, number: int) -> Trial:
    """The trial that was interrupted, with its values, or a new one.

    What the sampler draws is a function of the seed and the trials before, so that a search that was killed resumes as it would have
    continued.
    """
    from optuna.samplers import TPESampler
    from optuna.trial import Trial

    study.sampler = TPESampler(seed=int(np.random.default_rng([seed, number]).integers(2**31)))
    running = study.get_trials(deepcopy=False, states=[_states().RUNNING])
    return Trial(study, running[0]._trial_id) if running else study.ask()


def _states():
    from optuna.trial import TrialState

    return TrialState
