"""``aswd status``: how far a sweep is, from its record and the store, so that any terminal can ask."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

from aswd.launchers.slurm_queue import is_ended, job_states
from aswd.launchers.sweep import Sweep, sweeps
from aswd.runs.store import Run, RunState
from aswd.utils.tables import table

LOOKED_AT = 20  # sweeps: more are not going on at a time
WORDS = ("done", "running", "failed", "cut off", "waiting")


@dataclass(frozen=True)
class Progress:
    """How far the runs of a sweep are.

    Args:
        sweep: which.
        words: for everything planned the state of each seed.
        steps: for everything planned the steps that each seed has taken that is under way; 0 for others.
        jobs: states of a cluster's jobs that have not ended; ``None`` where there are none, or it does not answer.
    """

    sweep: Sweep
    words: list[list[str]]
    steps: list[list[int]]
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

        The work of a run is counted in parts of it, so that something can be said before the first one is done; parts that were made
        before the sweep began are no part of its pace.
        """
        made = left = 0.0
        for planned, words, steps in zip(self.sweep.planned, self.words, self.steps, strict=True):
            for run, word, step, taken in zip(planned.runs, words, steps, planned.taken or [0] * len(words), strict=True):
                before = min(1.0, taken / planned.steps) if planned.steps else 0.0
                part = min(1.0, max(step, taken) / planned.steps) if planned.steps else 0.0
                if word == "done":
                    made += (1 - before) * (_changed(run) >= self.sweep.began.timestamp())
                elif word == "running":
                    made, left = made + part - before, left + 1 - part
                elif word != "failed":
                    left += 1 - before
        elapsed = (now - self.sweep.began).total_seconds()
        return elapsed / made * left if made > 0 and elapsed > 0 else None


def progress(sweep: Sweep) -> Progress:
    """How far a sweep is at this moment."""
    planned = sweep.planned
    words = [[_word(run, sweep) for run in one.runs] for one in planned]
    steps = [
        [one.steps_of(run) if word == "running" else 0 for run, word in zip(one.runs, states, strict=True)]
        for one, states in zip(planned, words, strict=True)
    ]
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
    lines = [f"{sweep.folder} (launcher {sweep.content['launcher']})", going]
    lines.append(f"{total} runs: " + ", ".join(f"{counts[word]} {word}" for word in WORDS if counts[word]))
    if found.jobs:
        lines.append("jobs in the queue: " + ", ".join(f"{count} {state.lower()}" for state, count in sorted(found.jobs.items())))
    rows = []
    for planned, words, steps in zip(sweep.planned, found.words, found.steps, strict=True):
        for run, word, step in zip(planned.runs, words, steps, strict=True):
            if word == "running":
                rows.append((planned.title, run.seed, "running", f"step {step}" + (f" of {planned.steps}" if planned.steps else "")))
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
        is_over = not watch or not any(one.is_going_on for one in found)
        is_live = watch and sys.stdout.isatty()
        if is_live:  # the last picture stays, and is whole
            print(_over_the_last(text if is_over else _fitting(text, *shutil.get_terminal_size())), end="", flush=True)
        else:
            print(text, flush=True)
        if is_over:
            return 0
        time.sleep(interval)


def _over_the_last(text: str) -> str:
    """The text over what is on the screen, line by line: a screen that is cleared first flickers."""
    return "\033[H" + "".join(f"{line}\033[K\n" for line in text.splitlines()) + "\033[J"


def _fitting(text: str, columns: int, rows: int) -> str:
    """The part of a text that has room on a screen: longer ones would scroll its top away.

    >>> _fitting("a long line\\nb\\nc\\nd", 6, 4)
    'a long\\nb\\n...'
    """
    lines = [line[:columns] for line in text.splitlines()]
    return "\n".join(lines if len(lines) < rows else [*lines[: rows - 2], "..."])
