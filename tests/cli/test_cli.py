"""Commands other than train."""

import pytest

from aswd.cli.main import main
from aswd.data import DATA
from aswd.distances import available
from aswd.tasks import TASKS


@pytest.mark.parametrize(("what", "names"), [("distances", available), ("data", lambda: DATA), ("tasks", lambda: TASKS)])
def test_list_names_and_explains(what, names, capsys):
    assert main(["list", what]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(names())
    assert all(len(line.split()) > 1 for line in lines)


def test_a_distance_from_outside_is_listed_too(capsys):
    import torch

    from aswd.distances import registry

    registry.register("test_outside")(torch.nn.PairwiseDistance)
    try:
        assert main(["list", "distances"]) == 0
    finally:
        registry._registry.pop("test_outside")
    assert "test_outside                registered by tests.cli.test_cli" in capsys.readouterr().out


def test_list_runs_of_an_empty_store(tmp_path, capsys):
    assert main(["list", "runs", f"paths.output_dir={tmp_path}"]) == 0
    assert "no runs" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["list", "distnces"], ["lst"], ["bench", "--rounds", "2"], ["bench", "swae"]])
def test_mistakes_end_with_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    assert leaving.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_seeds_are_shown_as_ranges():
    from aswd.cli.listing import _ranges

    assert _ranges([3, 0, 1, 2, 7, 9, 10]) == "0-3, 7, 9-10"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["wandb"], "dashboard"),
        (["wandb", "sync", "--help"], "--artifact"),
        (["wandb", "dashboard", "--help"], "--entity"),
        (["search", "--help"], "intlog(LOW,HIGH)"),
        (["profile", "--help"], "--steps"),
    ],
)
def test_the_newer_commands_explain_themselves(arguments, text, capsys):
    try:
        code = main(arguments)
    except SystemExit as leaving:
        code = leaving.code
    assert code == 0
    assert text in " ".join(capsys.readouterr().out.split())


def test_completion_knows_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert main(["completion"]) == 0
    script = capsys.readouterr().out
    for command in ("train", "list", "reproduce", "report", "wandb", "search", "profile", "bench", "completion"):
        assert f"    {command}" in shown
        assert command in script


@pytest.mark.parametrize("command", ["wandb", "search", "profile"])
def test_what_is_no_override_is_refused(command, capsys):
    with pytest.raises(SystemExit) as leaving:
        main([command, *(["sync"] if command == "wandb" else []), "nonsense"])
    assert leaving.value.code == 2
    assert "unrecognized arguments: nonsense" in capsys.readouterr().err
