"""Files from the network, and whether a file is the one that it should be."""

from __future__ import annotations

import hashlib
import shutil
import urllib.request
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from tqdm import tqdm

from aswd.utils.errors import UserError
from aswd.utils.files import write_atomically
from aswd.utils.progress import LOOK

TIMEOUT = 20.0  # seconds without a byte


class Unreachable(UserError):
    """None of the addresses of a file gave it."""


def _algorithm(digest: str) -> str:
    return {32: "MD5", 64: "SHA256"}[len(digest)]


def checksum(path: Path, algorithm: str = "MD5") -> str:
    """MD5 or SHA256 of a file; looked at once, unless it changes."""
    status = path.stat()
    return _checksum(path, algorithm, status.st_size, status.st_mtime_ns)


@cache
def _checksum(path: Path, algorithm: str, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm.lower()).hexdigest()


def check_file(path: Path, digest: str) -> None:
    """Refuse a file that is not, byte for byte, the one that it should be.

    Raises:
        UserError: names the file and both checksums.
    """
    algorithm = _algorithm(digest)
    actual = checksum(path, algorithm)
    if actual != digest:
        raise UserError(
            f"{path} is damaged or another file: its {algorithm} must be {digest}, and is {actual}; delete it to have it fetched again"
        )


def download(addresses: list[str], path: Path, digest: str) -> None:
    """Bring a file from the first of its addresses that gives it whole: with this MD5 or SHA256.

    Raises:
        Unreachable: with what each of them said.
    """
    said = []
    for address in addresses:
        try:
            write_atomically(path, lambda partial, address=address: _stream(address, partial, digest))
            return
        except (OSError, ValueError) as error:  # urllib's errors are OSErrors
            said.append(f"{urlsplit(address).netloc or address}: {getattr(error, 'reason', None) or error}")
    raise Unreachable("; ".join(said))


def _stream(address: str, path: Path, digest: str) -> None:
    with urllib.request.urlopen(address, timeout=TIMEOUT) as answer, path.open("wb") as file:
        total = int(answer.headers.get("Content-Length") or 0) or None
        with tqdm.wrapattr(answer, "read", total=total, desc=address.rsplit("/", 1)[-1], **LOOK) as stream:
            shutil.copyfileobj(stream, file, 1 << 20)
    algorithm = _algorithm(digest)
    actual = checksum(path, algorithm)
    if actual != digest:
        raise ValueError(f"the download has the {algorithm} {actual}, not {digest}")
