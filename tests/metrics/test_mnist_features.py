"""The network of ``mnist_frechet``, trained on tiny files in MNIST's layout."""

import numpy as np
import pytest
import torch

from aswd.cli.main import main
from aswd.data.mnist import Mnist
from aswd.metrics import mnist_features as module
from aswd.metrics.mnist_features import mnist_features
from aswd.metrics.reference import FrechetToReference, reference
from aswd.utils.errors import UserError
from tests.data.small import expect_mnist, idx, mnist_contents, write_mnist


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Digits that are bars: class c has a bright column at 2 c + 4."""
    contents = mnist_contents(1000, 200)
    rng = np.random.default_rng(0)
    for prefix, count in (("train", 1000), ("t10k", 200)):
        images = rng.integers(0, 60, (count, 28, 28), np.uint8)
        images[np.arange(count), :, 2 * (np.arange(count) % 10) + 4] = 255
        contents[f"{prefix}-images-idx3-ubyte"] = idx(images)
    expect_mnist(monkeypatch, contents)
    write_mnist(tmp_path, contents)
    monkeypatch.setattr(module, "EPOCHS", 6)
    monkeypatch.setattr(module, "BATCH", 50)
    return tmp_path


@pytest.mark.filterwarnings("ignore:a Frechet distance from")
def test_trained_once_and_of_use(root, capsys):
    state = torch.random.get_rng_state()
    found = mnist_features(root, progress=False)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert found.accuracy > 0.95
    kept = (root / "MNIST/digit-net-1.pt").read_bytes()
    assert mnist_features(root).weights == found.weights
    assert (root / "MNIST/digit-net-1.pt").read_bytes() == kept

    data = Mnist(name="mnist", root=str(root))
    real = reference(data, found, root / "moments")
    values = []
    for images in (data.images("test"), data.images("test") // 2, torch.randint(0, 256, (200, 1, 28, 28), dtype=torch.uint8)):
        metric = FrechetToReference(real, found)
        metric.update(images)
        values.append(metric.compute().item())
    assert 0 < values[0] < values[1] < values[2]
    assert metric.record()["metric"] == "mnist_frechet"
    assert metric.record()["weights"] == found.weights

    assert main(["data", "mnist-features", "--root", str(root)]) == 0
    assert f"weights {found.weights}" in capsys.readouterr().out


def test_the_same_weights_every_time(root, monkeypatch):
    monkeypatch.setattr(module, "EPOCHS", 1)
    first = mnist_features(root, progress=False).weights
    (root / "MNIST/digit-net-1.pt").unlink()
    torch.manual_seed(99)
    torch.set_num_threads(2)
    assert mnist_features(root, progress=False).weights == first
    assert torch.get_num_threads() == 2


def test_another_size_is_brought_to_28(root, monkeypatch):
    monkeypatch.setattr(module, "EPOCHS", 1)
    found = mnist_features(root, progress=False)
    flat = torch.full((2, 1, 28, 28), 90, dtype=torch.uint8)
    assert torch.allclose(found.features(flat), found.features(torch.full((2, 1, 32, 32), 90, dtype=torch.uint8)))
    with pytest.raises(ValueError, match="images must be grey"):
        found.features(torch.zeros(2, 3, 28, 28, dtype=torch.uint8))


@pytest.mark.parametrize("damage", [lambda content: content[:1000], lambda _: b""])
def test_damage_is_named(root, monkeypatch, damage):
    monkeypatch.setattr(module, "EPOCHS", 1)
    mnist_features(root, progress=False)
    path = root / "MNIST/digit-net-1.pt"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UserError, match=r"digit-net-1\.pt is damaged: delete it"):
        mnist_features(root)
