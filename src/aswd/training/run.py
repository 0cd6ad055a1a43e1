"""One run, from its settings to its record: locks, resumption, fit, outcome."""

from __future__ import annotations

import logging
import math
import platform
import resource
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
import yaml
from pytorch_lightning import Trainer, seed_everything
from pytorch_lightning.plugins.environments import LightningEnvironment

from aswd.configuration import RunSpec
from aswd.data.registry import data_module
from aswd.distances.workers import worker_count, workers
from aswd.results.files import write_text
from aswd.results.lock import Locks
from aswd.results.store import Metrics, Run, RunState, batch_name
from aswd.tasks.base import Diverged, Task
from aswd.tasks.registry import task_class
from aswd.training import loggers
from aswd.training.checkpoints import Checkpoints, checkpoint_path, latest_checkpoint, remove_checkpoints
from aswd.training.recorder import Recorder
from aswd.training.signals import Interrupted, StopRequest

PACKAGES = ("aswd", "torch", "pytorch-lightning", "numpy", "scipy", "POT", "hydra-core")


@dataclass
class Outcome:
    """What has become of one seed: ``done``, ``skipped``, ``failed``, ``running`` (elsewhere) or ``interrupted``."""

    word: str
    run: Run
    text: str = ""
    signal: int | None = None


def carry_out(spec: RunSpec) -> list[Outcome]:
    """Run the seeds of ``spec`` that are not done yet, as one batch, and say what has become of each.

    Whatever goes wrong inside is written down in the store and returned, not raised.
    """
    outcomes: list[Outcome] = []
    locks, pending, request = Locks(), [], StopRequest()
    try:
        with request.listening(), _threads(spec), _quiet():
            for seed in spec.seeds:
                run = spec.run(seed)
                word = _claim(run, locks, spec.force)
                if word is None:
                    pending.append(seed)
                else:
                    outcomes.append(Outcome(word, run))
            while pending:
                ended = _attempt(spec, pending, locks, request)
                outcomes += ended
                pending = [seed for seed in pending if seed not in {outcome.run.seed for outcome in ended}]
    finally:
        locks.release()
    return sorted(outcomes, key=lambda outcome: outcome.run.seed)


def _claim(run: Run, locks: Locks, force: bool) -> str | None:
    """Take the lock of a run that is to be made; else say why it is not."""
    if not force and run.state is RunState.DONE and run.damage() is None:
        return "skipped"
    if not locks.acquire(run.lock):
        return "running"
    status = run.status  # again: it may have been finished while the lock was waited for
    damage = run.set_aside_if_damaged()
    if damage is not None:
        print(f"aswd: {damage}", file=sys.stderr)
    elif status is not None and status["status"] == RunState.DONE and not force:
        locks.release([run.lock])
        return "skipped"
    elif status is not None or force:  # failed before, or to be made again: from the beginning
        run.forget_outcome()
        remove_checkpoints(run.folder / "checkpoints")
    return None


def _attempt(spec: RunSpec, pending: list[int], locks: Locks, request: StopRequest) -> list[Outcome]:
    """Run ``pending`` as one batch. A seed that diverges comes back alone; the others are to be run without it."""
    seeds = _batch_of(spec, pending)
    folder = spec.folder / batch_name(seeds)
    if spec.force and len(seeds) > 1:
        remove_checkpoints(folder / "checkpoints")
    batch = spec.of_seeds(seeds)
    try:
        done = _fit(batch, pending, folder, locks, request)
        return [Outcome("done", run, text) for run, text in done]
    except Diverged as error:
        run = spec.run(error.seed)
        run.fail(str(error), traceback.format_exc(), error.step)
        return [Outcome("failed", run, str(error))]
    except Interrupted as error:
        return [Outcome("interrupted", spec.run(seed), str(error), error.number) for seed in pending]
    except Exception as error:
        reason = f"{type(error).__name__}: {str(error).strip() or 'no message'}".splitlines()[0]
        for seed in pending:
            spec.run(seed).fail(reason, traceback.format_exc(), None)
        return [Outcome("failed", spec.run(seed), reason) for seed in pending]


def _batch_of(spec: RunSpec, pending: list[int]) -> list[int]:
    """The seeds to run together: those ``pending``, or a batch of more that ran to its end and was cut off while it wrote its records."""
    for config in [] if spec.force else sorted(spec.folder.glob("seeds=*/config.yaml")):
        seeds = yaml.safe_load(config.read_text())["seeds"]
        rest = set(seeds) - set(pending)
        if rest and set(pending) < set(seeds) and all(spec.run(seed).state is RunState.DONE for seed in rest):
            last = spec.run(min(rest)).result["steps"]
            if checkpoint_path(config.parent / "checkpoints", last).exists():
                return seeds
    return pending


def _fit(spec: RunSpec, wanted: list[int], folder: Path, locks: Locks, request: StopRequest) -> list[tuple[Run, str]]:
    """Fit the seeds of ``spec`` in ``folder`` and write the records of those ``wanted``."""
    for seed in wanted:
        spec.run(seed).write_config(yaml.safe_dump(spec.of_seeds([seed]).plain(), sort_keys=False))
    if len(spec.seeds) > 1:
        write_text(folder / "config.yaml", yaml.safe_dump(spec.plain(), sort_keys=False))
    seed_everything(spec.seeds[0], verbose=False)  # for distances from outside that draw from the global random state
    data = data_module(spec.data.name)(spec.data, spec.seeds)
    task = task_class(spec.task.name)(spec.task, data, spec.build_distance(), spec.seeds)
    metrics = Metrics(spec.seeds)
    recorder = Recorder(folder / "metrics.csv", metrics, f"{spec.title} {spec.seeds_text}", spec.trainer.progress)
    checkpoint = latest_checkpoint(folder / "checkpoints")
    mirrors = loggers.make_loggers(spec, folder)
    failed = True
    try:
        trainer = Trainer(
            accelerator=spec.trainer.accelerator,
            devices=1,
            deterministic=spec.trainer.deterministic,
            max_steps=min(task.num_steps, spec.trainer.max_steps or task.num_steps),
            max_epochs=-1,
            logger=mirrors,
            callbacks=[recorder, Checkpoints(folder / "checkpoints", spec.trainer.checkpoint_seconds, request, locks)],
            default_root_dir=folder,
            plugins=[LightningEnvironment()],  # one process, also inside a SLURM job
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(task, datamodule=data, ckpt_path=checkpoint)
        result = _circumstances(spec, task, recorder)
        pictures = task.draw(folder / "pictures", metrics, spec.title)
        done = []
        for seed in wanted:
            run, final = spec.run(seed), _final(task, metrics, seed)
            run.finish(metrics, task.samples(spec.seeds.index(seed)), {**result, "seed": seed, "final": final})
            done.append((run, ", ".join(f"{name} {value:.4g}" for name, value in final.items() if name.startswith("log10"))))
        loggers.mirror_outcome(mirrors, metrics, pictures, result)
        failed = False
        return done
    finally:
        recorder.close()
        loggers.finish(mirrors, failed)


def _final(task: Task, metrics: Metrics, seed: int) -> dict[str, float]:
    final = metrics.last(seed)
    headline = final[task.headline]
    return {**final, f"log10_{task.headline}": math.log10(headline) if headline > 0 else -math.inf}


def _circumstances(spec: RunSpec, task: Task, recorder: Recorder) -> dict[str, Any]:
    """All that a reader of the result may ask about how it came about."""
    device = task.device
    on_gpu = device.type == "cuda"
    peak = torch.cuda.max_memory_allocated(device) if on_gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    plain = spec.plain()
    return {
        "reading": spec.reading,
        "replicas": len(spec.seeds),
        "steps": recorder.metrics.steps[-1],
        "settings": {"task": plain["task"], "data": plain["data"], "distance": plain["distance"]},
        "device": torch.cuda.get_device_name(device) if on_gpu else platform.processor() or platform.machine(),
        "threads": worker_count(),
        "wall_time": recorder.elapsed,
        "peak_memory": peak,
        "revision": _revision(),
        "versions": {name: _version(name) for name in PACKAGES} | {"python": platform.python_version()},
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _revision() -> str | None:
    """The git revision of the code, where it is a checkout; with ``+changes`` where that is not all."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--abbrev=40", "--dirty=+changes", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


@contextmanager
def _threads(spec: RunSpec) -> Iterator[None]:
    """The threads that the run may use, torch's own among them only where they pay."""
    before = torch.get_num_threads()
    count = spec.trainer.threads or before
    torch.set_num_threads(1 if task_class(spec.task.name).small_tensors else count)
    try:
        with workers(count):
            yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what Lightning says about itself."""
    chatter = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in chatter]
    for logger in chatter:
        logger.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(pytorch_lightning|lightning|torch)\..*")
        try:
            yield
        finally:
            for logger, level in zip(chatter, levels, strict=True):
                logger.setLevel(level)
