"""Hostile values for every option of every command: one sentence and exit code 2, or success; never a traceback.

Commands and options are taken from the parsers and schemas themselves, so that a new one is covered without a change here. Runs are
replaced by their plan, which is checked completely before anything runs. ``ASWD_HOSTILE=1000 pytest tests/cli/test_hostile.py`` feeds a
thousand inputs instead of eighteen.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import fields

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aswd.cli import main as cli
from aswd.cli.main import main
from aswd.config.schemas import PathConfig, TopConfig, TrainerConfig
from aswd.data import DATA
from aswd.distances import available, options
from aswd.launchers.registry import LAUNCHERS
from aswd.tasks import TASKS
from aswd.tracking.registry import LOGGERS

COUNT = int(os.environ.get("ASWD_HOSTILE", "18")) // 3  # inputs of each of three tests
PLAIN = """
    null ??? nan -nan inf -inf 1e400 -0 -0.0 0 -1 1.5 true none 1e-400 0x10 1_0 99999999999999999999999999 1e18 -1e18 0.5 2 64 auto
    [] {} [1 {a: [[]] {a:{b:{c:1}}} [null] [nan,inf] ( ) , } $ = == ' " # % * ~ ~/x ~nobody/x é 日本語 a=b \\ a\\'b _target_ aswd swd knot
    ${oc.env:HOME} ${oc.env:NO_SUCH_VARIABLE} ${seed} ${task.lr} ${ ${} ${oc.env:A,${oc.env:B}} ${now:} os.system builtins.exit
    /dev/null /dev/zero / /proc/self/mem .. . /etc/passwd {_target_:os.system} [{_target_:builtins.exit}]
    1,2 range(0,3) choice(1,2) glob(*) interval(0,1) range(0,inf) range(0,1e12) sort(3,1) int(x) str([])
"""
ODD = ["", " ", "a b", "a\tb", "a\nb", "\u202e", "\x1b[31m", "0 or 1", 5000 * "x", 300 * "[" + 300 * "]", 300 * "[", 99 * "{a:"]
VALUES = [*PLAIN.split(), *ODD]
hostile = st.one_of(
    st.sampled_from(VALUES),
    st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=30),
    st.integers().map(str),
    st.floats().map(str),
)


def every_option() -> list[tuple[str, str]]:
    """Every option of every schema, with the choices of groups that bring it."""
    task_of = {"points": "flow", "clouds": "barycenter", "images": "generator", "pair": "color_transfer"}
    found = [(f"task.{f.name}", f"task={name} distance=swd") for name in TASKS for f in fields(TASKS.config(name))]
    for name in DATA:
        schema = DATA.config(name)
        found += [(f"data.{f.name}", f"task={task_of[schema.kind]} data={name} distance=swd") for f in fields(schema)]
    found += [(f"distance.{option}", f"distance={name}") for name in available() for option in options(name)]
    found += [(f"launcher.{f.name}", f"launcher={name}") for name in LAUNCHERS for f in fields(LAUNCHERS.config(name))]
    found += [(f"logger.{name}.{f.name}", f"logger={name}") for name in LOGGERS for f in fields(LOGGERS.config(name))]
    for prefix, schema in (("trainer.", TrainerConfig), ("paths.", PathConfig), ("", TopConfig)):
        found += [(f"{prefix}{f.name}", "") for f in fields(schema)]
    odd = ("", "experiment", "hydra", "hydra.run.dir", "hydra/launcher", "hydra.sweeper.params.seed", "callbacks.a._target_", "a.b.c")
    groups = ("task", "data", "distance", "trainer", "callbacks", "callbacks.early_stopping", "logger", "launcher", "paths")
    return [*found, *((name, "") for name in (*odd, *groups))]


OPTIONS = every_option()


def arguments_of(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Every argument of every command: the words before it, and the name of an option, or ``None`` for a positional one."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                if name not in ("train", "completion"):
                    yield from arguments_of(command, (*words, name))
        elif words and not isinstance(action, argparse._HelpAction):
            yield words, action.option_strings[0] if action.option_strings else None


ARGUMENTS = list(arguments_of(cli._parser()))
POSITIONAL = {"list": ["runs"], "data": ["synthetic"], "reproduce": ["flow_main"], "dashboard": ["flow_main"]}
WORK = [  # what runs, draws, measures or sends something after everything was checked
    *("aswd.cli.train._execute", "aswd.search.study._optimize", "aswd.bench.profile._execute", "aswd.tracking.sync.sync"),
    *("aswd.artifacts.reproduce._run_and_draw", "aswd.artifacts.reproduce._measure", "aswd.artifacts.reproduce_all.reproduce"),
    "aswd.leaderboard.artifact._execute",
    *("aswd.bench.distances.run", "aswd.bench.flow.run", "aswd.bench.gan.run", "aswd.tracking.dashboard.dashboard"),
    *("aswd.launchers.status.status", "aswd.data.fetch.prepare", "aswd.metrics.mnist_features.describe_features"),
]


@pytest.fixture(autouse=True)
def _only_plans(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def feed(arguments: list[str], capsys: pytest.CaptureFixture, tmp_path) -> None:
    """Run a command line, and check how it ends."""
    with pytest.MonkeyPatch.context() as patch:
        for name in WORK:
            patch.setattr(name, lambda *_, **__: sys.exit(0))
        patch.setattr("aswd.utils.files.Path.mkdir", lambda *_, **__: None)
        patch.setattr("aswd.cli.train.check_writable", lambda _: None)
        try:
            code = main(arguments)
        except SystemExit as leaving:  # also --help and --version
            code = leaving.code
    captured = capsys.readouterr()
    assert code in (0, 2), (arguments, code, captured.err)
    assert "Traceback" not in captured.err, arguments
    if code == 2:
        assert captured.err.startswith("aswd"), (arguments, captured.err)
        assert captured.err.count("\n") == 1, (arguments, captured.err)
        assert len(captured.err) < 1500, (arguments, captured.err)


def hostile_test(function):
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(
        max_examples=COUNT, deadline=None, derandomize=COUNT < 100, print_blob=False, database=None, suppress_health_check=checks
    )(function)


@hostile_test
@given(option=st.sampled_from(OPTIONS), value=hostile, prefix=st.sampled_from(["", "", "", "+", "++", "~"]), sweep=st.booleans())
def test_options_of_a_run(option, value, prefix, sweep, capsys, tmp_path):
    name, choices = option
    feed(["train", *(["-m"] if sweep else []), *choices.split(), f"{prefix}{name}={value}"], capsys, tmp_path)


@hostile_test
@given(command=st.sampled_from(["search", "profile", "reproduce"]), option=st.sampled_from(OPTIONS), value=hostile)
def test_options_of_a_run_in_other_commands(command, option, value, capsys, tmp_path):
    name, choices = option
    before = {"search": ["search", "--over", "task.lr=0.1,0.2"], "reproduce": ["reproduce", "readings", "--scale", "smoke", "--dry-run"]}
    given = [] if command == "reproduce" else choices.split()
    feed([*before.get(command, [command]), *given, f"{name}={value}"], capsys, tmp_path)


@hostile_test
@given(argument=st.sampled_from(ARGUMENTS), value=hostile, override=st.sampled_from(["", "paths.output_dir", "plugins", "seed"]))
def test_arguments_of_every_command(argument, value, override, capsys, tmp_path):
    words, option = argument
    dry = ["--dry-run"] if "reproduce" in words and option != "--dry-run" else []
    rest = [value] if option is None else [*POSITIONAL.get(words[-1], []), option, value]
    feed([*words, *rest, *dry, *([f"{override}={value}"] if override else [])], capsys, tmp_path)


def test_all_options_and_arguments_are_covered():
    names = {name for name, _ in OPTIONS}
    for option in (
        "task.grid",
        "task.fid",
        "data.crop",
        "distance.penalty",
        "trainer.devices",
        "launcher.mem_gb",
        "logger.wandb.mode",
        "replicas",
    ):
        assert option in names
    assert len(names) > 130
    assert (("search",), "--over") in ARGUMENTS
    assert (("wandb", "sync"), "--mode") in ARGUMENTS
    assert (("list",), None) in ARGUMENTS
