"""Launchers by name: what starts the runs of a sweep."""

from __future__ import annotations

from aswd.utils.registry import Entry, Registry

LAUNCHERS = Registry(
    "launcher",
    context=(),
    entries={
        "local": Entry("aswd.launchers.local:LocalLauncher", "aswd.launchers.local:LocalConfig", "one run after the other in this process"),
        "pool": Entry("aswd.launchers.pool:PoolLauncher", "aswd.launchers.pool:PoolConfig", "several processes on this machine"),
        "slurm": Entry("aswd.launchers.slurm:SlurmLauncher", "aswd.launchers.slurm:SlurmConfig", "jobs of a SLURM cluster"),
    },
)
register = LAUNCHERS.register
