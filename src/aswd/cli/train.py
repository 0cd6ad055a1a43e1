"""``aswd train``: runs and sweeps from the command line, configured by Hydra."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

from aswd.utils.errors import UserError
from aswd.utils.files import check_writable

if TYPE_CHECKING:
    from aswd.config.composition import CommandLine
    from aswd.config.run import RunConfig
    from aswd.runs.execution import RunResult
    from aswd.runs.signals import StopRequest


def main(arguments: list[str]) -> int:
    """Run the command line. The exit code is 0; 1 after a failure; 2 for a mistake in the arguments; 128 + n after signal n."""
    try:
        from aswd.config.composition import parse_command_line, plan_runs, run_hydra

        line = parse_command_line(arguments)
        if {"--help", "-h"} & set(line.hydra_flags):
            from aswd.cli.help import train_help

            print(train_help(line))
            return 0
        if line.hydra_flags or line.cfg in ("hydra", "all"):
            return run_hydra(line)
        runs = plan_runs(line)
        if line.cfg == "job":
            return _print_configs(runs, line)
        for folder in {run.paths.output_dir for run in runs}:
            check_writable(folder)
        return _execute(runs)
    except UserError as error:
        print(f"aswd train: {error}", file=sys.stderr)
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
        import yaml

        content = run.plain()
        for part in line.package.split("."):
            if not isinstance(content, dict) or part not in content:
                raise UserError(f"--package must be a part of the configuration; got {line.package!r}")
            content = content[part]
        texts.append(yaml.safe_dump(content, sort_keys=False))
    print("---\n".join(texts), end="")
    return 0


def _execute(runs: list[RunConfig]) -> int:
    from aswd.launchers.launch import launch
    from aswd.runs.signals import StopRequest

    sweep = _Sweep(runs, StopRequest())
    launch(runs, sweep.request, sweep.on_result)
    return sweep.close()


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
        for text, seeds in _texts(results).items():
            print(f"{mark}{self.titles[index]} {seeds}: {text}", flush=True)
        if self.total == 1:
            print(f"in {self.runs[index].folder}")

    def close(self) -> int:
        """Print the summary of the sweep; the exit code."""
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
        return 1 if counts["failed"] or counts["interrupted"] else 0


def _texts(results: list[RunResult]) -> dict[str, str]:
    """For each kind of result of the seeds of a run, the seeds that have it."""
    seeds: dict[str, list[int]] = {}
    for result in results:
        made = f": {result.text}" if len(results) == 1 and result.text else ""
        texts = {
            "skipped": f"finished before, skipped (force=true runs it again){made}",
            "running": result.text or "already running in another process: skipped",
            "interrupted": result.text,
            "failed": f"failed, {result.text}",
            "done": f"done, {result.text}" if len(results) == 1 and result.text else "done",
        }
        seeds.setdefault(texts[result.status], []).append(result.run.seed)
    return {text: f"seed {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} seeds" for text, numbers in seeds.items()}
