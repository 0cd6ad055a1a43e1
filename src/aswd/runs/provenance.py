"""Under what provenance a number came about: versions, device, revision."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

PACKAGES = ("aswd", "torch", "pytorch-lightning", "numpy", "scipy", "POT", "hydra-core")


def provenance() -> dict[str, Any]:
    """Those of work on the CPU, as the report shows them."""
    return {"devices": [device_name(torch.device("cpu"))], "revisions": [str(revision())], "versions": versions()}


def versions() -> dict[str, str | None]:
    """Of Python and of the packages that matter."""
    return {name: _version(name) for name in PACKAGES} | {"python": platform.python_version()}


def device_name(device: torch.device) -> str:
    """What a person calls the device."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine()


def revision() -> str | None:
    """The git revision of the code, where it is a checkout; with ``+changes`` where that is not all."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--abbrev=40", "--dirty=+changes", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
