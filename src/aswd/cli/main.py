"""The command line: ``aswd COMMAND``."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aswd
from aswd.cli import commands
from aswd.utils.errors import Parser, UserError, sentence

_WITH_OVERRIDES = ("reproduce", "leaderboard", "compare", "wandb", "search", "profile")  # commands that take any OPTION=VALUE
_EVERYWHERE = ("paths.output_dir", "plugins")  # what every command takes
_OUTPUT_DIR = "paths.output_dir=DIR"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code is 0 for success, 1 after a failure, 2 for a mistake in the call, 3 if runs run elsewhere."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return _main(arguments)
    except KeyboardInterrupt:
        print("aswd: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, such as head, has seen enough
        return 0
    except ModuleNotFoundError as error:  # installed without the extra, for aswd.distances alone
        package = (error.name or "aswd").partition(".")[0]
        if package == "aswd":
            raise
        command, extra = " ".join(["aswd", *arguments[:1]]), "pip install 'aswd[experiments]'"
        print(f"{command}: needs the package {package}, which is not installed: {extra} brings all that the commands need", file=sys.stderr)
        return 2
    except OSError as error:  # a folder that is read-only, a full disk
        where = f": {error.filename}" if error.filename else ""
        print(f"aswd {' '.join(arguments[:1])}: {sentence(f'{error.strerror or error}{where}')}", file=sys.stderr)
        return 2 if error.errno == errno.ENAMETOOLONG else 1


def _main(arguments: list[str]) -> int:
    if arguments[:1] == ["train"]:  # the rest is Hydra's language
        from aswd.cli.train import main as train

        return train(arguments[1:])
    parser = _parser()
    try:
        # argparse takes no further positional arguments after an option, where people write them, and these for any that may be left out.
        everywhere = [argument for argument in arguments if argument.partition("=")[0] in _EVERYWHERE and "=" in argument]
        options, others = parser.parse_known_args([argument for argument in arguments if argument not in everywhere])
        options.overrides = [*others, *everywhere]
        _check_overrides(parser, arguments, options.overrides)
        options.output_dir = _output_dir(options.overrides)
        if getattr(options, "config_dir", []):
            from aswd.config.composition import check_overrides

            check_overrides([], options.config_dir)
        return options.run(options)
    except UserError as error:
        command = " ".join(["aswd", *(word for word in arguments[:1] if word in parser.commands)])
        print(f"{command}: {sentence(error)}", file=sys.stderr)
        return 2


def _check_overrides(parser: Parser, arguments: list[str], overrides: list[str]) -> None:
    """Refuse what is no ``OPTION=VALUE``, or one that the command has no use for."""
    for override in overrides:
        option, command = override.partition("=")[0], arguments[0]
        if option == "--output-dir":
            raise UserError(f"--output-dir is now {_OUTPUT_DIR}")
        if override.startswith("-") or not ("=" in override or override.startswith("~")):
            raise UserError(parser.unknown(arguments, override))
        if command not in _WITH_OVERRIDES and option not in _EVERYWHERE:
            raise UserError(f"{option} is not an option of aswd {command}: it takes {_OUTPUT_DIR} and plugins=FILE")


def _output_dir(overrides: list[str]) -> Path:
    """The folder of the results: the last ``paths.output_dir=DIR`` wins, as in Hydra."""
    given = [override.partition("=")[2] for override in overrides if override.partition("=")[0] == "paths.output_dir"] or ["outputs"]
    folder = given[-1].strip().strip("'\"")
    if "${" in folder:
        from aswd.config.composition import interpolated

        folder = interpolated("paths.output_dir", folder)
    if not folder or folder in ("null", "???"):
        raise UserError(f"paths.output_dir must be a folder; got {folder or 'an empty text'}")
    return Path(os.path.expanduser(folder))


def _parser() -> Parser:
    parser = Parser(prog="aswd", description=aswd.__doc__)
    parser.add_argument("--version", action="version", version=f"aswd {aswd.__version__}")
    parser.set_defaults(run=lambda _: parser.print_help() or 0, config_dir=[])
    subparsers = parser.add_subparsers(metavar="COMMAND")
    outside = Parser(add_help=False)
    outside.add_argument("--config-dir", action="append", default=[], metavar="DIR", help="folder with configurations of your own")

    def add(name: str, summary: str, run: Callable, description: str, **options: Any) -> Parser:
        made = subparsers.add_parser(name, parents=[outside], help=summary, description=description, epilog=_EPILOG, **options)
        made.set_defaults(run=run)
        return made

    subparsers.add_parser("train", help="run an experiment or a sweep (aswd train --help)", add_help=False)

    listing = add("list", "list what there is to choose from, and the runs in the store", commands.show_list, _LIST)
    listing.add_argument("what", choices=["distances", "data", "tasks", "artifacts", "runs"], help="what to list")
    listing.add_argument("--failed", action="store_true", help="only failed runs, each with its reason")

    data = add("data", "download or check a data set, and describe it", commands.data, _DATA)
    data.add_argument("name", help="one of aswd list data, for example mnist; or mnist-features, the network of mnist_frechet")
    data.add_argument("--root", metavar="DIR", help="folder of the data sets, or of the images (default: data)")

    reproduce = add("reproduce", "run and draw a figure or table of a paper", commands.reproduce, _REPRODUCE)
    reproduce.usage = (
        "aswd reproduce ARTIFACT [--scale SCALE] [--only NAMES] [--reading READING] [--dry-run]\n"
        "       [--config-dir DIR] [OPTION=VALUE ...]"
    )
    reproduce.add_argument("artifact", help="one of aswd list artifacts; or all, which ends with the report")
    reproduce.add_argument("--scale", default="laptop", help="smoke, laptop or paper, and demo for flow_main (default: %(default)s)")
    reproduce.add_argument(
        "--only",
        metavar="NAMES",
        help="series and data sets to run now, for example ASWD,Linear,knot (default: all)",
    )
    reproduce.add_argument("--reading", default="reference", help="reference, paper or algorithm1 (default: %(default)s)")
    reproduce.add_argument("--dry-run", action="store_true", help="list the runs and estimate their time from the store; run nothing")

    leaderboard = add("leaderboard", "compare all distances on equal terms", commands.leaderboard, _LEADERBOARD)
    leaderboard.usage = (
        "aswd leaderboard [--scale SCALE] [--only NAMES] [--tasks NAMES] [--reading READING] [--dry-run]\n"
        "       [--config-dir DIR] [OPTION=VALUE ...]"
    )
    leaderboard.add_argument("--scale", default="laptop", help="smoke, laptop or paper (default: %(default)s)")
    leaderboard.add_argument(
        "--only", metavar="NAMES", help="distances, separated by commas, for example my_distance,swd,ebsw (default: all)"
    )
    leaderboard.add_argument("--tasks", metavar="NAMES", help="tasks of the leaderboard, for example plane,space (default: all)")
    leaderboard.add_argument("--reading", default="reference", help="reference, paper or algorithm1 (default: %(default)s)")
    leaderboard.add_argument("--dry-run", action="store_true", help="count the runs and estimate their time from the store; run nothing")

    report = add("report", "write one page with all artifacts and the verdicts on the claims", commands.report, _REPORT)
    report.add_argument("--live", action="store_true", help="serve the page to this machine, and follow the sweeps while they run")
    report.add_argument("--port", type=_whole, help="of --live (default: 8421; 0 takes any that is free)")
    report.add_argument("--from", dest="source", type=Path, metavar="DIR", help="tables and verdicts from the files of results in DIR")

    compare = add("compare", "draw and tabulate any runs of the store, also beside published values", commands.compare, _COMPARE)
    compare.usage = "aswd compare [COLUMN=VALUE[,VALUE] ...] [--metric METRIC] [--published ARTIFACT] [--config-dir DIR]"
    compare.add_argument("--metric", help="a metric of the runs (default: the headline of the task, or the artifact's metric)")
    compare.add_argument("--published", metavar="ARTIFACT", help="set the runs beside the published values of this artifact")

    status = add("status", "show the progress of sweeps, also of one in another terminal or on a cluster", commands.status, _STATUS)
    status.add_argument("--watch", action="store_true", help="refresh until the sweep has ended")

    clean = add("clean", "remove broken and superseded files from the store", commands.clean, _CLEAN)
    clean.add_argument("--yes", action="store_true", help="remove them without asking")

    _add_wandb(subparsers, outside)

    search = add("search", "search for hyper-parameters; every trial is a run of the store", commands.search, _SEARCH)
    search.usage = "aswd search OPTION=VALUE ... --over OPTION=VALUES ... [--trials N] [--seeds N] [--search-seed N] [--config-dir DIR]"
    search.add_argument("--over", action="append", default=[], metavar="OPTION=VALUES", help=_OVER)
    search.add_argument("--trials", type=_at_least_one, default=20, help="number of trials, earlier ones included (default: %(default)s)")
    search.add_argument("--seeds", type=_at_least_one, default=3, help="seeds per trial (default: %(default)s)")
    search.add_argument("--search-seed", type=_whole, default=0, help="seed of the search itself (default: 0)")

    profile = add("profile", "show where the time of a run goes", commands.profile, _PROFILE)
    profile.usage = "aswd profile OPTION=VALUE ... [--steps N] [--config-dir DIR]"
    profile.add_argument("--steps", type=_at_least_one, default=50, help="profiled steps, after a warm-up (default: %(default)s)")

    bench = add("bench", "measure how fast the distances, the flow and the GAN are", commands.bench, _BENCH)
    bench.add_argument(
        "what",
        nargs="?",
        choices=["distances", "flow", "gan", "operations"],
        default="distances",
        help="what to measure, or to count for a GPU: operations (default: %(default)s)",
    )
    bench.add_argument("--output", type=Path, help="JSON file to write (default: <paths.output_dir>/bench/<what>.json)")
    bench.add_argument("--rounds", type=_rounds, default=7, help="repetitions of each alternative, at least 3 (default: %(default)s)")
    bench.add_argument("--only", metavar="TEXT", help="only the cases whose title has all words of TEXT, for example 'aswd' or 'swd L=10'")

    completion = add("completion", "print the shell completion for bash", commands.completion, _COMPLETION)
    completion.set_defaults(commands=list(subparsers.choices))
    parser.commands = list(subparsers.choices)
    return parser


def _add_wandb(subparsers: argparse._SubParsersAction, outside: Parser) -> None:
    parser = subparsers.add_parser("wandb", help="replay runs of the store to W&B, and build dashboards there", description=_WANDB)
    parser.set_defaults(run=lambda _: parser.print_help() or 0)
    actions = parser.add_subparsers(metavar="ACTION")
    common = Parser(add_help=False, parents=[outside])
    common.add_argument("--project", default="aswd", help="W&B project (default: %(default)s)")
    common.add_argument("--entity", help="W&B user or team (default: your own)")
    common.add_argument("--mode", choices=["auto", "online", "offline"], default="auto", help="auto: online if logged in (default)")
    common.add_argument("--scale", default="laptop", help="of the artifact: smoke, laptop or paper (default: %(default)s)")
    common.add_argument("--reading", default="reference", help="of the artifact (default: %(default)s)")
    sync = actions.add_parser("sync", parents=[common], help="replay runs, each once under its own id", description=_SYNC, epilog=_EPILOG)
    sync.usage = (
        "aswd wandb sync [COLUMN=VALUE[,VALUE] ... | --artifact NAME [--scale S] [--reading R] [OPTION=VALUE ...]] [--tag T]\n"
        "       [--again] [--project P] [--entity E] [--mode auto|online|offline]"
    )
    sync.add_argument("--artifact", help="only the runs of this artifact, with its name as a tag and their labels in it")
    sync.add_argument("--tag", action="append", default=[], help="a further tag; can be repeated")
    sync.add_argument("--again", action="store_true", help="also runs that were replayed before")
    sync.set_defaults(run=commands.wandb_sync)
    dashboard = actions.add_parser(
        "dashboard", parents=[common], help="a saved workspace for an artifact", description=_DASHBOARD, epilog=_EPILOG
    )
    dashboard.usage = (
        "aswd wandb dashboard ARTIFACT [--scale S] [--reading R] [OPTION=VALUE ...] [--project P] [--entity E]\n"
        "       [--mode auto|online|offline]"
    )
    dashboard.add_argument("artifact", help="one of aswd list artifacts")
    dashboard.set_defaults(run=commands.wandb_dashboard)


_EPILOG = "paths.output_dir=DIR reads and writes results in DIR (default: outputs); plugins=FILE.py loads parts of your own."
_WANDB = "The store is the record and W&B its mirror: everything works offline and without an account."
_SYNC = (
    "Replays finished and failed runs of the store, one W&B run per seed. Runs that were replayed before are skipped; a record that has "
    "changed replaces the run with its id. Filters are columns of the runs: task=flow data=knot,heart seed=0 distance.penalty=0.1. "
    "With --artifact the options are those of aswd reproduce."
)
_DASHBOARD = (
    "Builds one workspace per data set: curves by distance averaged over seeds, final values, tables, images. Offline: as JSON. "
    "The options are those of aswd reproduce."
)
_SEARCH = "Optuna proposes, the store runs: finished trials are not run again, and the same command resumes a search that was killed."
_OVER = "an option and its values: log(LOW,HIGH), linear(LOW,HIGH), int(LOW,HIGH), intlog(LOW,HIGH) or VALUE,VALUE,...; can be repeated"
_PROFILE = "Runs some steps under a profiler, outside the store, and shows where their time went; with a trace for the browser."
_BENCH = (
    "Times distances against plain versions and POT, the flow against single runs and a bare loop, or an iteration of the GAN against "
    "its convolutions and its distance alone."
)
_COMPLETION = 'Prints a script for bash: eval "$(aswd completion)" completes commands, configuration groups and options.'
_REPRODUCE = "Runs what is missing of an artifact, skips what is done, continues after failures, and draws what there is."
_LEADERBOARD = (
    "Tunes every registered distance with equal effort on held-out seeds, runs it on several tasks, and ranks all by their results. "
    "What is done is not run again; OPTION=VALUE are options of launcher, logger, trainer, paths and plugins, such as launcher=pool."
)
_REPORT = (
    "Writes report/index.html, a page that needs no network, from the artifacts that were made; also as Markdown and LaTeX. With --from no "
    "runs are needed: docs/results has the numbers of every seed behind what is published. With --live the page also shows the sweeps in "
    "progress: how far they are, failures with their reasons, and curves that grow."
)
_COMPARE = (
    "Writes a figure and a table (number of seeds, mean with 95 % interval, median, the options that differ) of finished runs into "
    "compare/ of the output folder. Filters are columns of the runs: task=flow data=knot,heart distance.penalty=0.1. With --published "
    "every published cell has the runs of its series beside it, whatever their other options are."
)
_DATA = "Downloads what is missing, checks what is there, and prints its folder, the number and size of images, and the class counts."
_STATUS = "Shows the runs of the sweeps in progress, or of the last one: done, running, failed, waiting, and the remaining time."
_CLEAN = "Shows failed, damaged and superseded files (results and what can be resumed stay), asks, and removes them."
_LIST = "Lists distances, data sets, tasks and artifacts by name, or the runs of the store with their status and final metrics."


def _rounds(text: str) -> int:
    return _number(text, 3)


def _at_least_one(text: str) -> int:
    return _number(text, 1)


def _whole(text: str) -> int:
    return _number(text, 0)


def _number(text: str, bound: int) -> int:
    if not text.isdecimal() or int(text) < bound:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {bound}; got {text!r}")
    return int(text)
