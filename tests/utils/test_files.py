"""Files that are written whole or not at all."""

import pytest

from aswd.utils.files import write_atomically, write_text


def test_a_folder_in_the_files_place_is_set_aside(tmp_path):
    (tmp_path / "result.json" / "inside").mkdir(parents=True)
    write_text(tmp_path / "result.json", "{}")
    assert (tmp_path / "result.json").read_text() == "{}"
    (aside,) = tmp_path.glob("result.json.damaged-*")
    assert (aside / "inside").is_dir()


def test_what_fails_leaves_the_old_file_and_no_other(tmp_path):
    write_text(tmp_path / "a.txt", "old")

    def fail(path):
        path.write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_atomically(tmp_path / "a.txt", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"
