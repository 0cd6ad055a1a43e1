"""Launchers by name; nothing is imported before it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aswd.utils.imports import import_objects

if TYPE_CHECKING:
    from aswd.launchers.base import Launcher, LauncherConfig

LAUNCHERS: dict[str, tuple[str, str]] = {  # name -> class, configuration class
    "local": ("aswd.launchers.local:LocalLauncher", "aswd.launchers.local:LocalConfig"),
    "pool": ("aswd.launchers.pool:PoolLauncher", "aswd.launchers.pool:PoolConfig"),
    "slurm": ("aswd.launchers.slurm:SlurmLauncher", "aswd.launchers.slurm:SlurmConfig"),
}


def launcher_class(name: str) -> type[Launcher]:
    """The class of the launcher ``name``."""
    return import_objects(LAUNCHERS[name][0])[0]


def launcher_config(name: str) -> type[LauncherConfig]:
    """The configuration class of the launcher ``name``."""
    return import_objects(LAUNCHERS[name][1])[0]
