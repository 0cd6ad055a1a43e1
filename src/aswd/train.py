"""``aswd train``, also as ``python -m aswd.train``: runs and sweeps from the command line, configured by Hydra."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from omegaconf import DictConfig

if TYPE_CHECKING:
    from aswd.training.run import Outcome


def main(arguments: list[str] | None = None) -> int:
    """Run what the arguments ask for. The exit code is 0; 1 after a failure; 2 for a mistake in the arguments; 128 + n after signal n."""
    from aswd.composition import asked, checked_plan, config_store_distances, hydra_main
    from aswd.errors import UserError

    arguments = sys.argv[1:] if arguments is None else list(arguments)
    arguments.sort(key=lambda argument: argument not in ("-m", "--multirun"))  # Hydra wants them first
    try:
        config_store_distances()
        call = asked(arguments)
        if call is None:  # help, completion and the like are Hydra's own
            return hydra_main(arguments, _nothing)
        runs = checked_plan(call)
        _check_writable({run.paths.output_dir for run in runs})
    except UserError as error:
        print(f"aswd train: {error}", file=sys.stderr)
        return 2
    sweep = _Sweep(len(runs) if call.multirun else 1)
    code = hydra_main(arguments, sweep.job)
    return sweep.close() or code


def _check_writable(folders: set[str]) -> None:
    from aswd.errors import UserError

    for folder in folders:
        try:
            Path(folder, "runs").mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=Path(folder, "runs")):
                pass
        except OSError as error:
            raise UserError(f"paths.output_dir must be a folder that can be written to; got {folder!r}: {error.strerror}") from None


def _nothing(config: DictConfig) -> None:
    """For Hydra's own commands, which run no job."""


class _Sweep:
    """The jobs of one call, and what has become of them."""

    def __init__(self, total: int) -> None:
        self.total, self.number = total, 0
        self.outcomes: list[Outcome] = []

    def job(self, config: DictConfig) -> None:
        """One job: carry it out and say what came of it."""
        from aswd.composition import StopSweep
        from aswd.configuration import resolve
        from aswd.training.run import carry_out

        self.number += 1
        spec = resolve(config)
        ended = carry_out(spec)
        self.outcomes += ended
        place = f"[{self.number}/{self.total}] " if self.total > 1 else ""
        for word, text in _said(ended).items():
            print(f"{place}{spec.title} {text}: {word}", flush=True)
        if self.total == 1:
            print(f"in {spec.folder}")
        if any(outcome.word == "interrupted" for outcome in ended):
            raise StopSweep

    def close(self) -> int:
        """Say what the sweep came to; the exit code."""
        words = Counter(outcome.word for outcome in self.outcomes)
        if self.total > 1:
            left = self.total - self.number
            counts = [f"{count} {word}" for word, count in sorted(words.items())] + ([f"{left} not started"] if left else [])
            print(f"sweep: {', '.join(counts)}")
        for outcome in self.outcomes:
            if outcome.word == "failed":
                print(f"failed: {outcome.run.folder}: {outcome.text} (the traceback is in its error.txt)", file=sys.stderr)
        signals = [outcome.signal for outcome in self.outcomes if outcome.signal is not None]
        if signals:
            print("stopped as asked; the same command goes on from the checkpoint", file=sys.stderr)
            return 128 + signals[0]
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
