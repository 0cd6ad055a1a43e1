"""``aswd status``: how far a sweep is, from its record and the store, so that any terminal can ask."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

from aswd.launching.queue import is_ended, job_states
from aswd.launching.sweep import Planned, Sweep, sweeps
from aswd.results.store import Run, RunState
from aswd.tables import table

LOOKED_AT = 20  # sweeps: more are not going on at a time
WORDS = ("done", "running", "failed", "cut off", "waiting")


@dataclass(frozen=True)
class Progress:
    """How far the runs of a sweep are.

    Args:
        sweep: which.
        words: for everything planned the state of each seed.
        steps: for everything planned that is under way the steps that it has taken.
        jobs: states of a cluster's jobs that have not ended; ``None`` where there are none, or it does not answer.
    """

    sweep: Sweep
    words: list[list[str]]
    steps: list[int | None]
    jobs: Counter | None

    @property
    def is_going_on(self) -> bool:
        """Whether someone is at it: the command that started it, or jobs in a queue."""
        return self.sweep.is_running or bool(self.jobs)

    @property
    def counts(self) -> Counter:
        """Seeds by state."""
        return Counter(word for words in self.words for word in words)

    def seconds_left(self, now: datetime) -> float | None:
        """The time that the rest takes at the pace since the sweep began; ``None`` before anything can be said.

        The work of a run is counted in parts of it, so that something can be said before the first one is done.
        """
        made = left = 0.0
        for planned, words, steps in zip(self.sweep.planned, self.words, self.steps, strict=True):
            part = min(1.0, steps / planned.steps) if steps and planned.steps else 0.0
            for run, word in zip(planned.runs, words, strict=True):
                if word == "done":
                    made += _changed(run) >= self.sweep.began.timestamp()
                elif word == "running":
                    made, left = made + part, left + 1 - part
                elif word != "failed":
                    left += 1
        elapsed = (now - self.sweep.began).total_seconds()
        return elapsed / made * left if made > 0 and elapsed > 0 else None


def progress(sweep: Sweep) -> Progress:
    """How far a sweep is at this moment."""
    planned = sweep.planned
    words = [[_word(run, sweep) for run in one.runs] for one in planned]
    steps = [_steps(one) if "running" in states else None for one, states in zip(planned, words, strict=True)]
    states = job_states(list(sweep.jobs)) if sweep.jobs else None
    return Progress(sweep, words, steps, states and Counter(state for state in states.values() if not is_ended(state)))


def _word(run: Run, sweep: Sweep) -> str:
    """The state of a run, as of this sweep: what failed before and was not tried again yet is still to come."""
    state = run.state
    if state is RunState.NEW or (state is RunState.FAILED and _changed(run) < sweep.began.timestamp()):
        return "waiting"
    return str(state)


def _changed(run: Run) -> float:
    try:
        return (run.folder / "status.json").stat().st_mtime
    except OSError:
        return 0.0


def _steps(planned: Planned) -> int | None:
    """The step in the last line of the metrics that a run is writing."""
    try:
        with (planned.work_folder / "metrics.csv").open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - 4096))
            first = file.read().splitlines()[-1].partition(b",")[0]
    except (OSError, IndexError):
        return None
    return int(first) if first.isdigit() else None


def report(found: Progress, now: datetime) -> str:
    """A few lines for people: counts, time, what is running, what failed."""
    sweep, counts = found.sweep, found.counts
    total = sum(counts.values())
    if found.is_going_on:
        seconds = found.seconds_left(now)
        rest = "time left not known yet" if seconds is None else f"about {_duration(seconds)} left"
        going = f"{_duration((now - sweep.began).total_seconds())} so far, {rest}"
    else:
        going = "not going on: the same command goes on with it" if counts["done"] < total else "all done"
    lines = [f"{sweep.folder} (launcher {sweep.content['launcher']}): {going}"]
    lines.append(f"{total} runs: " + ", ".join(f"{counts[word]} {word}" for word in WORDS if counts[word]))
    if found.jobs:
        lines.append("jobs in the queue: " + ", ".join(f"{count} {state.lower()}" for state, count in sorted(found.jobs.items())))
    rows = []
    for planned, words, steps in zip(sweep.planned, found.words, found.steps, strict=True):
        for run, word in zip(planned.runs, words, strict=True):
            if word == "running":
                rows.append((planned.title, run.seed, "running", f"step {steps or 0}" + (f" of {planned.steps}" if planned.steps else "")))
            elif word == "failed":
                rows.append((planned.title, run.seed, "failed", run.status["reason"] if run.status else ""))
    shown = rows[:30]
    lines += [table(("run", "seed", "state", ""), shown)] if shown else []
    lines += [f"and {len(rows) - len(shown)} more: aswd list runs"] if len(rows) > len(shown) else []
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


def status(output_dir: Path, watch: bool = False, interval: float = 2.0) -> int:
    """Print how far the sweeps that are going on are, or the last one; with ``watch`` until none is any more."""
    while True:
        now, newest = datetime.now().astimezone(), list(islice(sweeps(output_dir), LOOKED_AT))
        found = [one for one in map(progress, newest) if one.is_going_on] or [progress(sweep) for sweep in newest[:1]]
        text = "\n\n".join(report(one, now) for one in found) or f"no sweeps in {output_dir}: aswd train -m starts one"
        is_live = watch and sys.stdout.isatty()
        print(f"\033[H\033[2J{text}" if is_live else text, flush=True)
        if not watch or not any(one.is_going_on for one in found):
            return 0
        time.sleep(interval)
