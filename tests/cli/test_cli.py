"""Commands other than train."""

import shutil

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


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("list distnces", "aswd list: unknown choice 'distnces': did you mean distances"),
        ("list", "aswd list: the following arguments are required: what"),
        ("list distances extra", "aswd list: unknown argument extra: write OPTION=VALUE"),
        ("lst", "aswd: unknown command 'lst': did you mean list?"),
        ("--foo", "aswd: unknown argument --foo"),
        ("bench --rounds 2", "aswd bench: --rounds must be a whole number of at least 3; got '2'"),
        ("bench swae", "aswd bench: unknown choice 'swae': known are: distances, flow, gan"),
        ("status --wach", "aswd status: unknown argument --wach: did you mean --watch"),
        ("clean --y", "aswd clean: unknown argument --y: did you mean --yes?"),  # an abbreviation must not delete anything
        ("wandb foo", "aswd wandb: unknown action 'foo'"),
        ("wandb sync --mod online", "aswd wandb: unknown argument --mod: did you mean --mode?"),
        ("wandb sync nonsense", "aswd wandb: unknown argument nonsense: write OPTION=VALUE"),
        ("search nonsense", "aswd search: unknown argument nonsense"),
        ("search --over", "aswd search: --over expected one argument"),
        ("search --trials 0", "aswd search: --trials must be a whole number of at least 1; got '0'"),
        ("profile nonsense", "aswd profile: unknown argument nonsense"),
        ("profile hydra.job.chdir=true", "aswd profile: hydra.job.chdir=true must be left out"),
        ("reproduce flow_main hydra.run.dir=x", "aswd reproduce: hydra.run.dir=x must be left out: paths.output_dir=DIR"),
        ("reproduce flow_main --package x", "aswd reproduce: unknown argument --package"),
        ("reproduce flow_main =3", "aswd reproduce: '=3' is not understood: write OPTION=VALUE"),
        ("list runs paths.output_dir=null", "aswd list: paths.output_dir must be a folder; got null"),
        ("list runs paths.output_dir=${oc.env:NO_SUCH_VARIABLE}", "aswd list: paths.output_dir must be a text"),
        (
            "list tasks --config-dir /dev/null",
            "aswd list: --config-dir must be a folder that can be read; got '/dev/null': Not a directory",
        ),
    ],
)
def test_mistakes_end_with_code_2_and_one_sentence(line, sentence, capsys):
    assert main(line.split()) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(sentence)
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_the_output_folder_of_every_command_is_expanded_as_hydra_does_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in ("~/out", "${oc.env:HOME}/out", f"'{tmp_path}/out'"):
        assert main(["list", "runs", f"paths.output_dir={folder}"]) == 0
        assert f"no runs in {tmp_path}/out" in capsys.readouterr().out
        assert main(["train", f"paths.output_dir={folder}", "--cfg", "job", "--package", "paths"]) == 0
        assert capsys.readouterr().out == f"output_dir: {tmp_path}/out\n"


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


@pytest.mark.parametrize(
    ("blocked", "arguments"),
    [
        ("report", ["report"]),
        ("wandb", ["wandb", "sync"]),
        ("wandb", ["wandb", "dashboard", "flow_main"]),
        ("bench", ["bench", "--only", "no such case"]),
        ("bench", ["bench"]),
        ("profile", ["profile", "distance=swd"]),
        ("runs", ["list", "runs"]),
        ("runs", ["reproduce", "flow_main", "--scale", "smoke"]),
        ("sweeps", ["status"]),
        ("sweeps", ["clean"]),
    ],
)
def test_a_file_in_the_place_of_a_folder_is_a_sentence(blocked, arguments, tmp_path, capsys, monkeypatch):
    """Root may write to any folder, but not into a file."""
    from tests.artifacts.test_report import write
    from tests.runs.test_store import finished

    monkeypatch.setenv("WANDB_MODE", "offline")
    finished(tmp_path / "runs" / "flow" / "knot" / "swd" / "abc")
    if blocked == "report":
        write(tmp_path, "mine")
    if blocked == "runs":
        shutil.rmtree(tmp_path / "runs")
    (tmp_path / blocked).write_text("a file")
    capsys.readouterr()
    code = main([*arguments, f"paths.output_dir={tmp_path}"])
    err = capsys.readouterr().err
    assert code == 0 if arguments[0] in ("list", "status", "clean") else code in (1, 2), err
    assert "Traceback" not in err
    if code:
        assert err.startswith(f"aswd {arguments[0]}: ")


def test_the_output_of_a_benchmark_is_checked_before_it_runs(tmp_path, capsys, monkeypatch):
    from aswd.bench import distances

    monkeypatch.setattr(distances, "run", lambda *_: pytest.fail("the benchmark ran"))
    (tmp_path / "file").write_text("")
    for output, sentence in (
        (tmp_path, "--output must be a file; got the folder"),
        (tmp_path / "file" / "x.json", "--output must be in a"),
    ):
        assert main(["bench", "--output", str(output)]) == 2
        assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "list runs", "status", "clean", "wandb sync", "train", "data image_folder --root"])
def test_a_name_that_is_too_long_is_a_mistake(command, capsys):
    argument = 5000 * "x" if command.endswith("--root") else f"paths.output_dir={5000 * 'x'}"
    assert main([*command.split(), argument]) == 2
    error = capsys.readouterr().err
    assert "File name too long" in error
    assert error.count("\n") == 1
    assert len(error) < 1500
