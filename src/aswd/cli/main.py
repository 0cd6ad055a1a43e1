"""The command line: ``aswd COMMAND``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import aswd
from aswd.cli import commands
from aswd.utils.errors import UserError

_WITH_OVERRIDES = ("reproduce", "wandb", "search", "profile")  # commands that take OPTION=VALUE
_OUTPUT_DIR = {"type": Path, "default": Path("outputs"), "help": "folder of the results (default: %(default)s)"}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code is 0 for success, 1 after a failed run and 2 for a mistake in the call."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return _main(arguments)
    except KeyboardInterrupt:
        print("aswd: stopped", file=sys.stderr)
        return 130


def _main(arguments: list[str]) -> int:
    if arguments[:1] == ["train"]:  # the rest is Hydra's language
        from aswd.cli.train import main as train

        return train(arguments[1:])
    parser = _parser()
    # argparse takes no further positional arguments after an option, where people write them.
    options, options.overrides = parser.parse_known_args(arguments)
    mistaken = [one for one in options.overrides if arguments[0] not in _WITH_OVERRIDES or one.startswith("-") or "=" not in one]
    if mistaken:
        parser.error(f"unrecognized arguments: {' '.join(mistaken)}")
    try:
        return options.run(options)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        return 0
    except UserError as error:
        print(f"aswd {arguments[0]}: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="aswd", description=aswd.__doc__)
    parser.add_argument("--version", action="version", version=f"aswd {aswd.__version__}")
    parser.set_defaults(run=lambda _: parser.print_help() or 0)
    subparsers = parser.add_subparsers(metavar="COMMAND")

    subparsers.add_parser("train", help="run an experiment, or a sweep of them (aswd train --help)", add_help=False)

    listing = subparsers.add_parser("list", help="what there is to choose from, and the runs in the store", description=_LIST)
    listing.add_argument("what", choices=["distances", "data", "tasks", "artifacts", "runs"], help="what to list")
    listing.add_argument("--failed", action="store_true", help="of the runs, only those that failed, each with its reason")
    listing.add_argument("--output-dir", **_OUTPUT_DIR)
    listing.set_defaults(run=commands.show_list)

    data = subparsers.add_parser("data", help="fetch or check the data of a name, and say what there is", description=_DATA)
    data.add_argument("name", help="one of aswd list data, for example mnist; or mnist-features, the network of mnist_frechet")
    data.add_argument("--root", metavar="DIR", help="folder of the data sets, or of the pictures (default: data)")
    data.set_defaults(run=commands.data)

    reproduce = subparsers.add_parser("reproduce", help="run and draw a figure or table of the paper", description=_REPRODUCE)
    reproduce.usage = "aswd reproduce ARTIFACT [--scale SCALE] [--reading READING] [--dry-run] [--output-dir DIR] [OPTION=VALUE ...]"
    reproduce.add_argument("artifact", help="one of aswd list artifacts; or all, which ends with the report")
    reproduce.add_argument("--scale", default="laptop", help="smoke, laptop or paper (default: %(default)s)")
    reproduce.add_argument("--reading", default="reference", help="reference, paper or algorithm1 (default: %(default)s)")
    reproduce.add_argument("--dry-run", action="store_true", help="list the runs and estimate their time from the store; run nothing")
    reproduce.add_argument("--output-dir", **_OUTPUT_DIR)
    reproduce.set_defaults(run=commands.reproduce)

    report = subparsers.add_parser("report", help="one page with all artifacts and what became of the claims", description=_REPORT)
    report.add_argument("--output-dir", **_OUTPUT_DIR)
    report.set_defaults(run=commands.report)

    status = subparsers.add_parser("status", help="how far a sweep is, also one in another terminal or on a cluster", description=_STATUS)
    status.add_argument("--watch", action="store_true", help="show it again and again until it has ended")
    status.add_argument("--output-dir", **_OUTPUT_DIR)
    status.set_defaults(run=commands.status)

    clean = subparsers.add_parser("clean", help="remove what is broken or superseded from the store", description=_CLEAN)
    clean.add_argument("--yes", action="store_true", help="remove it without asking")
    clean.add_argument("--output-dir", **_OUTPUT_DIR)
    clean.set_defaults(run=commands.clean)

    _add_wandb(subparsers)

    search = subparsers.add_parser("search", help="search for hyper-parameters; every trial is a run of the store", description=_SEARCH)
    search.usage = "aswd search OPTION=VALUE ... --over OPTION=VALUES ... [--trials N] [--seeds N] [--search-seed N] [--output-dir DIR]"
    search.add_argument("--over", action="append", default=[], metavar="OPTION=VALUES", help=_OVER)
    search.add_argument("--trials", type=_at_least_one, default=20, help="trials in all, earlier ones included (default: %(default)s)")
    search.add_argument("--seeds", type=_at_least_one, default=3, help="seeds of every trial (default: %(default)s)")
    search.add_argument("--search-seed", type=_whole, default=0, help="of the search itself; another one is another search (default: 0)")
    search.add_argument("--output-dir", **_OUTPUT_DIR)
    search.set_defaults(run=commands.search)

    profile = subparsers.add_parser("profile", help="tell where the time of a run goes", description=_PROFILE)
    profile.usage = "aswd profile OPTION=VALUE ... [--steps N] [--output-dir DIR]"
    profile.add_argument("--steps", type=_at_least_one, default=50, help="steps to look at, after a warm-up (default: %(default)s)")
    profile.add_argument("--output-dir", **_OUTPUT_DIR)
    profile.set_defaults(run=commands.profile)

    bench = subparsers.add_parser("bench", help="measure how fast the distances, the flow and the GAN are", description=_BENCH)
    bench.add_argument(
        "what", nargs="?", choices=["distances", "flow", "gan"], default="distances", help="what to measure (default: %(default)s)"
    )
    bench.add_argument("--output", type=Path, help="JSON file to write (default: outputs/bench/<what>.json)")
    bench.add_argument("--rounds", type=_rounds, default=7, help="times that each alternative is run, at least 3 (default: %(default)s)")
    bench.add_argument("--only", metavar="TEXT", help="only the cases whose title has all words of TEXT, for example 'aswd' or 'swd L=10'")
    bench.set_defaults(run=commands.bench)

    completion = subparsers.add_parser("completion", help="print the shell completion for bash", description=_COMPLETION)
    completion.set_defaults(run=commands.completion, commands=list(subparsers.choices))
    return parser


def _add_wandb(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser("wandb", help="replay runs of the store to W&B, and build dashboards there", description=_WANDB)
    parser.set_defaults(run=lambda _: parser.print_help() or 0)
    actions = parser.add_subparsers(metavar="ACTION")
    where = argparse.ArgumentParser(add_help=False)
    where.add_argument("--project", default="aswd", help="W&B project (default: %(default)s)")
    where.add_argument("--entity", help="W&B user or team (default: your own)")
    where.add_argument("--mode", choices=["auto", "online", "offline"], default="auto", help="auto: online if logged in (default)")
    where.add_argument("--scale", default="laptop", help="of the artifact: smoke, laptop or paper (default: %(default)s)")
    where.add_argument("--reading", default="reference", help="of the artifact (default: %(default)s)")
    where.add_argument("--output-dir", **_OUTPUT_DIR)
    sync = actions.add_parser("sync", parents=[where], help="replay runs, each once under its own id", description=_SYNC)
    sync.usage = (
        "aswd wandb sync [COLUMN=VALUE[,VALUE] ... | --artifact NAME [--scale S] [--reading R] [OPTION=VALUE ...]] [--tag T]\n"
        "       [--again] [--project P] [--entity E] [--mode auto|online|offline] [--output-dir DIR]"
    )
    sync.add_argument("--artifact", help="only the runs of this artifact, with its name as a tag and their labels in it")
    sync.add_argument("--tag", action="append", default=[], help="a further tag; can be repeated")
    sync.add_argument("--again", action="store_true", help="also what was replayed before")
    sync.set_defaults(run=commands.wandb_sync)
    dashboard = actions.add_parser("dashboard", parents=[where], help="a saved workspace for an artifact", description=_DASHBOARD)
    dashboard.usage = (
        "aswd wandb dashboard ARTIFACT [--scale S] [--reading R] [OPTION=VALUE ...] [--project P] [--entity E]\n"
        "       [--mode auto|online|offline] [--output-dir DIR]"
    )
    dashboard.add_argument("artifact", help="one of aswd list artifacts")
    dashboard.set_defaults(run=commands.wandb_dashboard)


_WANDB = "The store is the record and W&B its mirror: everything works offline and without an account."
_SYNC = (
    "Replays finished and failed runs of the store, one W&B run a seed. What was replayed before is passed over; a record that has changed "
    "takes the place of what was under its id. Filters are columns of the runs: task=flow data=knot,heart seed=0 distance.penalty=0.1. "
    "With --artifact the options are those that aswd reproduce was given."
)
_DASHBOARD = (
    "Builds one workspace a data set: curves by distance with seeds averaged, final values, tables, pictures. Offline: as JSON. "
    "The options are those that aswd reproduce was given."
)
_SEARCH = "Optuna proposes, the store runs: a trial that is done is not run again, a search that was killed goes on with the same command."
_OVER = "an option and its values: log(LOW,HIGH), linear(LOW,HIGH), int(LOW,HIGH), intlog(LOW,HIGH) or VALUE,VALUE,...; can be repeated"
_PROFILE = "Runs some steps under torch's profiler, away from the store, and says where their time went; with a trace for the browser."
_BENCH = (
    "Times distances against plain versions and POT, the flow against single runs and a bare loop, or an iteration of the GAN against "
    "its convolutions and its distance alone."
)
_COMPLETION = 'Prints a script for bash: eval "$(aswd completion)" completes commands, configuration groups and options.'
_REPRODUCE = "Runs what is missing of an artifact, skips what is done, goes on after failures, and draws with what is there."
_REPORT = "Writes report/index.html, a page that needs no network, from the artifacts that were made; also as Markdown and LaTeX."
_DATA = "Fetches what is missing, checks what is there, and says where it is, how many pictures of which size, and how many of each class."
_STATUS = "Shows the runs of the sweeps that are going on, or of the last one: done, running, failed, waiting, and the time that is left."
_CLEAN = "Shows what failed, is damaged or is not needed any more (results stay, and so does what can go on), asks, and removes it."
_LIST = "Lists distances, data, tasks and artifacts by name, or the runs of the store with their states and final metrics."


def _rounds(text: str) -> int:
    if not text.isdecimal() or int(text) < 3:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 3; got {text!r}")
    return int(text)


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1; got {text!r}")
    return int(text)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0; got {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
