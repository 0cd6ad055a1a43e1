"""``aswd data``, and data that are missing when a run is asked for."""

from dataclasses import replace

import pytest

from aswd.cli.main import main
from aswd.data.image_configs import ImageFolderConfig
from aswd.launchers.base import prepare_data
from aswd.runs.execution import execute_run
from aswd.utils.errors import UserError
from tests.data.small import expect_mnist, mnist_contents, write_image, write_mnist
from tests.runs.small import small_spec


def test_says_what_there_is(tmp_path, monkeypatch, capsys):
    contents = mnist_contents()
    expect_mnist(monkeypatch, contents)
    write_mnist(tmp_path, contents)
    assert main(["data", "mnist", "--root", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"mnist: {tmp_path}/MNIST/raw"
    assert "train: 40 images of 1 x 28 x 28" in lines[1]
    assert lines[1].endswith("of the classes 0 to 9: 4, 4, 4, 4, 4, 4, 4, 4, 4, 4")


def test_computed_data_need_nothing(capsys):
    assert main(["data", "synthetic"]) == main(["data", "knot"]) == 0
    assert "train: 2048 images of 3 x 64 x 64" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["mnst"], "unknown data set 'mnst': did you mean mnist"),
        (["knot", "--root", "x"], "--root must be left out for knot"),
        (["image_folder"], "--root must be the folder of the images, as in --root DIR; got ''"),
        (["celeba", "--root", "nowhere"], "celeba is not in nowhere"),
    ],
)
def test_mistakes_are_one_sentence(arguments, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["data", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("aswd data: ")
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_place_that_cannot_be_written_to(tmp_path, monkeypatch, capsys):
    for name in ("a", "b"):
        write_image(tmp_path / f"images/{name}.png")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("a file where the folder of decoded images should be")
    assert main(["data", "image_folder", "--root", "images"]) == 2
    assert capsys.readouterr().err.startswith("aswd data: the data of image_folder cannot be read or written: ")


def test_data_are_asked_for_before_any_run_but_not_for_runs_that_are_done(tmp_path):
    spec = small_spec(tmp_path / "outputs", "task.iterations=2", "task.images=false")
    missing = replace(spec, data=ImageFolderConfig(root="nowhere"))
    with pytest.raises(UserError, match="got 'nowhere', which is no folder"):
        prepare_data([spec, missing])
    (outcome,) = execute_run(spec)
    assert outcome.status == "done"
    missing.folder.parent.mkdir(parents=True)
    spec.folder.rename(missing.folder)
    prepare_data([missing])
