import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from aswd.data import cifar10
from aswd.data.cifar10 import Cifar10
from aswd.utils.errors import UserError
from tests.data.small import write_cifar10


def module(root, **options):
    return Cifar10(root=str(root), **options)


def test_batches_in_their_order_at_their_size(tmp_path, monkeypatch):
    contents, _ = write_cifar10(tmp_path / "data", monkeypatch)
    data = module(tmp_path / "data", size=32)
    wanted = np.concatenate([contents[f"data_batch_{i}"][0] for i in range(1, 6)]).reshape(20, 3, 32, 32)
    assert (data.images("train").numpy() == wanted).all()
    assert data.labels("train").tolist() == [label for i in range(1, 6) for label in contents[f"data_batch_{i}"][1]]
    assert (data.images("test").numpy() == contents["test_batch"][0].reshape(4, 3, 32, 32)).all()


@pytest.mark.parametrize("size", [16, 64])
def test_another_size_is_bilinear_as_pil_does_it(tmp_path, monkeypatch, size):
    contents, _ = write_cifar10(tmp_path / "data", monkeypatch)
    images = module(tmp_path / "data", size=size).images("test")
    assert (images.shape, images.dtype) == ((4, 3, size, size), torch.uint8)
    for pixels, original in zip(images.numpy(), contents["test_batch"][0].reshape(4, 3, 32, 32), strict=True):
        image = Image.fromarray(original.transpose(1, 2, 0)).resize((size, size), Image.Resampling.BILINEAR)
        assert np.abs(pixels.astype(int) - np.asarray(image).transpose(2, 0, 1)).max() <= 1


def test_out_of_the_archive(tmp_path, monkeypatch):
    _, archive = write_cifar10(tmp_path / "data", monkeypatch)
    (tmp_path / "other").mkdir()
    shutil.copy(archive, tmp_path / "other" / cifar10.ARCHIVE)
    assert torch.equal(module(tmp_path / "other").images("train"), module(tmp_path / "data").images("train"))

    monkeypatch.setattr(cifar10, "ADDRESS", f"file://{archive}")
    (tmp_path / "data" / cifar10.FOLDER / "data_batch_3").unlink()
    module(tmp_path / "data").prepare_data()  # one batch was missing, and the archive was fetched


def test_damage_is_named(tmp_path, monkeypatch):
    _, archive = write_cifar10(tmp_path / "data", monkeypatch)
    batch = tmp_path / "data" / cifar10.FOLDER / "data_batch_4"
    batch.write_bytes(batch.read_bytes()[:-1])
    with pytest.raises(UserError, match="data_batch_4 is damaged or another file"):
        module(tmp_path / "data").prepare_data()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / cifar10.ARCHIVE).write_bytes(archive.read_bytes()[:100])
    with pytest.raises(UserError, match=r"cifar-10-python\.tar\.gz is damaged"):
        module(tmp_path / "other").prepare_data()


def test_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(cifar10, "ADDRESS", f"file://{tmp_path}/nowhere")
    with pytest.raises(UserError, match=r"cifar10 is not there and cannot be fetched .* put cifar-10-python\.tar\.gz, or the folder"):
        module(tmp_path).prepare_data()
