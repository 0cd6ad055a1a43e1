"""W2 and SWD of pictures, and their units."""

import numpy as np
import ot
import pytest
import torch

from aswd.metrics import exact_wasserstein
from aswd.metrics.pixels import pixels, swd, w2


def pictures(count, seed):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (count, 1, 6, 6), np.uint8))


def test_w2_is_the_root_of_emd2():
    x, y = pictures(40, 0), pictures(40, 1) // 2
    a, b = (p.flatten(1).double().numpy() / 255 for p in (x, y))
    emd2 = ot.emd2(np.full(40, 1 / 40), np.full(40, 1 / 40), ot.dist(a, b))
    assert w2(x, y) == pytest.approx(emd2**0.5, rel=1e-6)
    assert w2(x, y) == pytest.approx(exact_wasserstein(pixels(x), pixels(y)).item(), rel=1e-6)
    assert w2(x, y, 10) == pytest.approx(w2(x[:10], y[:10]), rel=1e-12)
    assert w2(x, x) == pytest.approx(0, abs=1e-6)


def test_the_published_swd_of_n_samples_is_root_n_times_ours():
    x, y = pictures(100, 0), pictures(100, 1) // 2
    generator = np.random.default_rng(0)
    theta = generator.normal(size=(20_000, 36))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    a, b = (np.sort(p.flatten(1).double().numpy() / 255 @ theta.T, 0) for p in (x, y))
    published = np.sqrt((((a - b) ** 2).sum(0)).mean())  # summed over the samples
    assert swd(x, y, 20_000) == pytest.approx(published / 10, rel=0.02)
    assert swd(x, y, 1500) == swd(x, y, 1500)
    assert swd(x, x, 100) == 0


def test_a_constant_shift_is_known_in_closed_form():
    x = torch.zeros(5, 1, 4, 4, dtype=torch.uint8)
    y = torch.full_like(x, 51)  # 0.2 in each of 16 pixels: |shift| = 0.8, and a slice sees 0.8 / 4 in the mean of squares
    assert w2(x, y) == pytest.approx(0.8, rel=1e-6)
    assert swd(x, y, 20_000) == pytest.approx(0.2, rel=0.02)


def test_refusals():
    x = torch.zeros(5, 1, 4, 4, dtype=torch.uint8)
    with pytest.raises(ValueError, match="num_samples must be from 1 to the number of pictures, 5; got 6"):
        w2(x, x, 6)
    with pytest.raises(ValueError, match="images must be bytes"):
        swd(x.float(), x.float())
