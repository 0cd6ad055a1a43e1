"""A small network that knows MNIST, and the Frechet distance on its features: ``mnist_frechet``, which is not FID.

FID needs weights that have to be fetched, and a network that never saw a digit. This one is trained here, in a minute or two on a CPU, from
a fixed seed, and kept beside the data. Its numbers can be compared with one another where its weights are the same; the record of each says
which they were.
"""

from __future__ import annotations

import hashlib
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from aswd.data.images import Order, resized
from aswd.data.mnist import Mnist
from aswd.metrics.reference import check_images
from aswd.utils.errors import UserError
from aswd.utils.files import write_atomically
from aswd.utils.progress import progress_bar

SEED, EPOCHS, BATCH, LR = 0, 3, 100, 0.003
DIM = 64


def _block(inputs: int, outputs: int, kernel: int, stride: int) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]


class DigitNet(nn.Module):
    """Three convolutions with BatchNorm, two of them strided, an average over nine fields, 64 features, ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            *_block(1, 16, 5, stride=2),
            *_block(16, 32, 3, stride=2),
            *_block(32, 64, 3, stride=1),
            nn.AvgPool2d(3, stride=2),
            nn.Flatten(),
            nn.Linear(64 * 9, DIM),
            nn.ReLU(),
        )
        self.head = nn.Linear(DIM, 10)

    def features(self, images: Tensor) -> Tensor:
        """Of bytes ``[n, 1, 28, 28]``, ``[n, 64]``."""
        return self.trunk(images.float() / 127.5 - 1)

    def forward(self, images: Tensor) -> Tensor:
        """Scores of the classes, ``[n, 10]``."""
        return self.head(self.features(images))


@dataclass(frozen=True)
class MnistFeatures:
    """Features of the trained network, for :mod:`aswd.metrics.reference`."""

    net: DigitNet
    weights: str
    accuracy: float  # on the test split
    seconds: float  # that the training took
    name: str = "mnist_frechet"
    network: str = "digit-net-1"
    resize: str = "none at 28 pixels; else bilinear to 28, antialiased"
    dim: int = DIM

    @torch.no_grad()
    def features(self, images: Tensor) -> Tensor:
        """Of bytes ``[n, 1, H, W]``, on their device, ``[n, 64]``."""
        check_images(images)
        if images.shape[1] != 1:
            raise ValueError("images must be grey for mnist_frechet; got colour")
        small = images if images.shape[-2:] == (28, 28) else resized(images.cpu(), 28).to(images.device)
        with torch.autocast(images.device.type, enabled=False):
            return self.net.to(images.device).features(small)


def mnist_features(root: str | Path = "data", progress: bool = True) -> MnistFeatures:
    """The network, from ``<root>/MNIST/digit-net-1.pt`` or trained now on the MNIST below ``root`` and kept there.

    Raises:
        UserError: MNIST is not there and cannot be fetched, or the file is damaged.
    """
    path = features_path(root)
    if not path.exists():
        kept = _trained(Mnist(name="mnist", root=str(root)), progress)
        write_atomically(path, lambda partial: torch.save(kept, partial))
    with torch.random.fork_rng(devices=[]):  # its first weights are not kept
        net = DigitNet()
    try:
        kept = torch.load(path, weights_only=True, map_location="cpu")
        net.load_state_dict(kept["state"])
        whole = weights_checksum(net) == kept["weights"]
    except (RuntimeError, pickle.UnpicklingError, EOFError, KeyError, TypeError, AttributeError):
        whole = False
    if not whole:
        raise UserError(f"{path} is damaged: delete it to train the network again")
    return MnistFeatures(net.eval().requires_grad_(False), kept["weights"], kept["accuracy"], kept["seconds"])


def describe_features(root: str | Path) -> str:
    """Load the network of ``mnist_frechet``, or train it, and describe it.

    Raises:
        UserError: it cannot be read or written.
    """
    try:
        features = mnist_features(root)
    except OSError as error:
        raise UserError(f"the network of mnist_frechet cannot be read or written: {error}") from None
    text = f"{features.network}, trained in {features.seconds:.0f} s, test accuracy {features.accuracy:.2%}, weights {features.weights}"
    return f"mnist-features: {features_path(root)}\n  the network of mnist_frechet: {text}"


def features_path(root: str | Path) -> Path:
    """Where the trained network is kept."""
    return Path(root, "MNIST", f"{MnistFeatures.network}.pt")


def weights_checksum(net: nn.Module) -> str:
    """First digits of the SHA-256 of all weights."""
    digest = hashlib.sha256()
    for value in net.state_dict().values():
        digest.update(value.numpy().tobytes())
    return digest.hexdigest()[:8]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums are then taken in one order, and the weights do not depend on the number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _trained(data: Mnist, progress: bool) -> dict[str, Any]:
    """Weights, their checksum, test accuracy and seconds of a training from the fixed seed; torch's random state stays as it was."""
    images, labels = data.images("train"), data.labels("train")
    order = Order(len(images), min(BATCH, len(images)), SEED)
    steps = EPOCHS * order.steps_per_epoch
    start = time.perf_counter()
    with _one_thread(), torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(SEED)
        net = DigitNet()
        optimizer = torch.optim.Adam(net.parameters(), lr=LR)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        hidden = None if progress else True  # None: only outside a terminal
        for step in progress_bar(range(steps), what="training the network of mnist_frechet", unit="step", disable=hidden):
            chosen = order.batch(step)
            optimizer.zero_grad()
            F.cross_entropy(net(images[chosen]), labels[chosen]).backward()
            optimizer.step()
            schedule.step()
    with _one_thread(), torch.no_grad():
        net.eval()
        tests = zip(data.images("test").split(1000), data.labels("test").split(1000), strict=True)
        right = torch.cat([net(batch).argmax(1) == wanted for batch, wanted in tests])
    seconds = round(time.perf_counter() - start, 1)
    return {"state": net.state_dict(), "weights": weights_checksum(net), "accuracy": right.float().mean().item(), "seconds": seconds}
