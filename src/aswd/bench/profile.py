"""Where the time of a run goes: some steps of it under a profiler of Lightning's kind, outside the store."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from pytorch_lightning.profilers import Profiler
from torch.profiler import ProfilerActivity, record_function

from aswd.config.composition import CommandLine, plan_runs
from aswd.config.memory import check_memory
from aswd.config.run import PathConfig, RunConfig
from aswd.distances.maximiser import Maximiser
from aswd.runs.execution import execute_run
from aswd.runs.signals import StopRequest
from aswd.tasks.registry import task_class
from aswd.utils.errors import UserError
from aswd.utils.files import check_writable_file, write_atomically, write_json
from aswd.utils.secrets import mask_options
from aswd.utils.tables import table

WARM_UP = 10  # steps that are not measured: the first ones are slower
PREFIX = "aswd: "  # of the labels in the trace
REST = "the rest"
PARTS = ("data", "forward", "distance", "inner loop", "backward", "optimiser", "evaluation", "checkpoint", "callbacks", REST)
_WHOLE = ("evaluation", "checkpoint")  # what happens inside belongs to them
_ACTIONS = {"train_dataloader_next": "data", "batch_to_device": "data", "training_step": "forward", "save_checkpoint": "checkpoint"}
# Parts for which Lightning has no action, or none with manual optimization: from the end of one action to the end of another.
_OPENING = {"[LightningModule].on_before_backward": "backward", "[LightningModule].on_validation_model_eval": "evaluation"}
_CLOSING = ("[LightningModule].on_after_backward", "[Strategy].on_validation_end")


def profile(line: CommandLine, steps: int, output_dir: Path) -> int:
    """Profile ``steps`` steps of a run, print where their time went, and write a trace; nothing of it gets into the store.

    Raises:
        UserError: a mistake in the command line, a sweep, a run that is too short, or one that fails.
    """
    (run,) = plan_runs(line)
    check_memory(run)
    iterations = getattr(run.task, "iterations", None)
    if iterations is not None and iterations < WARM_UP + 2:
        raise UserError(f"task.iterations must be at least {WARM_UP + 2} to be profiled; got {iterations}")
    steps = steps if iterations is None else min(steps, (iterations - WARM_UP) // 2)
    folder = Path(output_dir, "profile", f"{run.title.replace(' ', '-')}-{run.key}")
    check_writable_file("paths.output_dir", folder / "profile.json")
    profiler = PartsProfiler(steps)
    _execute(run, profiler)
    measured, total = profiler.last_step - profiler.first_step, sum(profiler.seconds.values())
    write_atomically(folder / "trace.json.gz", lambda partial: profiler.trace.export_chrome_trace(str(partial)))
    parts = {part: (profiler.calls[part], profiler.seconds[part]) for part in PARTS}
    facts = {"steps": measured, "seconds": total, "seconds_unprofiled": profiler.plain_seconds, "start_up": profiler.start_up}
    facts["parts"] = {part: {"calls": n, "seconds": seconds, "share": seconds / total} for part, (n, seconds) in parts.items()}
    write_json(folder / "profile.json", {**facts, "config": mask_options(run.plain())})
    rows = [(part, n or "", seconds) for part, (n, seconds) in parts.items() if n or part == REST]
    cells = [(*row, f"{s:.3f}", f"{100 * s / total:.1f} %", f"{1000 * s / measured:.3f}") for *row, s in [*rows, ("all", "", total)]]
    print(table(("part", "calls", "seconds", "share", "ms per step"), cells))
    print(f"{run.title}, {run.seeds_text}: {measured} steps after {profiler.first_step} others; each part without the parts inside it.")
    print(f"Without the profiler a step took {1000 * profiler.plain_seconds / steps:.3f} ms; starting took {profiler.start_up:.2f} s.")
    print(f"Trace, for chrome://tracing or ui.perfetto.dev: {folder / 'trace.json.gz'}")
    return 0


def _execute(run: RunConfig, profiler: PartsProfiler) -> None:
    """Run the first steps of ``run`` in a temporary folder, without its loggers."""
    trainer = replace(run.trainer, max_steps=WARM_UP + 2 * profiler.steps, enable_progress_bar=False)
    seeds = run.seeds if getattr(task_class(run.task.name), "batches_seeds", False) else run.seeds[:1]
    request = StopRequest()
    with TemporaryDirectory(prefix="aswd-profile-") as scratch:
        outcomes = execute_run(replace(run, paths=PathConfig(scratch), trainer=trainer, loggers={}, seeds=seeds), request, profiler)
    profiler.finish()
    if request.number is not None:
        raise KeyboardInterrupt
    for outcome in outcomes:
        if outcome.status != "done":
            raise UserError(f"the profiled run must be done; it is {outcome.status}: {outcome.text}")
    if profiler.trace is None:
        needed, last = WARM_UP + profiler.steps + 1, profiler.last_step
        raise UserError(f"the run must have at least {needed} steps for --steps {profiler.steps}; it ended after {last}")


class PartsProfiler(Profiler):
    """Times the parts of a run, each without the parts inside it: after a warm-up, ``steps`` steps plainly, and those after them in parts.

    Lightning says where data, forward pass, backward pass, evaluations, checkpoints and callbacks begin and end; hooks on ``task.distance``
    and on the optimizers say the rest. A run with another profiler or none has none of this.

    Args:
        steps: optimizer steps to measure.
    """

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps, self.first_step, self.last_step = steps, WARM_UP + steps, 0
        self.calls, self.seconds = Counter(), dict.fromkeys(PARTS, 0.0)
        self.trace: torch.profiler.profile | None = None
        self.recording = False
        self.start_up = self.plain_seconds = 0.0
        self._mark, self._marked_step = _now(), -1
        self._open: list[tuple[str, record_function]] = []  # parts, the innermost last

    def start(self, action_name: str) -> None:
        if action_name.endswith(".train_dataloader_next"):
            self._before_step(self._lightning_module.trainer.global_step)
        elif action_name.endswith(".on_train_end"):  # what follows is done once per run
            self.last_step = self.last_step or self._lightning_module.trainer.global_step
            self.finish()
        if self.recording and (part := part_of(action_name)) is not None:
            self._enter(part)

    def stop(self, action_name: str) -> None:
        if not self.recording:
            return
        short = f"{action_name.partition(']')[0]}].{action_name.rpartition('.')[2]}"
        if part_of(action_name) is not None or (short in _CLOSING and self._open):
            self._leave()
        if short in _OPENING:
            self._enter(_OPENING[short])

    def finish(self) -> None:
        """Stop measuring."""
        if self.recording:
            self._charge()
            self.recording = False
            self.trace.stop()

    def _before_step(self, step: int) -> None:
        """Begin the next phase, where ``step`` steps before this one end a phase."""
        if step == self._marked_step or step not in (0, WARM_UP, self.first_step):
            return
        now = _now()
        if step == 0:
            self.start_up = now - self._mark
        elif step == self.first_step:
            self.plain_seconds = now - self._mark
            self._begin()
        self._mark, self._marked_step = _now(), step

    def _begin(self) -> None:
        """Put hooks on what Lightning has no actions for, and start the trace."""
        task = self._lightning_module
        distance = getattr(task, "distance", None)
        if isinstance(distance, torch.nn.Module):
            distance.register_forward_pre_hook(lambda *_: self.start("distance"))
            distance.register_forward_hook(lambda *_: self.stop("distance"), always_call=True)
        if isinstance(getattr(distance, "maximiser", None), Maximiser):
            distance._maximise = self._timed("inner loop", distance._maximise)
        for optimizer in task.trainer.optimizers:
            optimizer.register_step_pre_hook(lambda *_: self.start("optimiser"))
            optimizer.register_step_post_hook(lambda *_: self.stop("optimiser"))
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
        self.trace = torch.profiler.profile(activities=activities)
        self.trace.start()
        self.recording = True

    def _timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def timed(*arguments: Any) -> Any:
            with self.profile(part):
                return function(*arguments)

        return timed

    def _charge(self) -> None:
        """Count the time since the last call for the innermost part."""
        now = _now()
        self.seconds[self._open[-1][0] if self._open else REST] += now - self._mark
        self._mark = now

    def _enter(self, part: str) -> None:
        self._charge()
        outer = self._open[-1][0] if self._open else REST
        counted = outer if outer in _WHOLE and part not in _WHOLE else part
        self.calls[counted] += counted != outer
        label = record_function(PREFIX + part)
        label.__enter__()
        self._open.append((counted, label))

    def _leave(self) -> None:
        self._charge()
        self._open.pop()[1].__exit__(None, None, None)


def part_of(action: str) -> str | None:
    """The part of the table that an action of Lightning's, or a hook of ours, belongs to."""
    if action in PARTS:
        return action
    return _ACTIONS.get(action.rpartition(".")[2], "callbacks" if action.startswith("[Callback]") else None)


def _now() -> float:
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()  # a GPU works while the clock of the CPU runs on
    return time.perf_counter()
