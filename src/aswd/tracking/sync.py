"""``aswd wandb sync``: replay the runs of the store to W&B, each once."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aswd.runs import Run, records, select
from aswd.runs.locks import Locks
from aswd.tracking.replay import Replay, Target
from aswd.tracking.session import imported, is_online
from aswd.utils.errors import UserError
from aswd.utils.files import read_json, write_json
from aswd.utils.progress import progress_bar

REFUSALS = 3  # consecutive refusals after which sync stops; the first run must succeed


def sync(
    output_dir: Path,
    project: str,
    entity: str | None,
    mode: str,
    filters: list[str],
    tags: list[str],
    again: bool = False,
    series: dict[str, dict[str, str]] | None = None,
) -> int:
    """Replay the runs of the store that W&B does not have yet; the exit code is 1 where one could not be.

    Args:
        output_dir: of the store.
        project: W&B project.
        entity: user or team.
        mode: ``auto``, ``online`` or ``offline``.
        filters: ``column=value,value`` of the table of records.
        tags: further tags.
        again: also runs that were replayed before.
        series: the runs of an artifact alone: by key, the artifact and the label that the run has in it.

    Raises:
        UserError: W&B is not installed, a filter that makes no sense, another process that does the same.
    """
    chosen = select(records(output_dir), filters)
    if series is not None:
        chosen = chosen[chosen["key"].isin(series)]
    waiting = int((~chosen["state"].isin(["done", "failed", "damaged"])).sum())
    chosen = chosen[chosen["state"].isin(["done", "failed", "damaged"])]
    if chosen.empty:
        print(f"no finished runs to replay in {output_dir}" + (f" ({waiting} are not done yet)" if waiting else ""))
        return 0
    wandb = imported(output_dir)
    online = is_online(mode)
    folder = Path(output_dir, "wandb", "mirror", f"{entity}.{project}" if entity else project)
    with _alone(Path(output_dir, "wandb", "sync.lock")), _scratch(online) as scratch:
        target = Target(project, entity, online, scratch or folder)
        memory = _Memory(Path(output_dir, "wandb", "replayed.json"), target)
        counts, refusals = {"replayed": 0, "replayed before": 0, "damaged": 0, "refused": 0}, 0
        for row in progress_bar(list(chosen.itertuples()), what="replaying", unit="run"):
            known, had = memory.labels(f"{row.key}-seed-{row.seed}")
            labels = {**known, **(series or {}).get(row.key, {})}
            replay = Replay(Run(Path(row.folder)), labels, tuple(dict.fromkeys([*had, *tags])))
            status = _replay(wandb, replay, target, memory, again)
            counts[status] += 1
            refusals = refusals + 1 if status == "refused" else 0
            if refusals >= (REFUSALS if counts["replayed"] else 1):
                print("aswd wandb: the remaining runs were not tried; the same command resumes", file=sys.stderr)
                break
    print(", ".join(f"{count} {status}" for status, count in counts.items() if count) + (f"; {waiting} not done yet" if waiting else ""))
    print(f"in {target.name}" if online else _where(folder))
    return 1 if counts["refused"] or counts["damaged"] else 0


def _replay(wandb: Any, replay: Replay, target: Target, memory: _Memory, again: bool) -> str:
    damage = replay.run.damage()
    if damage is not None:
        print(f"aswd wandb: {replay.run.folder} is damaged ({damage}) and was left out; aswd train executes it again", file=sys.stderr)
        return "damaged"
    names, digest = replay.names, replay.digest
    if not again and memory.has(names.id, digest):
        return "replayed before"
    former = [] if target.online else _offline_folders(target.folder, names.id)
    try:
        replay.write(wandb, target)
    except UserError as error:
        print(f"aswd wandb: {error}", file=sys.stderr)
        return "refused"
    for old in former:  # what is sent twice under one id would be there twice
        shutil.rmtree(old, ignore_errors=True)
    memory.add(replay, digest)
    return "replayed"


def _offline_folders(folder: Path, run_id: str) -> list[Path]:
    return [path.parent for path in (folder / "wandb").glob(f"offline-run-*/run-{run_id}.wandb")]


def _where(folder: Path) -> str:
    path = folder / "wandb"
    return f"in {path}; look at them with `wandb leet {path}`, send them with `wandb sync {path}/offline-run-*`"


class _Memory:
    """What was replayed to where, by its digest: a small file beside the mirror."""

    def __init__(self, path: Path, target: Target) -> None:
        self.path, self.target = path, target
        self._all = {name: known for name, known in (read_json(path) or {}).items() if isinstance(known, dict)}
        self._mine: dict[str, dict] = self._all.setdefault(target.name, {})
        for run_id in [run_id for run_id, known in self._mine.items() if not isinstance(known, dict)]:
            del self._mine[run_id]  # damaged: replayed again

    def has(self, run_id: str, digest: str) -> bool:
        """Whether this very content is there; offline, whether its file still is."""
        same = self._mine.get(run_id, {}).get("digest") == digest
        return same and (self.target.online or bool(_offline_folders(self.target.folder, run_id)))

    def labels(self, run_id: str) -> tuple[dict[str, str], list[str]]:
        """The artifacts that the run is known to be part of, and the tags that it was given."""
        mine = self._mine.get(run_id, {})
        return mine.get("series", {}), mine.get("tags", [])

    def add(self, replay: Replay, digest: str) -> None:
        """Remember one; written at once, so that a kill costs nothing."""
        self._mine[replay.names.id] = {"digest": digest, "series": replay.series, "tags": list(replay.tags)}
        write_json(self.path, self._all)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    locks = Locks()
    if not locks.acquire(lock):
        raise UserError(f"another process is replaying this store (lock: {lock}): wait for it")
    try:
        yield
    finally:
        locks.release()


@contextmanager
def _scratch(online: bool) -> Iterator[Path | None]:
    """Room for what wandb writes down before it sends it; offline that is the result itself."""
    if not online:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="aswd-wandb-") as folder:
        yield Path(folder)
