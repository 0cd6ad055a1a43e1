"""The Frechet distance against scipy's square root of a matrix, a closed form and torch-fidelity; references and their cache."""

import numpy as np
import pytest
import scipy.linalg
import torch

from aswd.data.images import Synthetic
from aswd.metrics.frechet import Moments, frechet_distance
from aswd.metrics.reference import FrechetToReference, reference
from aswd.utils.errors import UserError


def by_scipy(a, b):
    root = scipy.linalg.sqrtm(np.cov(a, rowvar=False) @ np.cov(b, rowvar=False))
    covariances = np.cov(a, rowvar=False) + np.cov(b, rowvar=False) - 2 * root.real
    return ((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(covariances)


@pytest.mark.parametrize(("n", "m"), [(200, 200), (100, 300)])
def test_agrees_with_scipy(n, m):
    a, b = torch.randn(n, 20, dtype=torch.float64) @ torch.randn(20, 20, dtype=torch.float64), 2 + torch.randn(m, 20, dtype=torch.float64)
    assert frechet_distance(a, b) == pytest.approx(by_scipy(a.numpy(), b.numpy()), rel=1e-9)
    assert frechet_distance(a, b) == pytest.approx(frechet_distance(b, a), rel=1e-9)


def test_agrees_with_torch_fidelity():
    from torch_fidelity.metric_fid import fid_features_to_statistics, fid_statistics_to_metric

    a, b = torch.randn(300, 30), torch.randn(300, 30) @ torch.randn(30, 30)
    theirs = fid_statistics_to_metric(fid_features_to_statistics(a), fid_features_to_statistics(b), False)["frechet_inception_distance"]
    assert frechet_distance(a, b) == pytest.approx(theirs, rel=1e-5)  # its means are in float32


def test_closed_form_for_axes_that_do_not_mix():
    """Deviations s and t along the axes: the sum of (s - t)^2."""
    signs = torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1]], dtype=torch.float64) * (3 / 4) ** 0.5
    s, t = torch.tensor([1.0, 5.0]), torch.tensor([2.0, 0.5])
    assert frechet_distance(signs * s, signs * t + 3) == pytest.approx(18 + 1 + 4.5**2, rel=1e-12)


def test_without_full_rank():
    """Fewer samples than dimensions, and a cloud against itself: by the factors' nuclear norm, which needs no root of a matrix."""
    a, b = torch.randn(10, 50, dtype=torch.float64), torch.randn(12, 50, dtype=torch.float64)
    x, y = (a - a.mean(0)) / 3, (b - b.mean(0)) / 11**0.5
    wanted = (a.mean(0) - b.mean(0)).square().sum() + x.square().sum() + y.square().sum() - 2 * torch.linalg.svdvals(x @ y.T).sum()
    assert frechet_distance(a, b) == pytest.approx(wanted.item(), rel=1e-6)
    assert abs(frechet_distance(a, a)) < 1e-5


def test_refusals():
    with pytest.raises(UserError, match="at least 2 images on each side; got 1"):
        frechet_distance(torch.zeros(1, 3), torch.zeros(5, 3))
    with pytest.raises(ValueError, match="same dimension; got 3 and 4"):
        frechet_distance(torch.rand(5, 3), torch.rand(5, 4))
    with pytest.raises(UserError, match="must be finite"):
        Moments.of(torch.full((3, 2), torch.nan))


class Averages:
    """Colours of the four quarters, as features."""

    name, network, weights, resize, dim = "quarters", "averages", "none", "none", 12

    def __init__(self):
        self.calls = 0

    def features(self, images):
        self.calls += 1
        return torch.nn.functional.adaptive_avg_pool2d(images.float(), 2).flatten(1)


def synthetic(**options):
    return Synthetic(num_train=150, num_test=90, size=16, **options)


@pytest.mark.filterwarnings("ignore:a Frechet distance from")
def test_the_metric_is_the_function(tmp_path):
    data, extractor = synthetic(), Averages()
    real = reference(data, extractor, tmp_path)
    metric = FrechetToReference(real, extractor)
    fake = data.images("test")
    metric.update(fake[:50])
    metric.update(fake[50:])
    wanted = by_scipy(*(extractor.features(images).double().numpy() for images in (fake, data.images("train"))))
    assert metric.compute().item() == pytest.approx(wanted, rel=1e-7)
    record = metric.record()
    assert (record["split"], record["num_real"], record["num_fake"]) == ("train", 150, 90)
    assert (record["resolution"], record["extractor"], record["resize"]) == ([3, 16, 16], "averages", "none")
    assert record["data"]["name"] == "synthetic"
    assert not metric.state_dict()


def test_moments_are_kept_by_all_that_they_depend_on(tmp_path):
    extractor = Averages()
    first = reference(synthetic(), extractor, tmp_path)
    calls = extractor.calls
    again = reference(synthetic(), extractor, tmp_path)
    assert extractor.calls == calls
    assert torch.equal(again.moments.covariance, first.moments.covariance)
    for data, options in ((synthetic(), {"split": "test"}), (synthetic(), {"count": 60}), (synthetic(channels=1), {})):
        extractor.dim = 4 if data.config.channels == 1 else 12
        reference(data, extractor, tmp_path, **options)
    extractor.weights = "others"
    reference(synthetic(), extractor, tmp_path)
    assert len(list(tmp_path.glob("quarters-synthetic-*.npz"))) == 5
    with pytest.raises(ValueError, match="extractor must be the one of the reference"):
        FrechetToReference(first, extractor)


def test_a_damaged_or_foreign_file_is_not_used(tmp_path):
    extractor = Averages()
    first = reference(synthetic(), extractor, tmp_path)
    (path,) = tmp_path.iterdir()
    other = reference(synthetic(), extractor, tmp_path / "other", split="test")
    (foreign,) = (tmp_path / "other").iterdir()
    assert not torch.equal(other.moments.mean, first.moments.mean)
    for content in (path.read_bytes()[:200], foreign.read_bytes(), b""):
        path.write_bytes(content)
        assert torch.equal(reference(synthetic(), extractor, tmp_path).moments.mean, first.moments.mean)


def test_counts(tmp_path):
    extractor, data = Averages(), synthetic()
    with pytest.raises(UserError, match="count must be at most the 150 images of the train split of synthetic; got 151"):
        reference(data, extractor, tmp_path, count=151)
    with pytest.raises(UserError, match="at least 2 images on each side; got 1"):
        reference(data, extractor, tmp_path, count=1)
    metric = FrechetToReference(reference(data, extractor, tmp_path), extractor)
    metric.update(data.images("test")[:1])
    with pytest.raises(UserError, match="at least 2 images on each side; got 1"):
        metric.compute()
    metric.update(data.images("test")[1:10])
    with pytest.warns(UserWarning, match="from 10 images is far too large: take at least 12"):
        metric.compute()
    with pytest.raises(ValueError, match=r"images must be as the real ones, \[3, 16, 16\]; got \[3, 8, 8\]"):
        metric.update(torch.zeros(2, 3, 8, 8, dtype=torch.uint8))
    with pytest.raises(ValueError, match=r"images must be a uint8 tensor of shape .*; got torch.float32"):
        metric.update(torch.zeros(2, 3, 16, 16))
