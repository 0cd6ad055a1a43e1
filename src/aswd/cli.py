"""The command line: ``aswd COMMAND``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import aswd


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code is 0 for success and 2 for a mistake in the call."""
    parser = argparse.ArgumentParser(prog="aswd", description=aswd.__doc__)
    parser.add_argument("--version", action="version", version=f"aswd {aswd.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    bench = commands.add_parser("bench", help="time the distances against plain torch and POT", description=_BENCH)
    bench.add_argument(
        "--output", type=Path, default=Path("outputs/bench/distances.json"), help="JSON file to write (default: %(default)s)"
    )
    bench.add_argument("--rounds", type=_rounds, default=7, help="times that each alternative is run, at least 3 (default: %(default)s)")
    bench.add_argument("--only", metavar="TEXT", help="only the cases whose title contains TEXT, for example 'aswd' or 'L=10'")
    bench.set_defaults(run=_bench)
    train = commands.add_parser("train", help="run an experiment, or a sweep of them", add_help=False)
    train.set_defaults(run=None)
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments[:1] == ["train"]:  # the rest is Hydra's language
        from aswd.train import main as train_main

        return train_main(arguments[1:])
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    return options.run(options)


_BENCH = "Times forward and backward of the distances in one process at one thread, alternatives taking turns, and prints the ratios."


def _rounds(text: str) -> int:
    if not text.isdecimal() or int(text) < 3:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 3; got {text!r}")
    return int(text)


def _bench(options: argparse.Namespace) -> int:
    from aswd.bench import distances

    if options.only is not None and not any(options.only in case.title for case in distances.CASES):
        titles = "\n  ".join(case.title for case in distances.CASES)
        print(f"aswd bench: --only {options.only!r} matches no case; there are:\n  {titles}", file=sys.stderr)
        return 2
    distances.run(options.output, options.rounds, options.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
