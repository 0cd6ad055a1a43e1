"""Lock files that name their owner and can be taken over from a dead process.

A lock is created by a hard link, which is atomic on network file systems too. On the owner's machine a dead owner is recognised by its
process id and start time; from another machine by its heartbeat, the modification time of the file, compared with the clock of the file
system itself, since the clocks of two machines need not agree.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from aswd.utils.files import read_json, write_json

HEARTBEAT = 10.0  # seconds between two heartbeats
SILENCE = 120.0  # seconds without one after which an owner on another machine counts as dead


class LockLost(Exception):
    """Another process has taken over a lock of this one, taking it for dead."""


class Locks:
    """Locks held by this process; one thread sends their heartbeats."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._held: set[Path] = set()
        self._released = threading.Event()
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()
        self.lost: Path | None = None  # a lock that another process has taken over
        self._missing: dict[Path, int] = {}  # consecutive heartbeats at which a lock could not be read

    def acquire(self, path: Path) -> bool:
        """Acquire the lock; ``False`` if a living process holds it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        mine = path.with_name(f".{path.name}.{self._token}.{secrets.token_hex(2)}")
        write_json(mine, {"host": _host(), "pid": os.getpid(), "birth": _start_time(os.getpid()), "token": self._token})
        try:
            while True:
                try:
                    _link(mine, path)
                except FileExistsError:
                    if _owner(path).get("token") == self._token:  # created, though a network file system reported otherwise
                        break
                    if not _remove_dead(path):
                        return False
                else:
                    break
        finally:
            mine.unlink(missing_ok=True)
        with self._guard:
            self._held.add(path)
        if self._thread is None or not self._thread.is_alive():
            self._released.clear()
            self._thread = threading.Thread(target=self._beat, name="aswd-heartbeat", daemon=True)
            self._thread.start()
        return True

    def release(self, paths: Iterable[Path] | None = None) -> None:
        """Release these locks; default: all of them."""
        with self._guard:
            for path in list(self._held) if paths is None else list(paths):
                self._held.discard(path)
                if _owner(path).get("token") == self._token:
                    path.unlink(missing_ok=True)
        if not self._held:
            self._released.set()

    def check(self) -> None:
        """Raise :class:`LockLost` if a lock was lost."""
        if self.lost is not None:
            raise LockLost(f"the lock {self.lost} was taken over by another process while this one made no progress")

    def __reduce__(self) -> tuple:
        """As :class:`InheritedLocks`, for a process that this one starts."""
        return InheritedLocks, (sorted(self._held), self._token, os.getpid())

    def _beat(self) -> None:
        while not self._released.wait(HEARTBEAT):
            with self._guard:
                for path in self._held:
                    self._refresh(path)

    def _refresh(self, path: Path) -> None:
        """Touch a lock that is still ours. A lock that cannot be read three times in a row is lost."""
        token = _owner(path).get("token")
        self._missing[path] = 0 if token else self._missing.get(path, 0) + 1
        if (token and token != self._token) or self._missing[path] >= 3:
            self.lost = path
        elif token:
            with suppress(OSError):
                os.utime(path)


class InheritedLocks:
    """Locks that the process that started this one holds.

    Args:
        paths: of the locks.
        token: of their holder.
        holder: its process.
    """

    def __init__(self, paths: list[Path], token: str, holder: int) -> None:
        self.paths, self.token, self.holder = paths, token, holder
        self._next = time.monotonic() + HEARTBEAT

    def check(self) -> None:
        """Raise :class:`LockLost` if the holder is gone, or another process has taken over one of its locks."""
        if os.getppid() != self.holder:
            raise LockLost("the process that holds the locks of this run is gone")
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + HEARTBEAT
            for path in self.paths:
                if _owner(path).get("token", self.token) != self.token:
                    raise LockLost(f"the lock {path} was taken over by another process while this one made no progress")


def _link(file: Path, name: Path) -> None:
    """Link ``name`` to the file unless it exists; on a file system without hard links, write a copy."""
    try:
        os.link(file, name)
    except FileExistsError:
        raise
    except OSError:
        with name.open("x") as copy:
            copy.write(file.read_text())


def is_held(path: Path) -> bool:
    """Whether a living process holds the lock."""
    return path.exists() and not _is_dead(path, _owner(path))


def _remove_dead(path: Path) -> bool:
    """Remove the lock of a dead owner; ``False`` if the owner is alive."""
    owner = _owner(path)
    if not path.exists():
        return True
    if not _is_dead(path, owner):
        return False
    moved = path.with_name(f".{path.name}.dead-{secrets.token_hex(4)}")
    try:
        path.rename(moved)
    except FileNotFoundError:  # another process was faster
        return True
    if _owner(moved) != owner:  # the renamed lock belongs to a process that came in between
        with suppress(FileExistsError):
            _link(moved, path)
    moved.unlink(missing_ok=True)
    return True


def _is_dead(path: Path, owner: dict) -> bool:
    if owner.get("host") == _host():
        return _start_time(owner.get("pid")) != owner.get("birth")
    probe = path.with_name(f".{path.name}.clock-{secrets.token_hex(4)}")
    try:
        probe.touch()
        return probe.stat().st_mtime - path.stat().st_mtime > SILENCE
    except OSError:
        return False
    finally:
        probe.unlink(missing_ok=True)


def _owner(path: Path) -> dict:
    return read_json(path) or {}


def _host() -> str:
    """This machine since its last boot: process ids mean nothing elsewhere."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return f"{socket.gethostname()}/{boot.read_text().strip() if boot.exists() else ''}/{_namespace()}"


def _namespace() -> str:
    """The namespace of process ids: containers have their own."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _start_time(pid: int | None) -> str | None:
    """Start time of a process, which with its id identifies it; ``None`` if there is no such process."""
    if pid is None:
        return None
    stat = Path(f"/proc/{pid}/stat")
    if stat.parent.parent.joinpath("self").exists():  # Linux
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in "ZX" else fields[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return "alive"
