"""Tiny data sets in the layouts of the real ones."""

import gzip
import hashlib
import pickle
import struct
import tarfile
import zlib
from dataclasses import replace

import numpy as np
from PIL import Image

from aswd.data import cifar10, mnist_files


def md5(content):
    return hashlib.md5(content).hexdigest()


def idx(values):
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def mnist_contents(train=40, test=20):
    """The four files: random images of ten classes in turn."""
    rng = np.random.default_rng(0)
    contents = {}
    for prefix, count in (("train", train), ("t10k", test)):
        contents[f"{prefix}-images-idx3-ubyte"] = idx(rng.integers(0, 256, (count, 28, 28), np.uint8))
        contents[f"{prefix}-labels-idx1-ubyte"] = idx((np.arange(count) % 10).astype(np.uint8))
    return contents


def expect_mnist(monkeypatch, contents, name="mnist", **changes):
    """Let the files be expected whose contents are given, and no network be asked."""
    archives = tuple(md5(gzip.compress(contents[file], mtime=0)) for file in mnist_files.FILES)
    files = tuple(md5(contents[file]) for file in mnist_files.FILES)
    changes = {"mirrors": (), "package": None, "system": None, "archives": archives, "files": files, **changes}
    monkeypatch.setitem(mnist_files.SOURCES, name, replace(mnist_files.SOURCES[name], **changes))


def write_mnist(root, contents, folder="MNIST/raw", compressed=False):
    (root / folder).mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        path = root / folder / (f"{name}.gz" if compressed else name)
        path.write_bytes(gzip.compress(content, mtime=0) if compressed else content)


def write_cifar10(root, monkeypatch, per_batch=4):
    """The batches as a folder and as an archive beside the root; returns images and labels by batch."""
    rng = np.random.default_rng(1)
    folder = root / cifar10.FOLDER
    folder.mkdir(parents=True)
    contents = {}
    for name in [batch for split in cifar10.BATCHES.values() for batch in split]:
        contents[name] = rng.integers(0, 256, (per_batch, 3072), np.uint8), rng.integers(0, 10, per_batch).tolist()
        written = pickle.dumps({b"data": contents[name][0], b"labels": contents[name][1]})
        (folder / name).write_bytes(written)
        monkeypatch.setitem(cifar10.CHECKSUMS, name, md5(written))
    archive = root.with_suffix(".tar.gz")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, cifar10.FOLDER)
    monkeypatch.setitem(cifar10.CHECKSUMS, cifar10.ARCHIVE, md5(archive.read_bytes()))
    return contents, archive


def write_image(path, size=(80, 60), mode="RGB", seed=None, **options):
    """A smooth image, so that JPEG keeps it nearly as it is; by default another one for every path."""
    seed = zlib.crc32("/".join(path.parts[-4:]).encode()) if seed is None else seed
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (3, 3, 3), np.uint8)
    Image.fromarray(small).resize(size, Image.Resampling.BICUBIC).convert(mode).save(path, **options)
    return path


def write_celeba(folder, numbers):
    for number in numbers:
        write_image(folder / f"{number:06d}.jpg", (178, 218), seed=number)
