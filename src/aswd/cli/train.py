"""``aswd train``: runs and sweeps from the command line, configured by Hydra."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from aswd.utils.errors import UserError, sentence
from aswd.utils.files import check_writable
from aswd.utils.start_up import large_imports

if TYPE_CHECKING:
    from aswd.config.composition import CommandLine
    from aswd.config.run import RunConfig
    from aswd.runs.execution import RunResult
    from aswd.runs.signals import StopRequest


def main(arguments: list[str]) -> int:
    """Run the command line. The exit code is 0; 2 for a mistake in the arguments; 128 + n after signal n; or as in ``exit_code``."""
    try:
        with large_imports():
            from aswd.config.composition import parse_command_line, plan_runs, run_hydra

        line = parse_command_line(arguments)
        if {"--help", "-h"} & set(line.hydra_flags):
            from aswd.cli.help import train_help

            print(train_help(line))
            return 0
        if line.hydra_flags or line.cfg in ("hydra", "all"):
            return run_hydra(line)
        with large_imports():  # that of the task comes with Lightning
            runs = plan_runs(line)
        if line.cfg == "job":
            return _print_configs(runs, line)
        for folder in {run.paths.output_dir for run in runs}:
            check_writable(folder)
        return _execute(runs)
    except UserError as error:
        print(f"aswd train: {sentence(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("aswd train: stopped at once; finished runs are kept, and the same command resumes", file=sys.stderr)
        return 130


def _print_configs(runs: list[RunConfig], line: CommandLine) -> int:
    """Print what would run, as its record would hold it."""
    texts = []
    for run in runs:
        if line.package is None:
            texts.append(run.to_yaml())
            continue
        from aswd.config.run import to_yaml

        content = run.plain()
        for part in line.package.split("."):
            if not isinstance(content, dict) or part not in content:
                raise UserError(f"--package must be a part of the configuration; got {line.package!r}")
            content = content[part]
        texts.append(to_yaml(content))
    print("---\n".join(texts), end="")
    return 0


def _execute(runs: list[RunConfig]) -> int:
    from aswd.launchers.base import launch
    from aswd.runs.signals import StopRequest

    if len(runs) == 1:
        _announce_restart(runs[0])
    sweep = _Sweep(runs, StopRequest())
    launch(runs, sweep.request, sweep.on_result)
    return sweep.close()


def _announce_restart(run: RunConfig) -> None:
    """Say that a longer or shorter run than a finished one starts anew: it has a key of its own, and figures at other steps."""
    from aswd.config.changes import differing_options, options_text
    from aswd.config.run import canonical
    from aswd.runs import Run, RunState

    if Run.of(run, run.seeds[0]).state is not RunState.NEW:
        return
    for folder in run.folder.parent.glob(f"*/seed={run.seeds[0]}"):
        other = Run(folder).result.get("identity")
        theirs, ours = differing_options([other, canonical(run.identity)]) if other else ({}, {})
        if {*theirs, *ours} and {*theirs, *ours} <= {"task.iterations", "task.epochs", "trainer.max_steps"}:
            print(f"the finished run with {options_text(theirs)} is another one: that with {options_text(ours)} starts from the beginning")
            return


class _Sweep:
    """The runs of one command, and their results."""

    def __init__(self, runs: list[RunConfig], request: StopRequest) -> None:
        from aswd.config.changes import titles

        self.runs, self.request = runs, request
        self.titles = titles(runs)
        self.total, self.number = len(runs), 0
        self.results: list[RunResult] = []
        self.forced = any(run.force for run in runs)

    def on_result(self, index: int, results: list[RunResult]) -> None:
        """Print the results of the seeds of a run."""
        self.number += 1
        self.results += results
        mark = f"[{self.number}/{self.total}] " if self.total > 1 else ""
        for text in _texts(results):
            print(f"{mark}{self.titles[index]} {text}", flush=True)
        if self.total == 1:
            print(f"in {self.runs[index].folder}")

    def close(self) -> int:
        """Print the summary of the sweep; the exit code."""
        from aswd.launchers.base import exit_code

        counts = Counter(result.status for result in self.results)
        left = self.total - self.number
        if self.total > 1:
            parts = [f"{count} {status}" for status, count in sorted(counts.items())] + ([f"{left} not started"] if left else [])
            print(f"sweep: {', '.join(parts)}")
        for result in self.results:
            if result.status == "failed":
                print(f"failed: {result.run.folder}: {result.text} (the traceback is in its error.txt)", file=sys.stderr)
        if self.request.number is not None:
            if left or counts["interrupted"]:
                command = "the same command without force=true" if self.forced else "the same command"
                print(f"stopped; {command} resumes from the checkpoint", file=sys.stderr)
            return 128 + self.request.number
        if counts["skipped"] and any(run.loggers for run in self.runs):
            print("skipped runs are not logged again: aswd wandb sync replays finished runs to W&B", file=sys.stderr)
        return exit_code(self.results)


def _texts(results: list[RunResult]) -> Iterator[str]:
    """A line for each kind of result of the seeds of a run; those with a record repeat its final value, or the mean of them."""
    groups: dict[tuple[str, str], list[RunResult]] = {}
    for result in results:
        groups.setdefault((result.status, result.text), []).append(result)
    for (status, text), group in groups.items():
        seeds = f"seed {group[0].run.seed}" if len(group) == 1 else f"{len(group)} seeds"
        words = {"skipped": "finished before, skipped (force=true runs it again)", "running": "already running in another process: skipped"}
        finals = [final for result in group if status in ("done", "skipped") and (final := result.run.headline) is not None]
        mean = sum(value for _, value in finals) / max(len(finals), 1)
        values = [f"{'mean ' if len(finals) > 1 else ''}{finals[0][0]} {mean:.4g}"] if finals else []
        yield f"{seeds}: " + ", ".join([words.get(status, status), *values, *filter(None, [text])])
