"""``aswd clean``: remove broken and superseded files, after listing them.

Results stay, and so do interrupted runs, which can be resumed. Removed are failed and damaged runs, with all their files; files
that were set aside; locks and partial files of dead processes; checkpoints of finished runs; records of sweeps that have ended.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aswd.runs.locks import SILENCE, Locks, is_held
from aswd.runs.records import runs
from aswd.runs.store import Run, RunState
from aswd.utils.files import read_json
from aswd.utils.tables import table

_ASIDE = re.compile(r".+\.damaged-[0-9a-f]{6}$")
_HALF_WRITTEN = re.compile(r"\..+\.partial(\..*)?$|\.lock\..+$")


@dataclass(frozen=True)
class Rubbish:
    """A file or folder to remove, the reason, and the lock that protects it."""

    path: Path
    why: str
    lock: Path | None = None


def find(output_dir: Path) -> list[Rubbish]:
    """What can be removed, in the order of the store."""
    found = list(_runs(output_dir)) + list(_batches(output_dir)) + list(_sweeps(output_dir))
    folders = {rubbish.path for rubbish in found}
    return [rubbish for rubbish in found if not folders & set(rubbish.path.parents)]


def _runs(output_dir: Path) -> Iterator[Rubbish]:
    for run in runs(output_dir):
        state = run.state
        if state is RunState.RUNNING:
            continue
        if state is RunState.FAILED and run.record is None:
            yield Rubbish(run.folder, f"failed: {run.status['reason']}", run.lock)
        elif state is RunState.DAMAGED:
            yield Rubbish(run.folder, f"damaged: {run.damage()}", run.lock)
        elif state is RunState.DONE and (run.folder / "checkpoints").exists():
            yield Rubbish(run.folder / "checkpoints", "checkpoints of a finished run", run.lock)
        yield from _leftovers(run.folder, run.lock)


def _batches(output_dir: Path) -> Iterator[Rubbish]:
    """Batches work in folders of their own, under the locks of their seeds."""
    for folder in sorted(Path(output_dir, "runs").glob("*/*/*/*/seeds=*")):
        seeds = [Run(path) for path in folder.parent.glob("seed=*") if path.name.removeprefix("seed=").isdecimal()]
        if any(run.state is RunState.RUNNING for run in seeds):
            continue
        # A batch that was interrupted while writing its records still needs its last checkpoint.
        if seeds and all(run.state is RunState.DONE for run in seeds) and (folder / "checkpoints").exists():
            yield Rubbish(folder / "checkpoints", "checkpoints of finished runs")
        yield from _leftovers(folder, None)


def _leftovers(folder: Path, lock: Path | None) -> Iterator[Rubbish]:
    """Files of no further use. Recent ones may belong to a process that is just acquiring the lock."""
    for path in sorted(folder.rglob("*")):
        if _ASIDE.fullmatch(path.name):
            yield Rubbish(path, "was set aside", lock)
        elif _HALF_WRITTEN.fullmatch(path.name) and time.time() - path.lstat().st_mtime > SILENCE:
            yield Rubbish(path, "partial file of a dead process", lock)
        elif path == lock and not is_held(path):
            yield Rubbish(path, "lock of a dead process", lock)


def _sweeps(output_dir: Path) -> Iterator[Rubbish]:
    """Records of sweeps that ended with all their runs done; the last one stays, for aswd status."""
    for folder in sorted(path for path in Path(output_dir, "sweeps").glob("*") if path.is_dir())[:-1]:
        content = read_json(folder / "sweep.json")
        if not is_held(folder / "lock") and (
            content is None or ("ended" in content and not content.get("jobs")) or _is_done(output_dir, content)
        ):
            yield Rubbish(folder, "record of a sweep that has ended", folder / "lock")


def _is_done(output_dir: Path, content: dict) -> bool:
    planned = [Run(Path(output_dir, one["folder"], f"seed={seed}")) for one in content.get("planned", []) for seed in one["seeds"]]
    return all(run.state is RunState.DONE for run in planned)


def clean(output_dir: Path, yes: bool) -> int:
    """List what can be removed, ask, and remove it; the exit code is 1 if the answer is no."""
    found = find(output_dir)
    if not found:
        print(f"nothing to clean in {output_dir}")
        return 0
    print(table(("what", "why"), [(rubbish.path, rubbish.why) for rubbish in found]))
    counts = Counter(rubbish.why.partition(":")[0] for rubbish in found)
    print("total: " + ", ".join(f"{count} x {why}" for why, count in counts.items()))
    if not yes and not _confirm():
        print("nothing was removed")
        return 1
    left = [rubbish for rubbish in found if not remove(rubbish)]
    print(f"removed {len(found) - len(left)} of {len(found)}")
    for rubbish in left:
        print(f"aswd clean: {rubbish.path} was kept: it is in use or cannot be removed", file=sys.stderr)
    return 0


def _confirm() -> bool:
    try:
        return input("remove all of this? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def remove(rubbish: Rubbish) -> bool:
    """Remove it under its lock; ``False`` if that is held, or it cannot be removed."""
    locks = Locks()
    try:
        if rubbish.lock is not None and rubbish.lock != rubbish.path and not locks.acquire(rubbish.lock):
            return False
        if rubbish.path.is_dir():
            shutil.rmtree(rubbish.path)
        elif rubbish.path != rubbish.lock or not is_held(rubbish.path):
            rubbish.path.unlink(missing_ok=True)
        for parent in list(rubbish.path.parents)[:4] if rubbish.path.name.startswith("seed=") else []:
            parent.rmdir()  # up to the first that is not empty
    except OSError:
        return not rubbish.path.exists()
    finally:
        locks.release()
    return True
