"""Locks that say who holds them, and that can be taken over from the dead.

A lock is a file, made by a hard link, which is atomic on network file systems too. On the owner's machine death is seen at
once: no process has its number and birth. From another machine it is seen by the heartbeat, the time of the file's last touch, against
the clock of the file system itself, since the clocks of two machines need not agree.
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

HEARTBEAT = 10.0  # seconds between two touches
SILENCE = 120.0  # seconds without one after which a distant owner counts as dead


class LockLost(Exception):
    """Another process has taken over a lock of this one, which it must have thought dead."""


class Locks:
    """Locks on several files held by this process, kept alive by one thread."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._held: set[Path] = set()
        self._released = threading.Event()
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()
        self.lost: Path | None = None  # a lock that another process took over, this one having been silent for too long
        self._missing: dict[Path, int] = {}  # beats in a row at which a lock could not be read

    def acquire(self, path: Path) -> bool:
        """Take the lock; ``False`` where someone who is alive holds it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        mine = path.with_name(f".{path.name}.{self._token}.{secrets.token_hex(2)}")
        write_json(mine, {"host": _host(), "pid": os.getpid(), "birth": _birth(os.getpid()), "token": self._token})
        try:
            while True:
                try:
                    _give_name(mine, path)
                except FileExistsError:
                    if _owner(path).get("token") == self._token:  # made, though a network file system said otherwise
                        break
                    if not _bury(path):
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
        """Give back these locks, or all of them."""
        with self._guard:
            for path in list(self._held) if paths is None else list(paths):
                self._held.discard(path)
                if _owner(path).get("token") == self._token:
                    path.unlink(missing_ok=True)
        if not self._held:
            self._released.set()

    def check(self) -> None:
        """Raise :class:`LockLost` where a lock was lost."""
        if self.lost is not None:
            raise LockLost(f"the lock {self.lost} was taken over by another process while this one made no progress")

    def __reduce__(self) -> tuple:
        """As :class:`InheritedLocks`, for a process that this one starts."""
        return InheritedLocks, (sorted(self._held), self._token, os.getpid())

    def _beat(self) -> None:
        while not self._released.wait(HEARTBEAT):
            with self._guard:
                for path in self._held:
                    self._look_after(path)

    def _look_after(self, path: Path) -> None:
        """Touch a lock that is still ours. One that cannot be read, as for a moment on a network, is lost at the third time."""
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
        """Raise :class:`LockLost` where the holder is gone, or another process has taken over a lock of it."""
        if os.getppid() != self.holder:
            raise LockLost("the process that holds the locks of this run is gone")
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + HEARTBEAT
            for path in self.paths:
                if _owner(path).get("token", self.token) != self.token:
                    raise LockLost(f"the lock {path} was taken over by another process while this one made no progress")


def _give_name(file: Path, name: Path) -> None:
    """Let ``name`` be the file too, unless it is taken; where the file system has no hard links, by writing it anew."""
    try:
        os.link(file, name)
    except FileExistsError:
        raise
    except OSError:
        with name.open("x") as copy:
            copy.write(file.read_text())


def is_held(path: Path) -> bool:
    """Whether someone who is alive holds the lock."""
    return path.exists() and not _is_dead(path, _owner(path))


def _bury(path: Path) -> bool:
    """Remove the lock of a dead owner; ``False`` where the owner lives."""
    owner = _owner(path)
    if not path.exists():
        return True
    if not _is_dead(path, owner):
        return False
    grave = path.with_name(f".{path.name}.dead-{secrets.token_hex(4)}")
    try:
        path.rename(grave)
    except FileNotFoundError:  # another one was faster
        return True
    if _owner(grave) != owner:  # the lock that was renamed is of someone who came in between
        with suppress(FileExistsError):
            _give_name(grave, path)
    grave.unlink(missing_ok=True)
    return True


def _is_dead(path: Path, owner: dict) -> bool:
    if owner.get("host") == _host():
        return _birth(owner.get("pid")) != owner.get("birth")
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
    """This machine, since its last start: numbers of processes mean nothing on another, or after it."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return f"{socket.gethostname()}/{boot.read_text().strip() if boot.exists() else ''}/{_namespace()}"


def _namespace() -> str:
    """The space of process numbers: two containers on one machine have their own."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _birth(pid: int | None) -> str | None:
    """When a process was started, which with its number names it; ``None`` where there is no such process."""
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
