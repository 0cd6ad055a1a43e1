"""One run, from its configuration to its record: locks, resume, fit, result."""

from __future__ import annotations

import math
import resource
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import yaml
from hydra.utils import instantiate
from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.profilers import Profiler

from aswd.config.run import RunConfig, canonical, seeds_of
from aswd.distances.kernel import kernel_is_built
from aswd.distances.workers import worker_count
from aswd.runs.checkpoints import Checkpoints, checkpoint_path, latest_checkpoint, remove_checkpoints
from aswd.runs.devices import has_several, restore
from aswd.runs.locks import LockLost, Locks
from aswd.runs.processes import build, threads, trainer_arguments
from aswd.runs.progress import ProgressBar
from aswd.runs.provenance import device_name, revision, versions
from aswd.runs.recorder import Recorder
from aswd.runs.signals import Interrupted, StopRequest
from aswd.runs.store import Run, RunState, batch_name
from aswd.tasks.base import Diverged
from aswd.tasks.registry import task_class
from aswd.utils.errors import UserError
from aswd.utils.files import read_bytes, set_aside, write_text
from aswd.utils.metric_history import MetricHistory
from aswd.utils.quiet import quiet
from aswd.utils.registry import import_objects
from aswd.utils.secrets import mask_options, mask_text

# By name: tracking stands on this package.
build_loggers, log_result, finish_loggers = import_objects("aswd.tracking.loggers:build_loggers:log_result:finish_loggers")


@dataclass
class RunResult:
    """The result of one seed: ``done``, ``skipped``, ``failed``, ``running`` (elsewhere), ``queued`` or ``interrupted``."""

    status: str
    run: Run
    text: str = ""
    signal: int | None = None


def execute_run(spec: RunConfig, request: StopRequest | None = None, profiler: Profiler | None = None) -> list[RunResult]:
    """Run the seeds of ``spec`` that are not done yet, as one batch; returns the result of each.

    A failure is recorded in the store and returned, not raised.

    Args:
        spec: the run.
        request: whether to stop.
        profiler: of Lightning's kind; default: what ``trainer.profiler`` says.
    """
    outcomes: list[RunResult] = []
    locks, pending, request = Locks(), [], request or StopRequest()
    try:
        with request.listening(), threads(spec), quiet():
            for seed in spec.seeds:
                run = Run.of(spec, seed)
                try:
                    status = _claim(run, locks, spec.force)
                except Exception as error:
                    outcomes.append(RunResult("failed", run, _reason(error)))
                    continue
                if status is None:
                    pending.append(seed)
                else:
                    outcomes.append(RunResult(status, run, _made_with(run) if status == "skipped" else ""))
            while pending:
                together = pending if getattr(task_class(spec.task.name), "batches_seeds", False) else pending[:1]
                ended = _attempt(spec, together, locks, request, profiler)
                outcomes += ended
                pending = [seed for seed in pending if seed not in {outcome.run.seed for outcome in ended}]
    finally:
        locks.release()
    return sorted(outcomes, key=lambda outcome: outcome.run.seed)


def _reason(error: Exception) -> str:
    return mask_text(f"{type(error).__name__}: {str(error).strip() or 'no message'}".splitlines()[0])


def _made_with(run: Run) -> str:
    """The code from outside that took part in a finished run, if any did."""
    code = [f"{part} by {info['module']} {info['digest'][:8]}" for part, info in run.result.get("code", {}).items()]
    return f"made with {', '.join(code)}" if code else ""


def _claim(run: Run, locks: Locks, force: bool) -> str | None:
    """Acquire the lock of a run; ``None``, or the status of a run that is not to be executed."""
    if not force and run.state is RunState.DONE:
        return "skipped"
    if not locks.acquire(run.lock):
        return "running"
    if not force and run.is_done:  # by another process in the meantime
        locks.release([run.lock])
        return "skipped"
    damage = run.set_aside_if_damaged()
    if damage is not None:
        print(f"aswd: {damage}", file=sys.stderr)
    run.start_over()
    if force:
        remove_checkpoints(run.folder / "checkpoints")
    return None


def _attempt(spec: RunConfig, pending: list[int], locks: Locks, request: StopRequest, profiler: Profiler | None) -> list[RunResult]:
    """Execute ``pending`` as one batch. If seeds diverge, only their results are returned; the others are to be executed without them."""
    done: list[RunResult] = []
    try:
        seeds = _batch_of(spec, pending)
        folder = spec.folder / batch_name(seeds)
        if spec.force:
            remove_checkpoints(folder / "checkpoints")
        _fit(spec.with_seeds(seeds), pending, folder, locks, request, done, profiler)
        return done
    except Diverged as error:
        for seed, step in error.steps.items():
            _note_failure(Run.of(spec, seed), f"the loss of seed {seed} is not finite at step {step}", step)
        return [RunResult("failed", Run.of(spec, seed), f"the loss is not finite at step {step}") for seed, step in error.steps.items()]
    except Interrupted as error:
        return [RunResult("interrupted", Run.of(spec, seed), str(error), error.number) for seed in pending]
    except LockLost as error:
        return [*done, *(RunResult("running", Run.of(spec, seed), str(error)) for seed in _rest(pending, done))]
    except SystemExit:  # what Lightning raises at a second Ctrl-C
        raise KeyboardInterrupt from None
    except Exception as error:
        rest = _rest(pending, done)
        for seed in rest:
            _note_failure(Run.of(spec, seed), _reason(error), None)
        return [*done, *(RunResult("failed", Run.of(spec, seed), _reason(error)) for seed in rest)]


def _note_failure(run: Run, reason: str, step: int | None) -> None:
    """Record why a run failed; on a full disk that is not possible, and the run counts as interrupted."""
    try:
        run.fail(reason, traceback.format_exc(), step)
    except OSError as error:
        print(f"aswd: the failure of {run.folder} could not be recorded ({_reason(error)})", file=sys.stderr)


def _rest(pending: list[int], done: list[RunResult]) -> list[int]:
    return [seed for seed in pending if seed not in {outcome.run.seed for outcome in done}]


def _batch_of(spec: RunConfig, pending: list[int]) -> list[int]:
    """The seeds of the batch: those ``pending``, or a larger batch that was interrupted while it wrote its records."""
    for config in [] if spec.force else sorted(spec.folder.glob("seeds=*/config.yaml")):
        seeds = _seeds_of(config)
        rest = set(seeds) - set(pending)
        if rest and set(pending) < set(seeds) and all(Run.of(spec, seed).state is RunState.DONE for seed in rest):
            last = Run.of(spec, min(rest)).result.get("steps")
            if last is not None and checkpoint_path(config.parent / "checkpoints", last).exists():
                return seeds
    return pending


def _seeds_of(config: Path) -> list[int]:
    """The seeds of a batch by its configuration; none, where that is damaged, and then it is set aside."""
    try:
        return seeds_of(yaml.safe_load(read_bytes(config).decode("utf-8")))
    except (OSError, TypeError, AttributeError, ValueError, RecursionError, yaml.YAMLError):
        print(f"aswd: {config} is damaged; it was set aside as {set_aside(config).name}", file=sys.stderr)
        return []


def _fit(
    spec: RunConfig,
    wanted: list[int],
    folder: Path,
    locks: Locks,
    request: StopRequest,
    done: list[RunResult],
    profiler: Profiler | None,
) -> None:
    """Fit the seeds of ``spec`` in ``folder``, write the records of those ``wanted``, and add each to ``done`` when it is written."""
    for seed in wanted:
        Run.of(spec, seed).write_config(spec.with_seeds([seed]).to_yaml())
    if len(spec.seeds) > 1:
        write_text(folder / "config.yaml", spec.to_yaml())
    task, data = build(spec)
    if request.number is not None:
        raise Interrupted(request.number, 0)
    if has_several(spec.trainer.devices):
        request.share()
    metrics = MetricHistory(spec.seeds)
    recorder = Recorder(folder / "metrics.csv", metrics)
    bar = [ProgressBar(f"{spec.title} {spec.seeds_text}")] if spec.trainer.enable_progress_bar else []
    checkpoints = Checkpoints(folder / "checkpoints", spec.trainer, request, locks)
    checkpoint = latest_checkpoint(folder / "checkpoints")
    mirrors = build_loggers(spec, folder, resumed=checkpoint is not None)
    failed = True
    try:
        trainer = Trainer(
            **(trainer_arguments(spec, task) | {"profiler": profiler or spec.trainer.profiler}),
            logger=mirrors,
            callbacks=[recorder, *bar, *(instantiate(node) for node in spec.callbacks.values()), checkpoints],
            default_root_dir=folder,
        )
        trainer.fit(task, datamodule=data, ckpt_path=checkpoint, weights_only=True)
        if has_several(spec.trainer.devices):
            restore(task, recorder, folder / "checkpoints")
        result = _result(spec, task, recorder)
        images: list[Path] = []
        if hasattr(task, "draw"):
            _tolerating("the images", lambda: images.extend(task.draw(folder / "images", metrics, spec.title)))
        locks.check()
        for seed in wanted:
            run, final = Run.of(spec, seed), _final(task, metrics, seed)
            samples = task.samples(spec.seeds.index(seed)) if hasattr(task, "samples") else {}
            run.finish(metrics, samples, {**result, "seed": seed, "final": final})
            done.append(RunResult("done", run))
        failed = False
        _tolerating("the mirror", lambda: log_result(mirrors, metrics, images, result))
    finally:
        _tolerating("the mirror", lambda: finish_loggers(mirrors, failed))


def _tolerating(what: str, action: Callable[[], None]) -> None:
    """Report an error of something that the record does not need, and continue."""
    try:
        action()
    except Exception as error:
        print(f"aswd: {what} of a run failed ({_reason(error)}); its record is not affected", file=sys.stderr)


def _headline(task: LightningModule, metrics: MetricHistory) -> str:
    """The metric by which runs are compared: the task's, or else the first that it logs."""
    return getattr(task, "headline", None) or next(iter(metrics.values))


def _final(task: LightningModule, metrics: MetricHistory, seed: int) -> dict[str, float]:
    """The last metrics of a seed, and last of them the headline or its logarithm."""
    final, name = metrics.last(seed), _headline(task, metrics)
    if name not in final:
        raise UserError(f"{type(task).__name__}.headline must be a metric that it logs, one of {', '.join(final)}; got {name!r}")
    value = final[name] = final.pop(name)
    if getattr(task, "logarithmic", False):
        final[f"log10_{name}"] = math.log10(value) if value > 0 else -math.inf
    return final


def _result(spec: RunConfig, task: LightningModule, recorder: Recorder) -> dict[str, Any]:
    """What the results of all seeds of a run share."""
    on_gpu = task.device.type == "cuda"
    peak = torch.cuda.max_memory_allocated(task.device) if on_gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    plain = spec.plain()
    return {
        "reading": spec.reading,
        "headline": _headline(task, recorder.metrics),
        "replicas": len(spec.seeds),
        "steps": recorder.metrics.steps[-1],
        "settings": {name: plain[name] for name in ("task", "data", "distance")},
        "identity": mask_options(canonical(spec.identity)),
        "code": spec.code,
        "device": device_name(task.device),
        "threads": worker_count(),
        "kernel": "compiled" if kernel_is_built() else "numpy",
        "wall_time": recorder.elapsed,
        "peak_memory": peak,
        "revision": revision(),
        "versions": versions(),
        **getattr(task, "record", dict)(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
