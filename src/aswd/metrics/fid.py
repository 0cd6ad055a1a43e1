"""The Frechet Inception distance, through torch-fidelity: the original network, weights and resize."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any
from urllib.error import URLError

import torch
from torch import Tensor

from aswd.metrics.reference import FrechetToReference, Reference, check_images
from aswd.utils.errors import UserError
from aswd.utils.files import digest

WEIGHTS = "weights-inception-2015-12-05-6726825d.pth"  # of torch-fidelity; the digits are the first of the file's SHA-256
CHECKSUM = "6726825d"


class MissingWeights(UserError):
    """The Inception weights are not on disk and cannot be fetched; a caller may continue without FID."""


def inception_weights(path: str | Path | None = None) -> Path:
    """The file of the weights: ``path``, or torch's cache, or fetched into that, with its checksum verified.

    Raises:
        MissingWeights: it is not there, and cannot be fetched.
        UserError: the one in the cache is damaged.
    """
    if path is not None:
        if not Path(path).is_file():
            raise MissingWeights(f"the Inception weights for FID must be a file; got {str(path)!r}, which is not there")
        return Path(path)
    cached = Path(torch.hub.get_dir(), "checkpoints", WEIGHTS)
    if not cached.exists():
        _fetch(cached)
    if not digest(cached).startswith(CHECKSUM):
        raise UserError(f"{cached} is damaged: its SHA-256 must begin with {CHECKSUM}; delete it to fetch it again")
    return cached


def _fetch(path: Path) -> None:
    from torch_fidelity.feature_extractor_inceptionv3 import URL_INCEPTION_V3

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.hub.download_url_to_file(URL_INCEPTION_V3, str(path), hash_prefix=CHECKSUM)
    except (URLError, OSError, RuntimeError) as error:
        reason = getattr(error, "reason", None) or error
        raise MissingWeights(
            f"the Inception weights for FID are not there and cannot be fetched ({reason}): put {WEIGHTS} of torch-fidelity into "
            f"{path.parent}, give its path, or leave FID out"
        ) from None


class Inception:
    """torch-fidelity's Inception-v3, converted from the original: 2048 features of images resized as TensorFlow 1 did.

    Args:
        path: file of the weights; default: see :func:`inception_weights`.

    Raises:
        MissingWeights: they are not there, and cannot be fetched.
        UserError: the file holds something else.
    """

    name = "fid"
    network = "inception-v3-compat"
    resize = "bilinear to 299 as in TensorFlow 1, not antialiased"
    dim = 2048

    def __init__(self, path: str | Path | None = None) -> None:
        from torch_fidelity.feature_extractor_inceptionv3 import FeatureExtractorInceptionV3

        file = inception_weights(path)
        self.weights = digest(file)[:8]
        try:
            # Checked first without letting it run code, as torch-fidelity would.
            torch.load(file, weights_only=True, map_location="cpu")
            self._net = FeatureExtractorInceptionV3(self.network, ["2048"], feature_extractor_weights_path=str(file))
        except (RuntimeError, pickle.UnpicklingError, EOFError, KeyError, AttributeError, TypeError, zipfile.BadZipFile) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise UserError(f"{file} does not hold the Inception weights of torch-fidelity ({reason})") from None

    @property
    def original(self) -> bool:
        """Whether these are the original weights; with others the number is no FID that could be compared."""
        return self.weights == CHECKSUM

    @torch.no_grad()
    def features(self, images: Tensor) -> Tensor:
        """Of bytes ``[n, 3, H, W]``, ``[n, 2048]``.

        Raises:
            ValueError: images that are not bytes or not in colour.
        """
        check_images(images)
        if images.shape[1] != 3:
            raise ValueError("images must be in colour for FID; got grey ones")
        with torch.autocast(images.device.type, enabled=False):
            return self._net.to(images.device)(images)[0]


class FrechetInceptionDistance(FrechetToReference):
    """:func:`fid` of all images seen; ``record()`` says how it was computed."""

    def record(self) -> dict[str, Any]:
        """How the distance was computed, and whether with the original weights."""
        return {**super().record(), "original_weights": self._extractor[0].original}


def fid(images: Tensor, reference: Reference, inception: Inception) -> tuple[float, dict[str, Any]]:
    r"""The Frechet distance between Inception features of generated images and of a data set, and the record of how it was computed.

    .. math:: |\mu_a - \mu_b|^2 + \operatorname{tr}\bigl(\Sigma_a + \Sigma_b - 2 (\Sigma_a \Sigma_b)^{1/2}\bigr)

    Args:
        images: generated, bytes ``[n, 3, H, W]``, as large as the real ones.
        reference: of the data, by :func:`aswd.metrics.reference.reference`.
        inception: the network.

    Raises:
        UserError: fewer than two images.
    """
    metric = FrechetInceptionDistance(reference, inception).to(images.device)
    metric.update(images)
    return metric.compute().item(), metric.record()
