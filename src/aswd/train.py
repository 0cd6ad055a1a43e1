"""``aswd train``, also as ``python -m aswd.train``: runs and sweeps from the command line, configured by Hydra."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from aswd.errors import UserError
from aswd.paths import check_writable

if TYPE_CHECKING:
    from aswd.configuration import RunSpec
    from aswd.training.run import Outcome
    from aswd.training.signals import StopRequest


def main(arguments: list[str] | None = None) -> int:
    """Run what the arguments ask for. The exit code is 0; 1 after a failure; 2 for a mistake in the arguments; 128 + n after signal n."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    arguments.sort(key=lambda one: not (one in ("-m", "--multirun") or (one.startswith("--") and "=" in one)))  # Hydra wants flags first
    try:
        from aswd.composition import asked, checked_plan, config_store_distances, hydra_main
        from aswd.training.signals import StopRequest

        config_store_distances()
        call = asked(arguments)
        if call is None:  # help, completion and the like are Hydra's own
            return hydra_main(arguments, _nothing)
        runs = checked_plan(call)
        for folder in {run.paths.output_dir for run in runs}:
            check_writable(folder)
        _prepare_data(runs)
        sweep = _Sweep(len(runs), StopRequest())
        with sweep.request.listening():
            code = hydra_main(arguments, sweep.job)
        return sweep.close() or code
    except UserError as error:
        print(f"aswd train: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("aswd train: stopped at once; what was finished is kept, and the same command goes on", file=sys.stderr)
        return 130


def _prepare_data(runs: list[RunSpec]) -> None:
    """Have the data of all that is still to be run, or refuse, before anything is run."""
    from aswd.data.fetch import prepare
    from aswd.results.store import RunState

    due = (run for run in runs if run.force or any(run.run(seed).state is not RunState.DONE for seed in run.seeds))
    for settings in {repr(run.data): run.data for run in due}.values():
        prepare(settings)


def _nothing(config: DictConfig) -> None:
    """For Hydra's own commands, which run no job."""


class _Sweep:
    """The jobs of one call, and what has become of them."""

    def __init__(self, total: int, request: StopRequest) -> None:
        self.total, self.number, self.request = total, 0, request
        self.outcomes: list[Outcome] = []
        self.forced = False

    def job(self, config: DictConfig) -> None:
        """One job: carry it out and say what came of it."""
        from aswd.composition import StopSweep
        from aswd.configuration import resolve
        from aswd.training.run import carry_out

        self.number += 1
        spec = resolve(config)
        self.forced |= spec.force
        ended = carry_out(spec, self.request)
        self.outcomes += ended
        place = f"[{self.number}/{self.total}] " if self.total > 1 else ""
        for word, text in _said(ended).items():
            print(f"{place}{spec.title} {text}: {word}", flush=True)
        if self.total == 1:
            print(f"in {spec.folder}")
        if self.request.number is not None:
            raise StopSweep

    def close(self) -> int:
        """Say what the sweep came to; the exit code."""
        words = Counter(outcome.word for outcome in self.outcomes)
        left = self.total - self.number
        if self.total > 1:
            counts = [f"{count} {word}" for word, count in sorted(words.items())] + ([f"{left} not started"] if left else [])
            print(f"sweep: {', '.join(counts)}")
        for outcome in self.outcomes:
            if outcome.word == "failed":
                print(f"failed: {outcome.run.folder}: {outcome.text} (the traceback is in its error.txt)", file=sys.stderr)
        if self.request.number is not None:
            if left or words["interrupted"]:
                how = "the same command without force=true" if self.forced else "the same command"
                print(f"stopped as asked; {how} goes on from the checkpoint", file=sys.stderr)
            return 128 + self.request.number
        return 1 if words["failed"] else 0


def _said(outcomes: list[Outcome]) -> dict[str, str]:
    """For each thing that happened to seeds of a run, the seeds that it happened to."""
    words: dict[str, list[int]] = {}
    for outcome in outcomes:
        texts = {
            "skipped": "done before, skipped (force=true runs it again)",
            "running": "another process is at it, left to that",
            "interrupted": outcome.text,
            "failed": f"failed, {outcome.text}",
            "done": f"done, {outcome.text}" if len(outcomes) == 1 else "done",
        }
        words.setdefault(texts[outcome.word], []).append(outcome.run.seed)
    return {word: f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds" for word, seeds in words.items()}


if __name__ == "__main__":
    sys.exit(main())
