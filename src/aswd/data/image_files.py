"""Image files: which there are, what they are in bytes, and a cache of them decoded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from aswd.utils.errors import UserError
from aswd.utils.files import digest, write_atomically
from aswd.utils.progress import progress_bar

SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".webp", ".ppm", ".pgm", ".gif", ".tif", ".tiff"}
SPLITS = ("train", "test")
_GREY = {"1", "L", "LA", "La", "I", "I;16", "F"}  # modes of PIL


def find_images(folder: Path) -> list[Path]:
    """The image files of a folder and all below it, hidden ones left out, in the order of their names.

    Links are followed; a folder counts once, however many links lead to it.

    Raises:
        ValueError: a folder cannot be read; the sentence lacks its prefix, ``data.``.
    """
    paths: list[Path] = []
    seen: set[tuple[int, int]] = set()
    for parent, folders, files in os.walk(folder, followlinks=True, onerror=_refuse):
        status = os.stat(parent)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths += [Path(parent, name) for name in files if Path(name).suffix.lower() in SUFFIXES and not name.startswith(".")]
    return sorted(paths, key=lambda path: path.relative_to(folder).parts)


def find_splits(root: Path, test_every: int) -> dict[str, list[Path]]:
    """Images to train on and to test on: those of the folders ``train`` and ``test``, if there are both, else every n-th to test on."""
    if all((root / split).is_dir() for split in SPLITS):
        return {split: find_images(root / split) for split in SPLITS}
    paths = find_images(root)
    held = set(range(test_every - 1, len(paths), test_every)) or {len(paths) - 1}
    return {"train": [path for i, path in enumerate(paths) if i not in held], "test": [paths[i] for i in sorted(held) if paths]}


def find_copies(paths: Sequence[Path], others: Sequence[Path]) -> set[Path]:
    """Those of ``paths`` whose content one of ``others`` has too. Files are read where their sizes are equal only."""
    sizes = {path: path.stat().st_size for path in (*paths, *others)}
    common = {sizes[path] for path in paths} & {sizes[path] for path in others}
    known = {digest(path) for path in others if sizes[path] in common}
    return {path for path in paths if sizes[path] in common and digest(path) in known}


def _refuse(error: OSError) -> None:
    reason = "is a link to a file that is not there" if Path(error.filename).is_symlink() else f"cannot be read: {error.strerror}"
    raise ValueError(f"root must have images that can all be read; {error.filename} {reason}") from None


def fingerprint(paths: Sequence[Path], folder: Path, times: bool = False) -> str:
    """Ten digits that stand for names and sizes of files: the same on another machine, without a look at every byte.

    Args:
        paths: the files.
        folder: names are relative to it.
        times: let the time of the last change count too, for a cache on this machine.

    Raises:
        ValueError: a file cannot be read; the sentence lacks its prefix, ``data.``.
    """
    content = hashlib.sha256()
    for path in paths:
        try:
            status = path.stat()
        except OSError as error:
            _refuse(error)
        content.update(f"{path.relative_to(folder).as_posix()}\0{status.st_size}\0{status.st_mtime_ns if times else ''}\n".encode())
    return content.hexdigest()[:10]


def check_fingerprint(given: str, computed: str) -> str:
    """The fingerprint of the images; a ``ValueError`` if another one was given."""
    if given and given != computed:
        raise ValueError(f"fingerprint must be left to the images, whose names and sizes give {computed!r}; got {given!r}")
    return computed


def fitted(image: Image.Image, size: int) -> Image.Image:
    """The shorter side at ``size``, bilinear, and the middle of the longer one."""
    return ImageOps.fit(image, (size, size), Image.Resampling.BILINEAR)


def read_image(path: Path, channels: int, fit: Callable[[Image.Image], Image.Image]) -> np.ndarray:
    """One image, upright, uint8 ``[channels, H, W]``.

    Raises:
        UserError: it cannot be read, or is grey where ``channels`` is 3.
    """
    try:
        with Image.open(path) as file:
            if channels == 3 and file.mode in _GREY:
                raise UserError(
                    f"{path} is grey where colour is expected: take it out, make it RGB, or have all in grey with data.channels=1"
                )
            image = fit(ImageOps.exif_transpose(file).convert("RGB" if channels == 3 else "L"))
    except UserError:
        raise
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise UserError(f"{path} cannot be read as an image ({str(error).splitlines()[0] or type(error).__name__})") from None
    pixels = np.asarray(image)
    return pixels.transpose(2, 0, 1) if channels == 3 else pixels[None]


def decoded(paths: Sequence[Path], channels: int, size: int, fit: Callable[[Image.Image], Image.Image], cache: Path, what: str) -> Tensor:
    """All images, uint8 ``[n, channels, size, size]``: decoded once, with a bar, into the file ``cache``, and mapped from there.

    Raises:
        UserError: one of them cannot be used.
    """
    shape = (len(paths), channels, size, size)
    images = _mapped(cache, shape)
    if images is None:
        write_atomically(cache, lambda partial: _decode_into(partial, paths, shape, fit, what))
        images = _mapped(cache, shape)
    return torch.from_numpy(images)


def _mapped(cache: Path, shape: tuple[int, ...]) -> np.ndarray | None:
    """The array in a file, or ``None`` where there is no such file or it is not whole."""
    try:
        images = np.load(cache, mmap_mode="c")  # copy on write: nobody writes, but torch wants a writable array
    except (OSError, ValueError, EOFError):
        return None
    return images if images.shape == shape and images.dtype == np.uint8 else None


def _decode_into(path: Path, paths: Sequence[Path], shape: tuple[int, ...], fit: Callable[[Image.Image], Image.Image], what: str) -> None:
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)
    channels = shape[1]
    # PIL lets go of the interpreter's lock while it decodes.
    with ThreadPoolExecutor() as pool, progress_bar(total=len(paths), what=f"decoding {what}", unit="image") as bar:
        for start in range(0, len(paths), 1024):
            part = paths[start : start + 1024]
            for index, pixels in enumerate(pool.map(lambda path: read_image(path, channels, fit), part), start):
                out[index] = pixels
                bar.update()
    out.flush()
