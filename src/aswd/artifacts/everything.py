"""``aswd reproduce all``: every figure and table of the paper, one after the other, and the report on them."""

from __future__ import annotations

import sys
from pathlib import Path

from aswd.artifacts.cells import cells
from aswd.artifacts.declaration import Artifact, artifacts
from aswd.artifacts.kinds import needs_no_runs
from aswd.artifacts.report import report
from aswd.artifacts.reproduce import reproduce
from aswd.utils.errors import UserError

FITTING = ("launcher", "logger", "trainer")  # groups whose options mean the same to all runs


def reproduce_all(scale: str, reading: str, output_dir: Path, overrides: list[str], dry_run: bool) -> int:
    """Make all artifacts; one that cannot be made, for want of its data for example, is named and does not stop the others.

    The exit code is 0; 1 where a run failed or an artifact could not be made; 128 + n where it was stopped by signal n.

    Raises:
        UserError: a mistake in what was asked for, before anything is run.
    """
    wanted = list(artifacts())
    _check(wanted, scale, reading, output_dir, overrides)
    missing = {}
    for place, artifact in enumerate(wanted, 1):
        print(f"\n[{place}/{len(wanted)}] {artifact.name} ({artifact.number})", flush=True)
        try:
            code = reproduce(artifact.name, scale, reading, output_dir, [] if needs_no_runs(artifact.draw) else overrides, dry_run)
        except UserError as error:
            print(f"aswd reproduce: {error}", file=sys.stderr)
            missing[artifact.name] = "could not be made"
            continue
        if code >= 128:
            return code
        if code:
            missing[artifact.name] = "has failed runs"
    if not dry_run:
        print(f"\n{len(wanted) - len(missing)} of {len(wanted)} artifacts are as asked for. Report: {report(output_dir)}")
    for name, why in missing.items():
        print(f"aswd reproduce: {name} {why}", file=sys.stderr)
    return 1 if missing else 0


def _check(wanted: list[Artifact], scale: str, reading: str, output_dir: Path, overrides: list[str]) -> None:
    """Refuse, before anything is run, what no artifact or not every one can take."""
    for one in overrides:
        if one.lstrip("+~").split("=")[0].split(".")[0] not in FITTING:
            raise UserError(f"{one} must be left out: all takes options of {', '.join(FITTING)} only; name one artifact for others")
    first = next(artifact for artifact in wanted if not needs_no_runs(artifact.draw))
    cells(first, scale, reading, str(output_dir), overrides)
