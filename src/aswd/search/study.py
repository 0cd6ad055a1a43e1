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
from aswd.config.run import PathConfig, RunConfig
from aswd.runs import RunState
from aswd.runs.execution import execute_run
from aswd.runs.headline import shown_headline
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
    """What a command asks for.

    Args:
        overrides: of every run.
        axes: what is searched over.
        seeds: of every trial, as one batch where the task can.
        seed: of the search.
        output_dir: of the store, and of the study in ``search/`` there.
    """

    overrides: tuple[str, ...]
    axes: tuple[Axis, ...]
    seeds: int
    seed: int
    output_dir: Path

    def spec(self, values: dict[str, str]) -> RunConfig:
        """The run of a trial; its pictures are looked at by nobody."""
        (spec,) = plan_runs(CommandLine(self.arguments(values)))
        task = replace(spec.task, pictures=False) if hasattr(spec.task, "pictures") else spec.task
        return replace(spec, task=task, paths=PathConfig(str(self.output_dir)))

    def arguments(self, values: dict[str, str]) -> list[str]:
        """As ``aswd train`` would be told."""
        return [*self.overrides, *(f"{option}={value}" for option, value in values.items()), f"replicas={self.seeds}"]

    def check(self) -> RunConfig:
        """Try every axis at its ends before any work; one of the runs.

        Raises:
            UserError: an option that does not exist, or a value that it does not take.
        """
        given = {override.partition("=")[0].lstrip("+~") for override in self.overrides}
        options = [axis.option for axis in self.axes]
        for option in options:
            if option in given or options.count(option) > 1:
                raise UserError(f"{option} must be given once: as an override or with --over")
            if option in ("seed", "replicas", "force") or option.split(".")[0] in ("trainer", "logger", "paths", "launcher"):
                raise UserError(f"--over must name an option that changes the numbers of a run; got {option!r}")
        for option in given & {"replicas", "force"}:
            raise UserError(f"{option} must be left out: --seeds says how many seeds a trial has, and what is done is not run again")
        if "paths.output_dir" in given:
            raise UserError("paths.output_dir must be left out: --output-dir says where the store and the search are")
        first = {axis.option: axis.extremes[0] for axis in self.axes}
        specs = [self.spec({**first, axis.option: value}) for axis in self.axes for value in axis.extremes]
        return specs[0]

    def folder(self, spec: RunConfig) -> Path:
        """One for everything that changes the search, but for the number of its trials."""
        asked = [sorted(self.overrides), sorted(map(repr, self.axes)), self.seeds, self.seed]
        mark = hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:8]
        return self.output_dir / "search" / f"{spec.task.name}-{spec.data.name}-{spec.distance_name}-{mark}"


def search(overrides: list[str], over: list[str], trials: int, seeds: int, seed: int, output_dir: Path) -> int:
    """Search, or go on with a search; the exit code is 0, 1 where no trial came to a value, 128 + n where it was stopped by signal n.

    Raises:
        UserError: a mistake in the options; Optuna is not installed; another process is at this search.
    """
    if not over:
        raise UserError("--over OPTION=VALUES must say what is searched over, for example --over 'distance.penalty=log(0.01,1)'")
    asked = Search(tuple(overrides), tuple(parse(text) for text in over), seeds, seed, output_dir)
    optuna = _optuna()
    folder = asked.folder(asked.check())
    check_writable(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    locks = Locks()
    if not locks.acquire(folder / "lock"):
        raise UserError(f"another process is at this search (its lock is {folder / 'lock'}): wait for it, or give another --search-seed")
    try:
        # SQLite, not Optuna's journal: a kill in the middle of a write leaves the former as it was before.
        study = optuna.create_study(storage=f"sqlite:///{(folder / 'study.db').absolute()}", study_name="aswd", load_if_exists=True)
        code = _go_on(study, asked, trials)
        return summary.show(study, asked, folder) or code if code < 128 else code
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


def _go_on(study: Study, asked: Search, trials: int) -> int:
    request = StopRequest()
    ended = len(summary.ended(study))
    if ended:
        print(f"{ended} of {trials} trials are done; {max(trials - ended, 0)} to go", flush=True)
    for number in range(ended, trials):
        trial = _next_trial(study, asked.seed, number)
        values = {axis.option: axis.suggest(trial) for axis in asked.axes}
        trial.set_user_attr("values", values)
        spec = asked.spec(values)
        trial.set_user_attr("folder", str(spec.folder.relative_to(asked.output_dir)))
        said = " ".join(f"{option}={value}" for option, value in values.items())
        with request.listening():
            outcomes = execute_run(spec, request)
        if any(one.word == "interrupted" for one in outcomes):
            print(f"[{number + 1}/{trials}] {said}: stopped as asked; the same command goes on from the checkpoint", file=sys.stderr)
            return 128 + request.number
        failed = [one for one in outcomes if one.run.state is not RunState.DONE]
        if failed:
            reason = failed[0].text or failed[0].word
            trial.set_user_attr("reason", reason)
            study.tell(trial, state=_states().FAIL)
            print(f"[{number + 1}/{trials}] {said}: {len(failed)} of {len(outcomes)} seeds failed, {reason}", flush=True)
        else:
            name, _ = shown_headline(outcomes[0].run.result)
            finals = [shown_headline(one.run.result)[1] for one in outcomes]
            study.set_user_attr("value", name)
            trial.set_user_attr("finals", finals)
            study.tell(trial, float(np.mean(finals)))
            print(f"[{number + 1}/{trials}] {said}: {name} {np.mean(finals):.4g}", flush=True)
        if request.number is not None:
            print("stopped as asked; the same command goes on", file=sys.stderr)
            return 128 + request.number
    return 0


def _next_trial(study: Study, seed: int, number: int) -> Trial:
    """The trial that was cut off, with the values that it had, or a new one.

    What the sampler draws is a function of the seed and the trials before: a search that was killed goes on as it would have.
    """
    from optuna.samplers import TPESampler
    from optuna.trial import Trial

    study.sampler = TPESampler(seed=int(np.random.default_rng([seed, number]).integers(2**31)))
    running = study.get_trials(deepcopy=False, states=[_states().RUNNING])
    return Trial(study, running[0]._trial_id) if running else study.ask()


def _states():
    from optuna.trial import TrialState

    return TrialState
