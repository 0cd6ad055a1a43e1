"""Shapes from files: images (their dark pixels), meshes, and lists of points."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from aswd.data.surfaces import NoShape, Points, Source, Surface

_LARGEST = 512  # pixels per side that an image is reduced to


def read_shape(path: Path) -> tuple[Source, bytes]:
    """What a cloud can be drawn from, and the file as it was read.

    Raises:
        NoShape: the file cannot be read, or holds nothing to draw from.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise NoShape(f"is of no known kind: known are {', '.join(READERS)}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise NoShape(f"cannot be read: {error.strerror}") from None
    source = reader(content)
    inside = source.points if isinstance(source, Points) else source.triangles
    if not np.isfinite(inside).all():
        raise NoShape("holds coordinates that are not finite")
    return source, content


def _image(content: bytes) -> Surface:
    """Every pixel that is nearer to black than to white is a square; what is transparent is white."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as opened:
            opened.thumbnail((_LARGEST, _LARGEST))
            white = Image.new("RGBA", opened.size, "white")
            grey = np.asarray(Image.alpha_composite(white, opened.convert("RGBA")).convert("L"))
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise NoShape("is not an image that can be read") from None
    row, column = np.nonzero(grey < 128)
    if len(row) == 0:
        raise NoShape("is an empty cloud: the image has no dark pixel")
    corner = np.stack([column, grey.shape[0] - 1 - row], 1).astype(float)[:, None]
    halves = np.array([[[0, 0], [1, 0], [1, 1]], [[0, 0], [1, 1], [0, 1]]])
    return Surface(np.concatenate([corner + half for half in halves]))


def _obj(content: bytes) -> Source:
    vertices, faces = [], []
    for line in _lines(content):
        kind, *rest = line.split()
        if kind == "v":
            vertices.append([float(number) for number in rest[:3]])
        elif kind == "f":
            corners = [int(corner.split("/")[0]) for corner in rest]
            faces.append([corner - 1 if corner > 0 else len(vertices) + corner for corner in corners])  # negative: from the last
    return _surface(vertices, faces)


def _off(content: bytes) -> Source:
    lines = _lines(content)
    words = next(lines).split()
    if not words[0].endswith("OFF"):
        raise NoShape("is not an OFF file: its first line does not say OFF")
    counts = words[1:] or next(lines).split()
    vertices = [[float(number) for number in next(lines).split()[:3]] for _ in range(int(counts[0]))]
    return _surface(vertices, [_counted(next(lines).split()) for _ in range(int(counts[1]))])


def _ply(content: bytes) -> Source:
    lines = _lines(content)
    if next(lines) != "ply":
        raise NoShape("is not a PLY file: its first line does not say ply")
    elements: list[tuple[str, int, list[str]]] = []
    for line in lines:
        words = line.split()
        if words[0] == "format" and words[1] != "ascii":
            raise NoShape("is a binary PLY file: only ascii ones are read")
        if words[0] == "element":
            elements.append((words[1], int(words[2]), []))
        elif words[0] == "property":
            elements[-1][2].append(words[-1])
        elif words[0] == "end_header":
            break
    vertices, faces = [], []
    for name, count, properties in elements:
        for _ in range(count):
            words = next(lines).split()
            if name == "vertex":
                vertices.append([float(words[properties.index(axis)]) for axis in "xyz" if axis in properties])
            elif name == "face":
                faces.append(_counted(words))
    return _surface(vertices, faces)


def _counted(words: list[str]) -> list[int]:
    """The numbers after the first, which says how many they are."""
    return [int(word) for word in words[1 : 1 + int(words[0])]]


def _surface(vertices: list[list[float]], faces: list[list[int]]) -> Source:
    points = _table(vertices)
    # A face of more than three corners is cut into triangles from its first.
    places = [[face[0], face[k], face[k + 1]] for face in faces for k in range(1, len(face) - 1)]
    if not places:
        return points
    corners = np.asarray(places)
    if corners.min() < 0 or corners.max() >= len(points.points):
        raise NoShape("has a face with a corner that is not there")
    return Surface(points.points[corners])


def _rows(content: bytes) -> Points:
    """Numbers between commas, semicolons or spaces, a point a line; a first line of words is passed over."""
    rows: list[list[float]] = []
    for number, line in enumerate(_lines(content)):
        try:
            rows.append([float(word) for word in line.replace(",", " ").replace(";", " ").split()])
        except ValueError:
            if number > 0:
                raise
    return _table(rows)


def _npy(content: bytes) -> Points:
    array = np.load(io.BytesIO(content), allow_pickle=False)
    if not isinstance(array, np.ndarray) or array.ndim not in (1, 2) or not np.issubdtype(array.dtype, np.number):
        raise NoShape("must be an array of numbers, [points, dimension]")
    return Points((array if array.ndim == 2 else array[:, None]).astype(float))


def _table(rows: list[list[float]]) -> Points:
    if len({len(row) for row in rows}) > 1:
        raise NoShape("has points of different dimension")
    return Points(np.asarray(rows, dtype=float))


def _lines(content: bytes) -> Iterator[str]:
    """Lines with something in them, without comments."""
    for line in content.decode().splitlines():
        line = line.split("#")[0].strip()
        if line:
            yield line


def _plainly(reader: Callable[[bytes], Source], kind: str) -> Callable[[bytes], Source]:
    """``reader``, with one sentence for whatever a file that is not of its kind makes it trip over."""

    def read(content: bytes) -> Source:
        try:
            return reader(content)
        except NoShape:
            raise
        except (ValueError, IndexError, StopIteration, EOFError):
            raise NoShape(f"is not {kind} that can be read") from None

    return read


READERS: dict[str, Callable[[bytes], Source]] = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pbm", ".pgm", ".tif", ".tiff", ".webp"), _image),
    ".obj": _plainly(_obj, "an OBJ file"),
    ".off": _plainly(_off, "an OFF file"),
    ".ply": _plainly(_ply, "an ascii PLY file"),
    **dict.fromkeys((".xyz", ".txt", ".csv"), _plainly(_rows, "a list of points")),
    ".npy": _plainly(_npy, "a numpy file"),
}
