"""Images from files: what they show, the right way up, as colours that are counted once."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from aswd.utils.checks import nearest

# Images that come with scikit-learn and scikit-image: package and file.
BUILT_IN: dict[str, tuple[str, str]] = {
    "china": ("sklearn", "datasets/images/china.jpg"),
    "flower": ("sklearn", "datasets/images/flower.jpg"),
    "astronaut": ("skimage", "data/astronaut.png"),
    "chelsea": ("skimage", "data/chelsea.png"),
    "coffee": ("skimage", "data/coffee.png"),
    "hubble": ("skimage", "data/hubble_deep_field.jpg"),
    "retina": ("skimage", "data/retina.jpg"),
    "rocket": ("skimage", "data/rocket.jpg"),
}


@dataclass(frozen=True)
class Photograph:
    """An image of any size.

    Args:
        pixels: ``[H, W, 3]``, uint8, or uint16 where the file has more than eight bits that can be read.
        alpha: ``[H, W]`` in uint8, or ``None`` where the file has none.
        digest: of the file's content.
    """

    pixels: np.ndarray
    alpha: np.ndarray | None
    digest: str

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.pixels.shape[:2]

    @cached_property
    def _counted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        bits = 8 * self.pixels.itemsize
        flat = self.pixels.reshape(-1, 3)
        packed = np.zeros(len(flat), dtype=np.uint32 if bits == 8 else np.uint64)
        for channel in range(3):
            packed <<= bits
            packed |= flat[:, channel]
        codes, places = np.unique(packed, return_inverse=True)
        del packed
        places = places.astype(np.int32)
        colours = np.stack([codes >> (bits * shift) & (2**bits - 1) for shift in (2, 1, 0)], 1) / (2**bits - 1)
        visible = None if self.alpha is None else (self.alpha.reshape(-1) > 0).astype(float)
        return colours, np.bincount(places, visible, len(codes)).astype(np.int64), places

    @property
    def colours(self) -> np.ndarray:
        """The different colours, ``[n, 3]`` in [0, 1]."""
        return self._counted[0]

    @property
    def counts(self) -> np.ndarray:
        """How many pixels have each colour, ``[n]``; what alpha makes invisible does not count."""
        return self._counted[1]

    @property
    def places(self) -> np.ndarray:
        """The colour of each pixel, ``[H * W]``."""
        return self._counted[2]

    def repainted(self, colours: np.ndarray) -> Photograph:
        """The same with ``colours [n, 3]`` in [0, 1] instead of its own, in eight bits."""
        levels = (255 * np.clip(colours, 0, 1)).round().astype(np.uint8)
        return Photograph(levels[self.places].reshape(self.pixels.shape), self.alpha, self.digest)

    def image(self) -> Image.Image:
        """For Pillow, with eight bits a channel."""
        pixels = self.pixels if self.pixels.dtype == np.uint8 else (self.pixels // 257).astype(np.uint8)
        return Image.fromarray(pixels if self.alpha is None else np.dstack([pixels, self.alpha]))


def read_photograph(source: str) -> Photograph:
    """An image from a file, or one of :data:`BUILT_IN` by its name.

    PNG, JPEG and whatever else Pillow reads; of several frames the first. The orientation that a camera notes in EXIF is applied, palettes
    are looked up, alpha is kept, colour profiles are not. Grey images of 16 bits keep them; Pillow reads colour of 16 bits with eight.

    Raises:
        ValueError: no such file, or no image in it; the sentence lacks its subject, the option.
    """
    return _read(*_place(source))


def digest_and_colours(source: str) -> tuple[str, int]:
    """The digest of the image that :func:`read_photograph` reads, and how many colours of it can be seen; counted once per file.

    Raises:
        ValueError: likewise.
    """
    return _counted(*_place(source))


@lru_cache(maxsize=256)
def _counted(*place: str | int) -> tuple[str, int]:
    image = _read(*place)
    return image.digest, int((image.counts > 0).sum())


def _place(source: str) -> tuple[str, int, int, str]:
    """Path, time of change and size of the file, and the source."""
    path = _path(source)
    try:
        status = path.stat()
    except OSError:
        hint = nearest(source, BUILT_IN)
        raise ValueError(f"must be a file, or a built-in image; got {source!r}, which is neither ({hint})") from None
    if not path.is_file():
        raise ValueError(f"must be an image; got {source!r}, which is no file")
    return str(path), status.st_mtime_ns, status.st_size, source


def _path(source: str) -> Path:
    if source not in BUILT_IN:
        return Path(source).expanduser()
    package, file = BUILT_IN[source]
    spec = find_spec(package)  # without importing it, which takes a second
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(f"must be an image that is there; got {source!r}, which comes with {package}, and that is not installed")
    return Path(next(iter(spec.submodule_search_locations)), file)


@lru_cache(maxsize=4)
def _read(path: str, changed: int, size: int, source: str) -> Photograph:
    """Read a file once, as long as it does not change."""
    if size == 0:
        raise ValueError(f"must be an image; got {source!r}, which is an empty file")
    try:
        content = Path(path).read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # large is allowed; absurdly large is an error
            image = Image.open(BytesIO(content))
            image.load()
        pixels, alpha = _decoded(ImageOps.exif_transpose(image))
    except UnidentifiedImageError:
        raise ValueError(f"must be an image; got {source!r}, which is not one that can be read (PNG, JPEG, ...)") from None
    except Image.DecompressionBombError:
        most = 2 * Image.MAX_IMAGE_PIXELS // 10**6
        raise ValueError(f"must be an image of at most {most} million pixels; {source!r} says that it has more") from None
    except (OSError, SyntaxError, EOFError) as error:  # what Pillow raises for files that are cut off or damaged
        raise ValueError(f"must be a whole image; {source!r} cannot be read: {str(error).splitlines()[0]}") from None
    if alpha is not None and not alpha.any():
        raise ValueError(f"must be an image with something to see; in {source!r} every pixel is transparent")
    return Photograph(pixels, alpha, hashlib.sha256(content).hexdigest()[:16])


def _decoded(image: Image.Image) -> tuple[np.ndarray, np.ndarray | None]:
    if image.mode.startswith("I"):
        grey = np.asarray(image)
        if grey.min() < 0 or grey.max() > 2**16 - 1:
            raise OSError("its grey levels are not within 16 bits")
        return np.repeat(grey.astype(np.uint16)[:, :, None], 3, 2), None
    if image.mode == "F":
        raise OSError("its pixels are numbers without a known range")
    if image.has_transparency_data:
        pixels = np.asarray(image.convert("RGBA"))
        return np.ascontiguousarray(pixels[:, :, :3]), np.ascontiguousarray(pixels[:, :, 3])
    return np.asarray(image.convert("RGB")), None
