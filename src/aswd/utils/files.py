"""Files that are either whole or not there."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from aswd.utils.checks import shown
from aswd.utils.errors import UserError


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a file beside ``path``, see it safely on the disk, and give it its name in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays last: libraries choose the format by it.
    partial = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.partial{path.suffix}")
    try:
        write(partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        if path.is_dir() and not path.is_symlink():  # a folder in the file's place is nothing of ours
            set_aside(path)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    _sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_atomically(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, allow_nan=True) + "\n")


@contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file to read it.

    Raises:
        OSError: it cannot be opened, or is a device or a pipe, which might never end.
    """
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        yield file


def read_bytes(path: Path) -> bytes:
    """Content of a regular file; raises as :func:`open_regular`."""
    with open_regular(path) as file:
        return file.read()


def read_json(path: Path) -> dict | None:
    """The object in a JSON file, or ``None`` where there is no such file or nothing of the kind in it."""
    try:
        value = json.loads(read_bytes(path).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


_digests: dict[tuple[int, ...], str] = {}  # of files that this process has read


def digest(path: Path) -> str:
    """SHA-256 of a regular file; raises as :func:`open_regular`.

    A file is read again only if it has changed, by its ctime, which no program can set. That has the resolution of the kernel's timer: a
    file that was changed a moment ago is read every time.
    """
    with open_regular(path) as file:
        info = os.fstat(file.fileno())
        key = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
        if key in _digests:
            return _digests[key]
        content = hashlib.file_digest(file, "sha256").hexdigest()
    if time.time() - info.st_ctime > 2:
        _digests[key] = content
    return content


def digests(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Digests of some files in a folder."""
    return {name: digest(folder / name) for name in names}


def find_damage(folder: Path, expected: dict[str, str]) -> str | None:
    """The first file that does not have its digest and what is wrong with it, or ``None``."""
    for name, value in expected.items():
        try:
            if digest(folder / name) != value:
                return f"{name} has changed since it was written"
        except FileNotFoundError:
            return f"{name} is missing"
        except OSError as error:
            return f"{name} cannot be read: {error.strerror}"
    return None


def set_aside(path: Path, why: str = "damaged") -> Path:
    """Rename a file that must not be used, so that a person can still look at it; returns its new name."""
    aside = path.with_name(f"{path.name}.{why}-{secrets.token_hex(3)}")
    path.replace(aside)
    return aside


def _sync_folder(folder: Path) -> None:
    """Have a rename survive a power cut; not every file system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def check_writable(output_dir: str | Path) -> None:
    """Refuse an output folder that cannot be written to, before any work.

    Raises:
        UserError: with the reason.
    """
    _check_folder(Path(output_dir, "runs"), f"paths.output_dir must be a folder that can be written to; got {shown(str(output_dir))}")


def check_writable_file(option: str, path: Path) -> None:
    """Refuse a file that cannot be written, before any work.

    Raises:
        UserError: with the reason.
    """
    if path.is_dir():
        raise UserError(f"{option} must be a file; got the folder {str(path)!r}")
    _check_folder(path.parent, f"{option} must be in a folder that can be written to; got {shown(str(path))}")


def _check_folder(folder: Path, sentence: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(f"{sentence}: {error.strerror}") from None
