"""``aswd train``, also as ``python -m aswd.cli.train``: runs and sweeps from the command line, configured by Hydra."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

from aswd.utils.errors import UserError
from aswd.utils.files import check_writable

if TYPE_CHECKING:
    from aswd.config.run import RunConfig
    from aswd.runs.execution import Outcome
    from aswd.runs.signals import StopRequest


def main(arguments: list[str] | None = None) -> int:
    """Run what the arguments ask for. The exit code is 0; 1 after a failure; 2 for a mistake in the arguments; 128 + n after signal n."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    arguments.sort(key=lambda one: not (one in ("-m", "--multirun") or (one.startswith("--") and "=" in one)))  # Hydra wants flags first
    try:
        from aswd.config.composition import asked, hydra_main, plan_runs, register_groups

        register_groups()
        call = asked(arguments)
        if call is None:  # help, completion and the like are Hydra's own
            return hydra_main(arguments)
        runs = plan_runs(call)
        for folder in {run.paths.output_dir for run in runs}:
            check_writable(folder)
        return _execute(runs)
    except UserError as error:
        print(f"aswd train: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("aswd train: stopped at once; what was finished is kept, and the same command goes on", file=sys.stderr)
        return 130


def _execute(runs: list[RunConfig]) -> int:
    from aswd.launchers.launch import launch
    from aswd.runs.signals import StopRequest

    sweep = _Sweep(runs, StopRequest())
    launch(runs, sweep.request, sweep.tell)
    return sweep.close()


class _Sweep:
    """The runs of one call, and what has become of them."""

    def __init__(self, runs: list[RunConfig], request: StopRequest) -> None:
        self.runs, self.request = runs, request
        self.total, self.number = len(runs), 0
        self.outcomes: list[Outcome] = []
        self.forced = any(spec.force for spec in runs)

    def tell(self, place: int, ended: list[Outcome]) -> None:
        """Say what came of a run."""
        self.number += 1
        self.outcomes += ended
        spec = self.runs[place]
        mark = f"[{self.number}/{self.total}] " if self.total > 1 else ""
        for word, text in _said(ended).items():
            print(f"{mark}{spec.title} {text}: {word}", flush=True)
        if self.total == 1:
            print(f"in {spec.folder}")

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
        return 1 if words["failed"] or words["interrupted"] else 0


def _said(outcomes: list[Outcome]) -> dict[str, str]:
    """For each thing that happened to seeds of a run, the seeds that it happened to."""
    words: dict[str, list[int]] = {}
    for outcome in outcomes:
        texts = {
            "skipped": "done before, skipped (force=true runs it again)",
            "running": outcome.text or "another process is at it, left to that",
            "interrupted": outcome.text,
            "failed": f"failed, {outcome.text}",
            "done": f"done, {outcome.text}" if len(outcomes) == 1 and outcome.text else "done",
        }
        words.setdefault(texts[outcome.word], []).append(outcome.run.seed)
    return {word: f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds" for word, seeds in words.items()}


if __name__ == "__main__":
    sys.exit(main())
