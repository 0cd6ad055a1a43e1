"""Images of all kinds from files, and their palettes."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image
from sklearn.cluster import KMeans

from aswd.data.palettes import cluster, palette_of
from aswd.data.photograph_files import BUILT_IN, read_photograph

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (6, 9, 3), dtype=np.uint8)


def saved(folder, image, name="image.png", **options):
    path = folder / name
    image.save(path, **options)
    return str(path)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_pictures_are_there(name):
    image = read_photograph(name)
    assert min(image.size) >= 300
    assert len(image.colours) > 3000
    assert image.counts.sum() == image.size[0] * image.size[1]


def test_a_png_is_read_as_it_is_and_its_colours_are_counted_once(tmp_path):
    pixels = np.vstack([PIXELS, PIXELS])
    image = read_photograph(saved(tmp_path, Image.fromarray(pixels)))
    assert image.alpha is None
    np.testing.assert_array_equal(image.pixels, pixels)
    assert len(image.colours) == len(np.unique(pixels.reshape(-1, 3), axis=0))
    np.testing.assert_allclose(image.colours[image.places] * 255, pixels.reshape(-1, 3), atol=1e-9)
    np.testing.assert_array_equal(image.counts, np.bincount(image.places))
    np.testing.assert_array_equal(image.repainted(image.colours).pixels, pixels)


def test_a_jpeg_is_read(tmp_path):
    smooth = np.broadcast_to(np.linspace(0, 255, 32, dtype=np.uint8)[:, None, None], (32, 40, 3))
    image = read_photograph(saved(tmp_path, Image.fromarray(smooth), "image.jpg", quality=95))
    assert np.abs(image.pixels.astype(int) - smooth).max() < 12


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_the_orientation_of_exif_is_applied(tmp_path, orientation, suffix):
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = read_photograph(saved(tmp_path, Image.fromarray(PIXELS), f"turned.{suffix}", exif=exif))
    turned = PIXELS.transpose(1, 0, 2) if orientation >= 5 else PIXELS
    down, across = {1: (1, 1), 2: (1, -1), 3: (-1, -1), 4: (-1, 1), 5: (1, 1), 6: (1, -1), 7: (-1, -1), 8: (-1, 1)}[orientation]
    np.testing.assert_array_equal(image.pixels, turned[::down, ::across])


def test_alpha_is_kept_and_what_is_invisible_is_not_counted(tmp_path):
    alpha = np.full((6, 9), 255, dtype=np.uint8)
    alpha[:2], alpha[2] = 0, 100
    image = read_photograph(saved(tmp_path, Image.fromarray(np.dstack([PIXELS, alpha]))))
    np.testing.assert_array_equal(image.alpha, alpha)
    assert image.counts.sum() == 4 * 9
    assert image.image().mode == "RGBA"
    np.testing.assert_array_equal(np.asarray(image.repainted(1 - image.colours).image()), np.dstack([255 - PIXELS, alpha]))
    grey = read_photograph(saved(tmp_path, Image.fromarray(np.dstack([PIXELS[:, :, 0], alpha]), "LA"), "grey.png"))
    np.testing.assert_array_equal(grey.alpha, alpha)


def test_palettes_are_looked_up_with_their_transparent_colour(tmp_path):
    image = Image.new("P", (3, 2))
    image.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])
    image.putdata([0, 1, 2, 2, 1, 0])
    plain = read_photograph(saved(tmp_path, image))
    np.testing.assert_array_equal(plain.pixels[0], [[10, 20, 30], [40, 50, 60], [70, 80, 90]])
    assert plain.alpha is None
    clear = read_photograph(saved(tmp_path, image, "clear.png", transparency=1))
    np.testing.assert_array_equal(clear.alpha, [[255, 0, 255], [255, 0, 255]])


def test_sixteen_bits_of_grey_are_kept(tmp_path):
    levels = RNG.integers(0, 2**16, (5, 7), dtype=np.uint16)
    image = read_photograph(saved(tmp_path, Image.fromarray(levels)))
    assert image.pixels.dtype == np.uint16
    np.testing.assert_array_equal(image.pixels, np.repeat(levels[:, :, None], 3, 2))
    np.testing.assert_allclose(image.colours[image.places][:, 1] * (2**16 - 1), levels.reshape(-1), atol=1e-6)
    assert image.image().mode == "RGB"


def test_colour_of_sixteen_bits_is_read_with_eight(tmp_path):
    path = tmp_path / "deep.png"
    path.write_bytes(png_of_16_bits(PIXELS.astype(np.uint16) * 257))
    np.testing.assert_array_equal(read_photograph(str(path)).pixels, PIXELS)


def png_of_16_bits(pixels):
    """By hand: Pillow writes none in colour."""
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + line.astype(">u2").tobytes() for line in pixels)
    parts = (b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")
    chunks = (struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "must be a file, or a built-in image; got"),
        (b"", "which is an empty file"),
        (b"no image at all", "which is not one that can be read"),
        ("half", "must be a whole image"),
        ("clear", "every pixel is transparent"),
        ("folder", "which is no file"),
    ],
)
def test_what_is_no_picture_is_refused_in_a_sentence(tmp_path, content, sentence):
    path = tmp_path / "file.png"
    if content == "half":
        saved(tmp_path, Image.fromarray(RNG.integers(0, 256, (64, 64, 3), dtype=np.uint8)), "file.png")
        path.write_bytes(path.read_bytes()[:4000])
    elif content == "clear":
        saved(tmp_path, Image.new("RGBA", (3, 3), (1, 2, 3, 0)), "file.png")
    elif content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_photograph(str(path))
    assert "\n" not in str(caught.value)


def test_a_file_that_changes_is_read_again(tmp_path):
    path = saved(tmp_path, Image.fromarray(PIXELS))
    first = read_photograph(path)
    assert read_photograph(path) is first
    saved(tmp_path, Image.fromarray(255 - PIXELS[:5]))
    second = read_photograph(path)
    assert second.digest != first.digest
    np.testing.assert_array_equal(second.pixels, 255 - PIXELS[:5])


def test_a_palette_has_the_means_and_shares_of_its_clusters():
    image = read_photograph("rocket")
    palette = palette_of(image, 40, seed=3)
    labels = palette.labels[image.places]
    pixels = image.pixels.reshape(-1, 3) / 255
    np.testing.assert_allclose(palette.weights, np.bincount(labels) / len(pixels))
    assert palette.weights.min() > 0
    for k in (0, 7, 39):
        np.testing.assert_allclose(palette.centres[k], pixels[labels == k].mean(0))
    error = np.square(pixels - palette.centres[labels]).sum()
    assert error < 1.25 * KMeans(40, n_init=1, random_state=0).fit(image.colours, sample_weight=image.counts).inertia_
    assert palette_of(image, 40, seed=3) is palette
    again, other = (cluster(image.colours, image.counts, 40, seed) for seed in (3, 4))
    np.testing.assert_array_equal(again.centres, palette.centres)
    assert not np.array_equal(other.centres, palette.centres)


def test_as_many_clusters_as_colours_are_the_colours():
    colours = RNG.random((30, 3))
    palette = cluster(colours, np.arange(1, 31), 30, seed=0)
    np.testing.assert_allclose(palette.centres, colours)
    np.testing.assert_array_equal(palette.labels, np.arange(30))


def test_no_cluster_is_empty_where_most_pixels_have_few_colours():
    colours = np.concatenate([RNG.random((30, 3)) * 1e-3 + 0.5, RNG.random((5, 3))])
    counts = np.concatenate([np.ones(30, dtype=int), np.full(5, 10**6)])
    palette = cluster(colours, counts, 33, seed=0)
    assert len(np.unique(palette.labels)) == 33
    assert np.isfinite(palette.centres).all()


def test_more_clusters_than_colours_are_refused():
    with pytest.raises(ValueError, match="here 3; got 4"):
        cluster(RNG.random((4, 3)), np.array([1, 1, 1, 0]), 4, seed=0)
