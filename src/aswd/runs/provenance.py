"""Provenance of results: versions, device, revision."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

PACKAGES = ("aswd", "torch", "pytorch-lightning", "numpy", "scipy", "POT", "hydra-core")


def provenance() -> dict[str, Any]:
    """Provenance of a measurement on the CPU, as reports show it."""
    return {"devices": [device_name(torch.device("cpu"))], "revisions": [str(revision())], "versions": versions()}


def versions() -> dict[str, str | None]:
    """Versions of Python and of the packages that results depend on."""
    return {name: _version(name) for name in PACKAGES} | {"python": platform.python_version()}


def device_name(device: torch.device) -> str:
    """Name of a device."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine()


@cache
def revision() -> str | None:
    """The git revision of a checkout, with ``+changes`` if it has uncommitted ones; ``None`` for an installed package.

    It is asked for once per process, whose code does not change when that in the checkout does.
    """
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--abbrev=40", "--dirty=+changes", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
