"""Point clouds from files and shapes: read, drawn, told apart by content, and mistakes in one sentence."""

import hashlib
import shutil

import numpy as np
import pytest
import torch

from aswd.cli.main import main
from aswd.config.composition import CommandLine, plan_runs
from aswd.data.cloud_configs import COLLECTIONS, PointsConfig
from aswd.data.points import PointClouds
from aswd.utils.errors import UserError

ROWS = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "target.npy", ROWS)
    np.savetxt(tmp_path / "source.csv", ROWS[:20] + 1, delimiter=",", header="a,b,c,d", comments="")
    return str(tmp_path / "target.npy"), str(tmp_path / "source.csv")


def spec_of(*overrides):
    (spec,) = plan_runs(CommandLine(["data=points", "distance=swd", *overrides]))
    return spec


def test_all_points_for_all_seeds(files):
    data = PointClouds(target=files[0], source=files[1], seeds=(3, 4))
    assert torch.equal(data.samples(), torch.from_numpy(ROWS).expand(2, 30, 4))
    torch.testing.assert_close(data.source_points(), torch.from_numpy(ROWS[:20] + 1).expand(2, 20, 4))
    assert PointClouds(target=files[0]).source_points() is None


def test_fewer_points_are_drawn_for_every_seed(files):
    data = PointClouds(target=files[0], source=files[1], num_samples=12, seeds=(3, 4))
    drawn = data.samples()
    assert drawn.shape == (2, 12, 4)
    assert not torch.equal(drawn[0], drawn[1])
    assert torch.equal(drawn[1], PointClouds(target=files[0], num_samples=12, seeds=(4,)).samples()[0])
    known = {tuple(row) for row in ROWS.tolist()}
    assert all(len({tuple(row) for row in cloud.tolist()} & known) == 12 for cloud in drawn)  # each of them once


def test_keys_depend_on_what_is_in_files_and_not_on_where_they_are(files, tmp_path):
    target, source = files
    moved = shutil.copy(target, tmp_path / "moved.npy")
    keys = {name: spec_of(f"data.target={path}").key for name, path in (("here", target), ("moved", moved), ("other", source))}
    assert keys["here"] == keys["moved"] != keys["other"]
    assert spec_of(f"data.target={target}", f"data.source={source}").key != keys["here"]
    np.save(moved, ROWS + 1)
    assert spec_of(f"data.target={moved}").key != keys["here"]


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ([], r"data\.target must be a \.npy or \.csv file of points, or the name of a shape; got ''"),
        (["data.target=points.obj"], r"data\.target must be a \.npy or \.csv file of points, or the name of a shape; got 'points\.obj'"),
        (["data.target=torrus"], r"data\.target must be .*got 'torrus': did you mean torus"),
        (["data.target=torus"], r"data\.num_samples must be given a value where target is a shape; got null for target=torus"),
        (["data.target=torus", "data.source=ring", "data.num_samples=9"], r"data\.source must have the dimension of target, 3; got 'ring'"),
        (["data.target=nowhere.npy"], r"data\.target must be .*got 'nowhere\.npy', which cannot be read: No such file"),
        (["data.target=words.csv"], r"data\.target must be .*which is not a list of points that can be read"),
        (["data.target=nan.csv"], r"data\.target must be .*which holds coordinates that are not finite"),
        (["data.target=cube.npy"], r"data\.target must be .*which must be an array of numbers"),
        (
            ["data.target={target}", "data.source=plane.csv"],
            r"data\.source must have the dimension of target, 4; got 'plane\.csv'",
        ),
        (["data.target={target}", "data.num_samples=0"], r"data\.num_samples must be a whole number of at least 1; got 0"),
        (
            ["data.target={target}", "data.target_digest=ff"],
            r"data\.target_digest must be left out, or be that of the file",
        ),
    ],
)
def test_mistakes_are_one_sentence(files, tmp_path, monkeypatch, overrides, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.csv").write_text("1,2\nthree,3\n")
    (tmp_path / "nan.csv").write_text("1,2\nnan,3\n")
    (tmp_path / "plane.csv").write_text("1,2\n3,4\n")
    np.save(tmp_path / "cube.npy", np.zeros((2, 3, 4)))
    with pytest.raises(UserError, match=sentence) as caught:
        spec_of(*(override.format(target=files[0]) for override in overrides))
    assert "\n" not in str(caught.value)


def test_a_config_is_made_again_from_its_own_options(files):
    config = PointsConfig(target=files[0])
    assert PointsConfig(**{name: getattr(config, name) for name in ("target", "target_digest")}) == config


def test_shapes_are_drawn_afresh_for_every_seed():
    spec = spec_of("data.target=torus", "data.source=sphere", "data.num_samples=50", "replicas=2")
    data = spec.build_data()
    target, source = data.samples(), data.source_points()
    assert target.shape == source.shape == (2, 50, 3)
    torch.testing.assert_close(source.norm(dim=2), torch.ones(2, 50), rtol=1e-3, atol=0)
    assert not torch.equal(target[0], target[1])
    tube = torch.stack([target[..., [0, 2]].norm(dim=2) * 1.4 - 1, target[..., 1] * 1.4], 2).norm(dim=2)  # scaled by its radius, 1.4
    torch.testing.assert_close(tube, torch.full((2, 50), 0.4), rtol=1e-2, atol=0)
    assert spec.key != spec_of("data.target=cone", "data.source=sphere", "data.num_samples=50").key


@pytest.fixture
def clouds(tmp_path):
    """A file like the published ones, and its checksum."""
    np.save(tmp_path / "clouds.npy", np.random.default_rng(0).normal(size=(50, 2048, 3)).astype(np.float32))
    return tmp_path / "clouds.npy", hashlib.sha256((tmp_path / "clouds.npy").read_bytes()).hexdigest()


def shapenet(*overrides):
    (spec,) = plan_runs(CommandLine(["data=shapenet_clouds", "distance=swd", *overrides]))
    return spec


def test_clouds_of_a_collection_by_their_number(clouds, tmp_path):
    file, digest = clouds
    options = [f"data.file={file}", f"data.sha256={digest}", "data.source=2", "data.target=7", "replicas=2"]
    spec = shapenet(*options)
    data, array = spec.build_data(), torch.from_numpy(np.load(file))
    assert torch.equal(data.samples(), array[7].expand(2, 2048, 3))
    assert torch.equal(data.source_points(), array[2].expand(2, 2048, 3))
    assert shapenet(*options, "data.source=null").build_data().source_points() is None
    assert shapenet(*options, "data.num_samples=9").build_data().samples().shape == (2, 9, 3)
    moved = shutil.copy(file, tmp_path / "moved.npy")
    assert shapenet(f"data.file={moved}", *options[1:]).key == spec.key != shapenet(*options[:2]).key


def test_another_file_of_clouds_is_refused(clouds, tmp_path, monkeypatch):
    file, digest = clouds
    with pytest.raises(UserError, match=r"clouds\.npy is damaged or another file: its SHA256 must be bf4f0b20"):
        shapenet(f"data.file={file}").build_data().prepare_data()
    np.save(tmp_path / "few.npy", np.zeros((3, 4)))
    digest = hashlib.sha256((tmp_path / "few.npy").read_bytes()).hexdigest()
    with pytest.raises(UserError, match=r"data\.file must be an array of numbers of the shape \[50, 2048, 3\]; .* has \[3, 4\]"):
        shapenet(f"data.file={tmp_path / 'few.npy'}", f"data.sha256={digest}").build_data().prepare_data()
    with pytest.raises(UserError, match=r"data\.file must be a file that is there; got 'nowhere\.npy'"):
        shapenet("data.file=nowhere.npy")
    with pytest.raises(UserError, match=r"data\.target must be below collection=50; got 50"):
        shapenet("data.target=50")
    address = COLLECTIONS[50][1]
    monkeypatch.setitem(COLLECTIONS, 50, (COLLECTIONS[50][0], address.replace("https://raw.githubusercontent.com", "file:///nowhere")))
    with pytest.raises(UserError, match=r"shapenet_clouds is not there and cannot be fetched .*or give the file as data\.file"):
        shapenet(f"data.root={tmp_path}").build_data().prepare_data()


def test_a_collection_is_fetched_once(clouds, tmp_path, monkeypatch, capsys):
    file, digest = clouds
    monkeypatch.setitem(COLLECTIONS, 50, (digest, file.as_uri()))
    assert main(["data", "shapenet_clouds", "--root", str(tmp_path / "data")]) == 0
    fetched = tmp_path / "data" / "shapenet_clouds" / "clouds.npy"
    assert capsys.readouterr().out == f"shapenet_clouds: {fetched}\n"
    file.unlink()
    assert main(["data", "shapenet_clouds", "--root", str(tmp_path / "data")]) == 0
    np.testing.assert_array_equal(shapenet(f"data.root={tmp_path / 'data'}").build_data().samples()[0], np.load(fetched)[31])


def test_the_data_command_says_what_it_needs(capsys):
    assert main(["data", "points"]) == 2
    assert "target must be a .npy or .csv file of points, or the name of a shape" in capsys.readouterr().err
