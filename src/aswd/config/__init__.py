"""What a run is: schemas of all options, their composition by Hydra, and the resolved run configuration with its key."""

from __future__ import annotations

from pathlib import Path

import aswd


def config_dir() -> Path:
    """The folder of the configurations: inside an installed package, or at the top of a checkout."""
    package = Path(aswd.__file__).parent
    inside, beside = package / "configs", package.parents[1] / "configs"
    return inside if inside.exists() else beside
