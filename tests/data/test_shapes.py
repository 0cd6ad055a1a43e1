"""Clouds: shapes by name, from files made here, their keys, and mistakes in one sentence."""

import math
import shutil

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw
from scipy.integrate import quad

from aswd.config.composition import CommandLine, plan_runs
from aswd.data.points import Shapes
from aswd.data.surfaces import SHAPES, shape
from aswd.utils.errors import UserError

PLANE = ["disk", "ring", "square", "triangle", "star", "heart", "cross", "moons"]


def cloud(name, num_samples=500, seed=0, **options):
    (drawn,) = Shapes(shapes=[str(name)], num_samples=num_samples, seeds=[seed], **options).samples()
    return drawn[0].double()


def spec_of(*overrides):
    (spec,) = plan_runs(CommandLine(["task=barycenter", "data=shapes", "distance=swd", *overrides]))
    return spec


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_fills_the_box_and_is_a_function_of_its_seed(name):
    first, again, other = (cloud(name, seed=seed) for seed in (0, 0, 1))
    assert first.shape == (500, 2 if name in PLANE else 3)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    corners = shape(name).normalised().triangles.reshape(-1, first.shape[1])
    low, high = corners.min(0), corners.max(0)
    np.testing.assert_allclose(low, -high, atol=1e-12)  # its box is centred
    assert high.max() == pytest.approx(1)
    assert (np.abs(first.numpy()) <= high + 1e-6).all()
    assert (first.amax(0).numpy() > 0.85 * high).all()


@pytest.mark.parametrize(
    ("name", "area"),
    [
        ("disk", math.pi),
        ("ring", math.pi * (1 - 0.65**2)),
        ("square", 4),
        ("triangle", 3 * math.sqrt(3) / 4),
        ("cross", 20 / 9),
        ("moons", math.pi * (1.15**2 - 0.85**2)),
        ("sphere", 4 * math.pi),
        ("cube", 24),
        ("torus", 4 * math.pi**2 * 0.4),
        ("cone", math.pi * (1 + math.sqrt(5))),
        ("trefoil", 2 * math.pi * 0.4 * quad(lambda t: math.sqrt(17 + 8 * math.cos(3 * t) + 9 * math.cos(3 * t) ** 2), 0, 2 * math.pi)[0]),
    ],
)
def test_shapes_have_the_area_of_their_closed_form(name, area):
    assert shape(name).areas().sum() == pytest.approx(area, rel=1e-3)


def test_points_are_uniform():
    radii = cloud("disk", 20_000).norm(dim=1)
    assert (radii.square() < 0.5).double().mean().item() == pytest.approx(0.5, abs=0.015)
    heights = cloud("sphere", 20_000)[:, 1]  # of a sphere they are uniform
    assert heights.var().item() == pytest.approx(1 / 3, rel=0.03)
    ring = cloud("ring").norm(dim=1)
    assert ring.min() > 0.649
    assert ring.max() <= 1 + 1e-6


def test_each_cloud_and_each_seed_has_random_numbers_of_its_own():
    options = {"shapes": ["disk", "disk"], "num_samples": 20}
    one, two = Shapes(**options, seeds=[3, 4]).samples()
    assert one.shape == two.shape == (2, 20, 2)
    assert not torch.equal(one, two)
    torch.testing.assert_close(one[1], Shapes(**options, seeds=[4]).samples()[0][0], rtol=0, atol=0)


def write_mesh(folder):
    """Two triangles of areas 3 and 1 that do not touch, in every format."""
    vertices = ["0 0 0", "6 0 0", "0 1 0", "0 0 5", "2 0 5", "0 1 5"]
    (folder / "mesh.obj").write_text("# two\n" + "".join(f"v {v}\n" for v in vertices) + "vn 0 0 1\nf 1/1/1 2/2/1 3//1\nf -3 -2 -1\n")
    rows = "\n".join(vertices)
    (folder / "mesh.off").write_text(f"OFF # two\n6 2 0\n{rows}\n3 0 1 2 255 0 0\n3 3 4 5\n")
    header = "ply\nformat ascii 1.0\ncomment two\nelement vertex 6\nproperty float x\nproperty float y\nproperty float z\n"
    faces = "element face 2\nproperty list uchar int vertex_indices\nend_header\n"
    (folder / "mesh.ply").write_text(f"{header}{faces}{rows}\n3 0 1 2\n3 3 4 5\n")
    return [folder / f"mesh.{suffix}" for suffix in ("obj", "off", "ply")]


def test_meshes_are_drawn_from_by_area(tmp_path):
    obj, off, ply = (cloud(path, 4000, normalise=False) for path in write_mesh(tmp_path))
    assert torch.equal(obj, off)
    assert torch.equal(obj, ply)
    front = obj[:, 2] == 0
    assert set(obj[:, 2].tolist()) == {0.0, 5.0}
    assert front.double().mean().item() == pytest.approx(0.75, abs=0.03)
    np.testing.assert_allclose(obj[front].mean(0), [2, 1 / 3, 0], atol=0.1)  # the middle of the triangle
    normalised = cloud(tmp_path / "mesh.obj", 4000)
    np.testing.assert_allclose(normalised, (obj - torch.tensor([3, 0.5, 2.5])) / 3, atol=1e-6)


def test_faces_of_more_corners_and_meshes_without_faces(tmp_path):
    (tmp_path / "square.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n")
    square = cloud(tmp_path / "square.obj", 4000, normalise=False)
    np.testing.assert_allclose(square.var(0), [1 / 12, 1 / 12, 0], atol=0.01)
    (tmp_path / "points.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\n")
    assert cloud(tmp_path / "points.obj", 10).shape == (3, 3)


def test_pictures_give_their_dark_pixels_upright(tmp_path):
    image = Image.new("L", (30, 20), 255)
    ImageDraw.Draw(image).rectangle((0, 0, 9, 4), fill=0)  # top left, 10 x 5
    image.putpixel((29, 19), 100)
    image.save(tmp_path / "grey.png")
    points = cloud(tmp_path / "grey.png", 5000, normalise=False)
    block = (points[:, 0] <= 10) & (points[:, 1] >= 15)
    corner = (points[:, 0] >= 29) & (points[:, 1] <= 1)
    assert (block | corner).all()
    assert block.double().mean().item() == pytest.approx(50 / 51, abs=0.01)
    np.testing.assert_allclose(points[block].mean(0), [5, 17.5], atol=0.2)
    clear = Image.new("RGBA", (30, 20), (0, 0, 0, 0))  # black, but seen through
    clear.putpixel((3, 3), (0, 0, 0, 255))
    clear.save(tmp_path / "clear.png")
    assert (cloud(tmp_path / "clear.png", normalise=False).floor() == torch.tensor([3, 16])).all()
    Image.new("1", (3000, 20), 0).save(tmp_path / "large.png")
    assert cloud(tmp_path / "large.png", normalise=False).amax(0)[0] <= 512


def test_files_of_points(tmp_path):
    rows = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    np.save(tmp_path / "points.npy", rows)
    np.savetxt(tmp_path / "points.csv", rows, delimiter=",", header="a,b,c,d", comments="")
    np.savetxt(tmp_path / "points.xyz", rows)
    expected = np.array(sorted(rows.tolist()))
    for name in ("points.npy", "points.csv", "points.xyz"):
        np.testing.assert_allclose(sorted(cloud(tmp_path / name, normalise=False).tolist()), expected, rtol=1e-6)
        few = cloud(tmp_path / name, 12, normalise=False)
        assert few.shape == (12, 4)
        assert len({tuple(row) for row in few.tolist()}) == 12  # none of them twice


def test_keys_depend_on_what_is_in_files_and_not_on_where_they_are(tmp_path):
    mesh = write_mesh(tmp_path)[0]
    (tmp_path / "elsewhere").mkdir()
    moved = shutil.copy(mesh, tmp_path / "elsewhere" / "renamed.obj")
    one, two = (spec_of(f"data.shapes=[sphere,{path}]") for path in (mesh, moved))
    assert one.key == two.key
    mesh.write_text(mesh.read_text().replace("6 0 0", "7 0 0"))
    assert spec_of(f"data.shapes=[sphere,{mesh}]").key != one.key
    assert spec_of(f"data.shapes=[cube,{moved}]").key != one.key
    assert spec_of(f"data.shapes=[{moved},sphere]").key != one.key


def damaged(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("text.png", "no image", "is not an image"),
        ("cut.obj", "v 0 0\nv 1 0 0\nf 1 2 3\n", "different dimension"),
        ("far.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "a corner that is not there"),
        ("flat.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", "no surface"),
        ("words.obj", "v a b c\n", "is not an OBJ file"),
        ("wrong.off", "6 2 0\n", "is not an OFF file"),
        ("short.off", "OFF\n6 2 0\n0 0 0\n", "is not an OFF file"),
        ("binary.ply", "ply\nformat binary_little_endian 1.0\n", "binary PLY"),
        ("other.ply", "nothing", "is not a PLY file"),
        ("nan.csv", "1,2\nnan,3\n", "not finite"),
        ("words.csv", "1,2\nthree,3\n", "is not a list of points"),
        ("empty.csv", "", "empty cloud"),
        ("empty.ply", "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nend_header\n", "empty cloud"),
        ("vertex.obj", "v\n", "empty cloud"),
        ("noise.npy", b"\x93NUMPY\x01\x00nothing", "is not a numpy file"),
        ("noise.txt", b"\xff\xfe\xff", "is not a list of points"),
        ("mesh.stl", "solid", "no known kind"),
    ],
)
def test_files_that_are_no_shapes_are_named_in_one_sentence(tmp_path, name, content, sentence):
    path = damaged(tmp_path, name, content)
    with pytest.raises(UserError, match=sentence) as caught:
        spec_of(f"data.shapes=[{path}]")
    assert name in str(caught.value)
    assert str(caught.value).startswith("data.shapes must ")
    assert "\n" not in str(caught.value)


def test_other_mistakes(tmp_path):
    white = tmp_path / "white.png"
    Image.new("L", (5, 5), 255).save(white)
    np.save(tmp_path / "space.npy", np.zeros((2, 3, 4)))
    for override, sentence in (
        ("data.shapes=[rign,heart]", "did you mean ring"),
        ("data.shapes=[nowhere.obj]", "there is no such file"),
        (f"data.shapes=[{tmp_path}]", "no known kind"),
        (f"data.shapes=[{white}]", "no dark pixel"),
        (f"data.shapes=[{tmp_path / 'space.npy'}]", "must be an array of numbers"),
        ("data.shapes=[ring,sphere]", "one dimension; got ring in 2, sphere in 3"),
        ("data.shapes=[]", "at least one"),
        ("data.num_samples=0", "num_samples must be"),
        ("data=swiss_roll", "data must be one of shapes, solids for task=barycenter"),
    ):
        with pytest.raises(UserError, match=sentence):
            spec_of(override)
