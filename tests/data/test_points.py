"""Point clouds from files: read, drawn, told apart by content, and mistakes in one sentence."""

import shutil

import numpy as np
import pytest
import torch

from aswd.cli.main import main
from aswd.config.composition import CommandLine, plan_runs
from aswd.data.configs import PointsConfig
from aswd.data.points import PointFiles
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
    data = PointFiles(target=files[0], source=files[1], seeds=(3, 4))
    assert torch.equal(data.samples(), torch.from_numpy(ROWS).expand(2, 30, 4))
    torch.testing.assert_close(data.source_points(), torch.from_numpy(ROWS[:20] + 1).expand(2, 20, 4))
    assert PointFiles(target=files[0]).source_points() is None


def test_fewer_points_are_drawn_for_every_seed(files):
    data = PointFiles(target=files[0], source=files[1], num_samples=12, seeds=(3, 4))
    drawn = data.samples()
    assert drawn.shape == (2, 12, 4)
    assert not torch.equal(drawn[0], drawn[1])
    assert torch.equal(drawn[1], PointFiles(target=files[0], num_samples=12, seeds=(4,)).samples()[0])
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
        ([], r"data\.target must be a \.npy or \.csv file of points; got ''"),
        (["data.target=points.obj"], r"data\.target must be a \.npy or \.csv file of points; got 'points\.obj'"),
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


def test_the_data_command_says_what_it_needs(capsys):
    assert main(["data", "points"]) == 2
    assert "target must be a .npy or .csv file of points" in capsys.readouterr().err
