"""Launchers by name: what starts the runs of a sweep."""

from __future__ import annotations

from aswd.utils.registry import Entry, Registry

LAUNCHERS = Registry(
    "launcher",
    context=(),
    entries={
        "local": Entry(
            "aswd.launchers.configs:LocalConfig", "aswd.launchers.configs:LocalConfig", "one run after the other, in this process"
        ),
        "pool": Entry("aswd.launchers.configs:PoolConfig", "aswd.launchers.configs:PoolConfig", "several processes on this machine"),
        "slurm": Entry("aswd.launchers.configs:SlurmConfig", "aswd.launchers.configs:SlurmConfig", "jobs of a SLURM cluster"),
    },
)
register = LAUNCHERS.register
