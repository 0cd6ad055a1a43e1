"""A short run under torch's profiler, and what it says."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from aswd.bench.profile_labels import PARTS, WHOLE, labelled, part_of, replaced
from aswd.config.composition import CommandLine, plan_runs
from aswd.config.run import PathConfig, RunConfig
from aswd.runs.execution import execute_run
from aswd.runs.recorder import Recorder
from aswd.runs.signals import StopRequest
from aswd.tasks.registry import task_class
from aswd.utils.errors import UserError
from aswd.utils.files import write_atomically, write_json
from aswd.utils.tables import table

WARM_UP = 10  # steps that are not looked at: first ones are slower
REST = "the rest"


@dataclass
class Spent:
    """Calls of a part of a run and the seconds in it, those in the parts inside it left out."""

    calls: int = 0
    seconds: float = 0.0


def profile(line: CommandLine, steps: int, output_dir: Path) -> int:
    """Profile ``steps`` steps of a run, print where their time went, and write the trace; nothing of it gets into the store.

    Raises:
        UserError: a mistake in the overrides, a sweep, or a run that fails.
    """
    (spec,) = plan_runs(line)
    known = getattr(spec.task, "iterations", None)
    if known is not None and known < WARM_UP + 2:
        raise UserError(f"task.iterations must be at least {WARM_UP + 2} to be profiled; got {known}")
    steps = steps if known is None else min(steps, (known - WARM_UP) // 2)
    folder = Path(output_dir, "profile", f"{spec.task.name}-{spec.data.name}-{spec.distance_name}-{spec.key}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--output-dir must be a folder that can be written to; got {str(output_dir)!r}: {error.strerror}") from None
    with TemporaryDirectory(prefix="aswd-profile-") as scratch:
        watch = _Watch(steps)
        _run(spec, Path(scratch), watch)
    spent = attribute(watch.profiler.events())
    total = watch.seconds
    spent[REST] = Spent(0, max(total - sum(one.seconds for one in spent.values()), 0.0))
    write_atomically(folder / "trace.json.gz", lambda partial: watch.profiler.export_chrome_trace(str(partial)))
    shares = {part: {"calls": one.calls, "seconds": one.seconds, "share": one.seconds / total} for part, one in spent.items()}
    facts = {"steps": steps, "seconds": total, "seconds_unprofiled": watch.plain_seconds, "start_up": watch.start_up, "parts": shares}
    write_json(folder / "profile.json", {**facts, "config": spec.plain()})
    rows = [
        (part, one.calls or "", f"{one.seconds:.3f}", f"{100 * one.seconds / total:.1f} %", f"{1000 * one.seconds / steps:.3f}")
        for part, one in spent.items()
        if one.calls or part == REST
    ]
    rows.append(("all", "", f"{total:.3f}", "100.0 %", f"{1000 * total / steps:.3f}"))
    print(table(("part", "calls", "seconds", "share", "ms per step"), rows))
    print(f"{spec.title}, {spec.seeds_text}: {steps} steps after {WARM_UP + steps} others; each part without the parts inside it.")
    plain = 1000 * watch.plain_seconds / steps
    print(f"Without the profiler a step took {plain:.3f} ms; starting took {watch.start_up:.2f} s.")
    print(f"Trace, for chrome://tracing or ui.perfetto.dev: {folder / 'trace.json.gz'}")
    return 0


def attribute(events: Any) -> dict[str, Spent]:
    """Calls and seconds of the labelled parts, by what is innermost; evaluations and the like count whole.

    Labels are set by one thread and nest, so that a stack of those that are open at a moment says what is inside what.
    """
    marks = [(event.time_range.start, -event.time_range.end, part) for event in events if (part := part_of(event.name)) is not None]
    spent = {part: Spent() for part in PARTS}
    stack: list[tuple[float, str]] = []  # end, part
    for start, negative_end, part in sorted(marks):
        end = -negative_end
        while stack and stack[-1][0] <= start:
            stack.pop()
        inside = stack[-1][1] if stack else None
        if inside in WHOLE:
            part = inside
        elif part != inside:  # else a method that calls its parent's
            spent[part].calls += 1
        if inside is not None:
            spent[inside].seconds -= (end - start) / 1e6
        spent[part].seconds += (end - start) / 1e6
        stack.append((end, part))
    return spent


class _Watch:
    """Starts the profiler after the steps that are not looked at, and stops it at the end; from the recorder's place in the loop."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
        self.profiler = torch.profiler.profile(activities=activities)
        self.begun = time.perf_counter()
        self.start_up = self.plain_seconds = self.seconds = self._since = 0.0
        self.on = False

    def before_step(self, recorder: Recorder, trainer: Any, *_: Any) -> None:
        step = trainer.global_step
        if step == 0 and not self.start_up:
            self.start_up = time.perf_counter() - self.begun
        elif step == WARM_UP and not self._since:
            self._since = _now()
        elif step == WARM_UP + self.steps and not self.on:
            self.plain_seconds = _now() - self._since
            self.on = True
            self.profiler.start()
            self._since = _now()

    def at_end(self) -> None:
        if self.on:
            self.seconds = _now() - self._since
            self.profiler.stop()


def _now() -> float:
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.perf_counter()


def _run(spec: RunConfig, scratch: Path, watch: _Watch) -> None:
    last = WARM_UP + 2 * watch.steps
    short = replace(spec, paths=PathConfig(str(scratch)), trainer=replace(spec.trainer, max_steps=last, enable_progress_bar=False))
    if not getattr(task_class(spec.task.name), "batches_seeds", False):
        short = short.with_seeds(spec.seeds[:1])
    request, original = StopRequest(), Recorder.on_train_end

    def at_end(recorder: Recorder, *rest: Any) -> None:
        watch.at_end()
        original(recorder, *rest)

    with ExitStack() as stack:
        stack.enter_context(labelled(short))
        stack.enter_context(replaced(Recorder, "on_train_batch_start", lambda recorder, *rest: watch.before_step(recorder, *rest)))
        stack.enter_context(replaced(Recorder, "on_train_end", at_end))
        outcomes = execute_run(short, request)
    if request.number is not None:
        raise KeyboardInterrupt
    for one in outcomes:
        if one.word != "done":
            raise UserError(f"the run that was to be profiled is not done but {one.word}: {one.text}")
