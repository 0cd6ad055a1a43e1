"""What each command does, given its options; nothing is imported before it is needed, so that all start fast."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

from aswd.utils.errors import UserError

if TYPE_CHECKING:
    from aswd.artifacts.reproduction import Reproduction
    from aswd.config.composition import CommandLine

_BASH = """_aswd() {
    local words="${COMP_LINE:0:COMP_POINT}"
    if [[ $words == "aswd wandb "* && ${COMP_CWORD} -eq 2 ]]; then
        COMPREPLY=($(compgen -W "sync dashboard" -- "${COMP_WORDS[COMP_CWORD]}"))
    elif [[ $words =~ " "(train|search|profile)" " ]]; then
        COMPREPLY=($(COMP_LINE="aswd-train ${words#* ${BASH_REMATCH[1]} }" COMP_POINT=9999 aswd train -sc query=bash 2>/dev/null))
        [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=.] ]] && compopt -o nospace
    else
        COMPREPLY=($(compgen -W "COMMANDS" -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//=} && complete -F _aswd aswd"""


def show_list(options: argparse.Namespace) -> int:
    """``aswd list``."""
    from aswd.cli import listing

    if options.failed and options.what != "runs":
        raise UserError(f"--failed must be used with aswd list runs; got aswd list {options.what}")
    if options.what == "runs":
        print(listing.runs(options.output_dir, options.failed))
        return 0
    _load_plugins(options)
    print(getattr(listing, options.what)(tuple(options.config_dir)))
    return 0


def data(options: argparse.Namespace) -> int:
    """``aswd data``."""
    if options.name == "mnist-features":
        from aswd.metrics.mnist_features import describe_features

        print(describe_features(options.root or "data"))
        return 0
    from aswd.data.fetch import describe

    _load_plugins(options)
    print(describe(options.name, options.root))
    return 0


def status(options: argparse.Namespace) -> int:
    """``aswd status``."""
    from aswd.launchers.status import status

    return status(options.output_dir, options.watch)


def clean(options: argparse.Namespace) -> int:
    """``aswd clean``."""
    from aswd.runs.cleaning import clean

    return clean(options.output_dir, options.yes)


def reproduce(options: argparse.Namespace) -> int:
    """``aswd reproduce``."""
    from aswd.artifacts.reproduce import reproduce
    from aswd.artifacts.reproduce_all import reproduce_all

    line = _load_plugins(options)
    only = _names(options.only)
    if options.artifact != "all":
        return reproduce(options.artifact, options.scale, options.reading, line.overrides, options.dry_run, line.config_dirs, only)
    if only:
        raise UserError(f"--only must be left out with all, whose artifacts have different series; got {options.only}")
    return reproduce_all(options.scale, options.reading, line.overrides, options.dry_run, line.config_dirs)


def leaderboard(options: argparse.Namespace) -> int:
    """``aswd leaderboard``."""
    from aswd.leaderboard.artifact import leaderboard

    line = _load_plugins(options)
    only, tasks = _names(options.only), _names(options.tasks)
    return leaderboard(options.scale, options.reading, line.overrides, only, tasks, options.dry_run, line.config_dirs)


def _names(given: str | None) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in (given or "").split(",") if name.strip()]


def report(options: argparse.Namespace) -> int:
    """``aswd report``."""
    from aswd.artifacts.report import live, report

    if options.source is not None and options.live:
        raise UserError("--from must be left out with --live, which shows the artifacts of the store")
    if options.port is not None and not options.live:
        raise UserError(f"--port must be used with --live; got {options.port}")
    _load_plugins(options)
    if options.live:
        return live.serve(options.output_dir, live.PORT if options.port is None else options.port)
    print(f"Report: {report(options.output_dir, options.source, tuple(options.config_dir))}")
    return 0


def compare(options: argparse.Namespace) -> int:
    """``aswd compare``."""
    from aswd.artifacts.compare import compare

    line = _load_plugins(options)
    filters = [override for override in line.overrides if not override.startswith(("paths.output_dir=", "plugins="))]
    folder = compare(options.output_dir, filters, options.metric, options.published, line.config_dirs)
    print(f"figure.png and table.csv in: {folder}")
    return 0


def wandb_sync(options: argparse.Namespace) -> int:
    """``aswd wandb sync``."""
    from aswd.tracking.sync import sync

    series, filters = None, [override for override in options.overrides if not override.startswith(("paths.output_dir=", "plugins="))]
    if options.artifact is not None:
        from aswd.artifacts.members import labels

        series, filters = labels(_reproduction(options)), []
    where = options.project, options.entity, options.mode
    return sync(options.output_dir, *where, filters, options.tag, options.again, series)


def wandb_dashboard(options: argparse.Namespace) -> int:
    """``aswd wandb dashboard``."""
    from aswd.artifacts.members import comparison
    from aswd.tracking.dashboard import dashboard

    return dashboard(comparison(_reproduction(options)), options.output_dir, options.project, options.entity, options.mode)


def _reproduction(options: argparse.Namespace) -> Reproduction:
    """The artifact, with the options of ``aswd reproduce``."""
    from aswd.artifacts.declaration import load
    from aswd.artifacts.reproduction import Reproduction

    line = _load_plugins(options)
    return Reproduction(load(options.artifact, line.config_dirs), options.scale, options.reading, line.overrides, line.config_dirs)


def search(options: argparse.Namespace) -> int:
    """``aswd search``."""
    from aswd.search.study import search

    line = _command_line(options)
    return search(line, options.over, options.trials, options.seeds, options.search_seed, options.output_dir)


def profile(options: argparse.Namespace) -> int:
    """``aswd profile``."""
    from aswd.bench.profile import profile

    return profile(_command_line(options), options.steps, options.output_dir)


def bench(options: argparse.Namespace) -> int:
    """``aswd bench``."""
    from aswd.bench.measure import chosen
    from aswd.utils.files import check_writable_file

    bench = import_module(f"aswd.bench.{options.what}")
    if not chosen(bench.CASES, options.only):
        raise UserError(f"--only {options.only!r} matches no case; there are: {', '.join(case.title for case in bench.CASES)}")
    output = options.output or options.output_dir / "bench" / f"{options.what}.json"
    check_writable_file("--output" if options.output else "paths.output_dir", output)
    bench.run(output, options.rounds, options.only)
    return 0


def completion(options: argparse.Namespace) -> int:
    """``aswd completion``."""
    print(_BASH.replace("COMMANDS", " ".join(options.commands)))
    return 0


def _command_line(options: argparse.Namespace) -> CommandLine:
    from aswd.config.composition import CommandLine, check_overrides

    return CommandLine(check_overrides(options.overrides, options.config_dir), config_dirs=tuple(options.config_dir))


def _load_plugins(options: argparse.Namespace) -> CommandLine:
    """Make names from outside known: those of installed packages, and of ``plugins=FILE``; the command line."""
    from aswd.config.composition import register_plugins

    line = _command_line(options)
    register_plugins(line)
    return line
