"""Where things are read from and written to."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile

import aswd
from aswd.errors import UserError


def config_dir() -> Path:
    """The folder of the configurations: inside an installed package, or at the top of a checkout."""
    package = Path(aswd.__file__).parent
    inside, beside = package / "configs", package.parents[1] / "configs"
    return inside if inside.exists() else beside


def check_writable(output_dir: str | Path) -> None:
    """Refuse an output folder that nothing can be written to, before any work.

    Raises:
        UserError: with the reason.
    """
    runs = Path(output_dir, "runs")
    try:
        runs.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=runs):
            pass
    except OSError as error:
        reason = f"got {str(output_dir)!r}: {error.strerror}"
        raise UserError(f"paths.output_dir must be a folder that can be written to; {reason}") from None
