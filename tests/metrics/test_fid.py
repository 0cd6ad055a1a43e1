"""FID on a stand-in Inception: the real network with weights drawn here. The weights of the original have to be fetched."""

import numpy as np
import pytest
import scipy.linalg
import torch

from aswd.data.images import Synthetic
from aswd.metrics import fid as module
from aswd.metrics.fid import Inception, MissingWeights, fid, inception_weights
from aswd.metrics.reference import reference
from aswd.utils.errors import UserError


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A file of weights by Kaiming: with torch's default ones all features come out alike."""
    from torch_fidelity import feature_extractor_inceptionv3 as theirs

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(theirs, "load_state_dict_from_url", lambda *_, **__: {})
        patch.setattr(theirs.FeatureExtractorInceptionV3, "load_state_dict", lambda *_: None)
        net = theirs.FeatureExtractorInceptionV3("inception-v3-compat", ["2048"])
    torch.manual_seed(0)
    for layer in net.modules():
        if isinstance(layer, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(layer.weight)
    path = tmp_path_factory.mktemp("inception") / "standin.pth"
    torch.save(net.state_dict(), path)
    return path


class Images(torch.utils.data.Dataset):
    """As torch-fidelity wants them."""

    def __init__(self, images):
        self.images = images

    def __len__(self):
        return len(self.images)

    def __getitem__(self, place):
        return self.images[place]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:a Frechet distance from")
def test_agrees_with_scipy_and_with_torch_fidelity_end_to_end(weights, tmp_path):
    import torch_fidelity

    data = Synthetic(num_train=10, num_test=8, size=32)
    real, fake = data.images("train"), data.images("test")
    fake = (fake * 0.7 + 20).to(torch.uint8)
    inception = Inception(weights)
    value, record = fid(fake, reference(data, inception, tmp_path), inception)
    assert (record["metric"], record["extractor"], record["num_real"], record["num_fake"]) == ("fid", "inception-v3-compat", 10, 8)
    assert record["original_weights"] is False
    assert record["weights"] == inception.weights

    a, b = (inception.features(images).double().numpy() for images in (fake, real))
    assert a.std(0).max() > 1e-3  # the stand-in tells images apart
    # Both clouds lie in a plane of 18 dimensions, in which scipy is fast; the distance does not change in it.
    basis = np.linalg.qr(np.concatenate([a, b]).T)[0]
    x, y = a @ basis, b @ basis
    cross = scipy.linalg.sqrtm(np.cov(x, rowvar=False) @ np.cov(y, rowvar=False) + 1e-12 * np.eye(18)).real
    wanted = ((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(np.cov(x, rowvar=False) + np.cov(y, rowvar=False) - 2 * cross)
    assert value == pytest.approx(wanted, rel=1e-3)

    theirs = torch_fidelity.calculate_metrics(
        input1=Images(fake),
        input2=Images(real),
        fid=True,
        cuda=False,
        cache=False,
        verbose=False,
        batch_size=8,
        feature_extractor="inception-v3-compat",
        feature_extractor_weights_path=str(weights),
    )["frechet_inception_distance"]
    assert value == pytest.approx(theirs, rel=1e-3)


def test_offline_without_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    monkeypatch.setattr(
        "torch_fidelity.feature_extractor_inceptionv3.URL_INCEPTION_V3", f"file://{tmp_path}/nowhere/{module.WEIGHTS}", raising=True
    )
    with pytest.raises(MissingWeights, match=r"are not there and cannot be fetched .*: put weights-inception.* into .*, give its path, or"):
        Inception()
    with pytest.raises(MissingWeights, match=r"must be a file; got '/nowhere/w\.pth', which is not there"):
        Inception("/nowhere/w.pth")


def test_fetched_and_checked(tmp_path, monkeypatch, weights):
    from aswd.utils.files import digest

    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    monkeypatch.setattr("torch_fidelity.feature_extractor_inceptionv3.URL_INCEPTION_V3", f"file://{weights}")
    with pytest.raises(MissingWeights, match="invalid hash value"):
        inception_weights()
    assert not (tmp_path / "checkpoints" / module.WEIGHTS).exists()
    monkeypatch.setattr(module, "CHECKSUM", digest(weights)[:8])
    assert inception_weights() == tmp_path / "checkpoints" / module.WEIGHTS
    inception_weights().write_bytes(b"interrupted")
    with pytest.raises(UserError, match="is damaged: its SHA-256 must begin with"):
        inception_weights()


@pytest.mark.parametrize("content", [b"no weights", b""])
def test_a_file_that_holds_something_else(tmp_path, content):
    path = tmp_path / "w.pth"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"w\.pth does not hold the Inception weights"):
        Inception(path)
    torch.save({"a": torch.zeros(3)}, path)
    with pytest.raises(UserError, match=r"w\.pth does not hold the Inception weights"):
        Inception(path)


def test_grey_images_have_no_fid(weights):
    with pytest.raises(ValueError, match="images must be in colour for FID; got grey ones"):
        Inception(weights).features(torch.zeros(2, 1, 32, 32, dtype=torch.uint8))
