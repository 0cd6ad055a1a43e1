"""``aswd reproduce all``: every artifact in turn, and the report on them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from aswd.artifacts.declaration import Artifact, artifacts
from aswd.artifacts.drawing import load_drawing
from aswd.artifacts.report import report
from aswd.artifacts.reproduce import reproduce
from aswd.artifacts.reproduction import Reproduction
from aswd.config.composition import CommandLine, plan_runs
from aswd.utils.errors import UserError

GROUPS = ("launcher", "logger", "trainer", "paths", "plugins", "force")  # whose options mean the same for all runs


def reproduce_all(scale: str, reading: str, overrides: Sequence[str] = (), dry_run: bool = False, config_dirs: Sequence[str] = ()) -> int:
    """Reproduce all artifacts; one that cannot be, for want of its data for example, is reported and does not stop the others.

    Args:
        scale: of all artifacts.
        reading: of the paper.
        overrides: options of :data:`GROUPS`, for all runs.
        dry_run: run nothing, and print what is missing.
        config_dirs: folders with artifacts and other configurations of the user's.

    Returns:
        The exit code: 0; 1 if a run failed or an artifact could not be reproduced; 128 + n if it was stopped by signal n.

    Raises:
        UserError: a mistake in the arguments; before anything is run.
    """
    wanted = artifacts(config_dirs)
    _check(wanted, scale, reading, overrides, config_dirs)
    missing = {}
    for index, artifact in enumerate(wanted, 1):
        print(f"\n[{index}/{len(wanted)}] {artifact.name}" + (f" ({artifact.number})" if artifact.number else ""), flush=True)
        try:
            fitting = _without_run_options(overrides) if _is_measured(artifact) else overrides
            code = reproduce(artifact.name, scale, reading, fitting, dry_run, config_dirs)
        except UserError as error:
            print(f"aswd reproduce: {error}", file=sys.stderr)
            missing[artifact.name] = "could not be reproduced"
            continue
        if code >= 128:
            return code
        if code:
            missing[artifact.name] = "has runs that another process executes" if code == 3 else "has failed runs"
    if not dry_run:
        (run,) = plan_runs(CommandLine(list(overrides), config_dirs=tuple(config_dirs)))
        print(f"\n{len(wanted) - len(missing)} of {len(wanted)} artifacts were reproduced. Report: {report(run.paths.output_dir)}")
    for name, reason in missing.items():
        print(f"aswd reproduce: {name} {reason}", file=sys.stderr)
    return 1 if missing else 0


def _is_measured(artifact: Artifact) -> bool:
    return load_drawing(artifact.draw, str(artifact.file)).measure is not None


def _without_run_options(overrides: Sequence[str]) -> list[str]:
    return [override for override in overrides if override.lstrip("+~").startswith(("paths.output_dir=", "plugins="))]


def _check(wanted: list[Artifact], scale: str, reading: str, overrides: Sequence[str], config_dirs: Sequence[str]) -> None:
    """Refuse, before anything is run, what does not apply to all artifacts."""
    for override in overrides:
        if override.lstrip("+~").split("=")[0].split(".")[0] not in GROUPS:
            raise UserError(f"{override} must be left out: all takes options of {', '.join(GROUPS)} only; name one artifact for others")
    first = next(artifact for artifact in wanted if not _is_measured(artifact))
    Reproduction(first, scale, reading, overrides, config_dirs).check()
