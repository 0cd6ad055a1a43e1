"""Files that are either whole or not there."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

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


def read_json(path: Path) -> dict | None:
    """The object in a JSON file, or ``None`` where there is no such file or nothing of the kind in it."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
    runs = Path(output_dir, "runs")
    try:
        runs.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=runs):
            pass
    except OSError as error:
        reason = f"got {str(output_dir)!r}: {error.strerror}"
        raise UserError(f"paths.output_dir must be a folder that can be written to; {reason}") from None
