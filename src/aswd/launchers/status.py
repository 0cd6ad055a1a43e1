"""``aswd status``: the progress of sweeps, from their records and the store, from any terminal."""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

from aswd.launchers.queue import QueueLauncher
from aswd.launchers.registry import LAUNCHERS
from aswd.launchers.sweep import Sweep, sweeps
from aswd.runs.store import Run, RunState
from aswd.utils.tables import table

MAX_SWEEPS = 20  # newest sweeps that are searched for active ones
MAX_ROWS = 30
WAITING = "waiting"
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
STATES = (RunState.DONE, RunState.RUNNING, RunState.FAILED, RunState.DAMAGED, RunState.INTERRUPTED, WAITING)  # in the order of the summary


@dataclass(frozen=True)
class Progress:
    """The progress of a sweep.

    Args:
        sweep: the recorded sweep.
        states: the state of each seed of each planned run.
        steps: the step of each seed of each planned run that is running; 0 for others.
        jobs: the number of queued jobs by state; ``None`` where there are none, or the cluster does not respond.
    """

    sweep: Sweep
    states: list[list[str]]
    steps: list[list[int]]
    jobs: Counter | None

    @property
    def is_active(self) -> bool:
        """Whether the command that started it still runs, or jobs are in a queue."""
        return self.sweep.is_running or bool(self.jobs)

    @property
    def counts(self) -> Counter:
        """The number of seeds by state."""
        return Counter(state for states in self.states for state in states)

    def seconds_left(self, now: datetime) -> float | None:
        """The estimated remaining time at the speed since the sweep started; ``None`` before there is anything to estimate from.

        Fractions of runs count, so that there is an estimate before the first run is done; fractions that were done before the sweep
        started do not count towards its speed.
        """
        done = left = 0.0
        for planned, states, steps in zip(self.sweep.planned, self.states, self.steps, strict=True):
            for run, state, step, earlier in zip(planned.runs, states, steps, planned.steps_before or [0] * len(states), strict=True):
                before = min(1.0, earlier / planned.steps) if planned.steps else 0.0
                fraction = min(1.0, max(step, earlier) / planned.steps) if planned.steps else 0.0
                if state == RunState.DONE:
                    done += (1 - before) * (_last_change(run) >= self.sweep.started.timestamp())
                elif state == RunState.RUNNING:
                    done, left = done + fraction - before, left + 1 - fraction
                elif state != RunState.FAILED:
                    left += 1 - before
        elapsed = (now - self.sweep.started).total_seconds()
        return elapsed / done * left if done > 0 and elapsed > 0 else None


def progress(sweep: Sweep) -> Progress:
    """The current progress of a sweep."""
    states = [[_state(run, sweep) for run in planned.runs] for planned in sweep.planned]
    steps = [
        [planned.current_step(run) if state == RunState.RUNNING else 0 for run, state in zip(planned.runs, row, strict=True)]
        for planned, row in zip(sweep.planned, states, strict=True)
    ]
    return Progress(sweep, states, steps, _queued_jobs(sweep))


def _queued_jobs(sweep: Sweep) -> Counter | None:
    """The jobs of a sweep that have not ended, counted by state; ``None`` where it has no jobs, or the cluster does not respond."""
    if not sweep.jobs or sweep.launcher not in LAUNCHERS:
        return None
    launcher = LAUNCHERS.target(sweep.launcher)
    jobs = launcher.poll(list(sweep.jobs)) if issubclass(launcher, QueueLauncher) else None
    return None if jobs is None else Counter(job.name for job in jobs.values() if not job.has_ended)


def _state(run: Run, sweep: Sweep) -> str:
    """The state of a seed within this sweep, where a failure of an earlier sweep is still to be run again."""
    state = run.state
    if state is RunState.NEW or (state is RunState.FAILED and _last_change(run) < sweep.started.timestamp()):
        return WAITING
    return str(state)


def _last_change(run: Run) -> float:
    try:
        return (run.folder / "status.json").stat().st_mtime
    except OSError:
        return 0.0


def summary(progress: Progress, now: datetime) -> str:
    """Since when it runs and for how long it will; or that it has ended."""
    if progress.is_active:
        seconds = progress.seconds_left(now)
        rest = "remaining time unknown" if seconds is None else f"about {_duration(seconds)} remaining"
        return f"started {_duration((now - progress.sweep.started).total_seconds())} ago, {rest}"
    return "all done" if progress.counts[RunState.DONE] == progress.counts.total() else "not running: the same command resumes it"


def notable(progress: Progress) -> list[tuple[str, int, str, str]]:
    """The seeds that are running, failed or damaged: title, seed, state, and the step or the reason."""
    rows = []
    for planned, states, steps in zip(progress.sweep.planned, progress.states, progress.steps, strict=True):
        for run, state, step in zip(planned.runs, states, steps, strict=True):
            if state == RunState.RUNNING:
                rows.append((planned.title, run.seed, state, f"step {step}" + (f" of {planned.steps}" if planned.steps else "")))
            elif state == RunState.FAILED:
                rows.append((planned.title, run.seed, state, run.status["reason"] if run.status else ""))
            elif state == RunState.DAMAGED:
                rows.append((planned.title, run.seed, state, run.damage() or ""))
    return rows


def report(progress: Progress, now: datetime) -> str:
    """The progress as text: counts, time, running and failed runs."""
    sweep, counts = progress.sweep, progress.counts
    lines = [f"{sweep.folder} (launcher {sweep.launcher})", summary(progress, now)]
    lines.append(f"{counts.total()} runs: " + ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state]))
    if progress.jobs:
        lines.append("jobs in the queue: " + ", ".join(f"{count} {state.lower()}" for state, count in sorted(progress.jobs.items())))
    if rows := notable(progress):
        lines.append(table(("run", "seed", "state", ""), rows[:MAX_ROWS]))
    if len(rows) > MAX_ROWS:
        lines.append(f"and {len(rows) - MAX_ROWS} more: aswd list runs")
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    """
    >>> _duration(42), _duration(150), _duration(7300)
    ('42 s', '2 min 30 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def current(output_dir: Path) -> list[Progress]:
    """The progress of the active sweeps, or of the last one, newest first."""
    newest = list(islice(sweeps(output_dir), MAX_SWEEPS))
    return [each for each in map(progress, newest) if each.is_active] or [progress(sweep) for sweep in newest[:1]]


def status(output_dir: Path, watch: bool = False, interval: float = 2.0) -> int:
    """Print the progress of the active sweeps, or of the last one; with ``watch`` repeatedly, until none is active."""
    while True:
        now, shown = datetime.now().astimezone(), current(output_dir)
        text = "\n\n".join(report(each, now) for each in shown) or f"no sweeps in {output_dir}: aswd train -m starts one"
        is_last = not watch or not any(each.is_active for each in shown)
        if watch and sys.stdout.isatty():  # the last screen stays, and is complete
            print(_overwrite_screen(text if is_last else _fit_screen(text, *shutil.get_terminal_size())), end="", flush=True)
        else:
            print(text, flush=True)
        if is_last:
            return 0
        time.sleep(interval)


def _overwrite_screen(text: str) -> str:
    """The text with control codes that overwrite the screen line by line: clearing it first would flicker."""
    return "\033[H" + "".join(f"{line}\033[K\n" for line in text.splitlines()) + "\033[J"


def _fit_screen(text: str, columns: int, rows: int) -> str:
    """The part of a text that fits on a screen, whose top would otherwise scroll away.

    >>> _fit_screen("a long line\\nb\\nc\\nd", 6, 4)
    'a long\\nb\\n...'
    """
    lines = [line if len(plain := _COLOUR.sub("", line)) <= columns else plain[:columns] for line in text.splitlines()]
    return "\n".join(lines if len(lines) < rows else [*lines[: rows - 2], "..."])
