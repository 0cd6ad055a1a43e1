"""Compile the kernel of the distances while the package is built; without a compiler for it, the package works with numpy alone.

A build hook of hatchling, named in pyproject.toml; ``python scripts/build_kernel.py`` does the same in a checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # as a script
    BuildHookInterface = object

FOLDER = Path(__file__).resolve().parents[1] / "src" / "aswd" / "distances" / "native"
# No contraction of products and sums: the same bits with every instruction set.
FLAGS = ["-O3", "-std=c++17", "-shared", "-fPIC", "-pthread", "-fvisibility=default", "-ffp-contract=off", "-w"]


def build(folder: Path = FOLDER) -> Path | None:
    """Compile ``rows.cpp`` to ``rows.so`` beside it; ``None`` where that cannot be done."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    target = folder / "rows.so"
    target.unlink(missing_ok=True)
    if not compiler:
        return None
    unfinished = folder / f"rows.{os.getpid()}.tmp"
    try:
        done = subprocess.run([*compiler.split(), *FLAGS, str(folder / "rows.cpp"), "-o", str(unfinished)], capture_output=True)
        if done.returncode == 0:
            unfinished.replace(target)
            return target
    except OSError:
        pass
    finally:
        unfinished.unlink(missing_ok=True)
    return None


class BuildKernel(BuildHookInterface):
    """The hook: a wheel with the kernel is for this kind of machine, one without it for all."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Build it before the files of the wheel are collected."""
        if self.target_name == "wheel" and build(Path(self.root) / FOLDER.relative_to(FOLDER.parents[3])):
            build_data["pure_python"] = False
            build_data["infer_tag"] = True


if __name__ == "__main__":
    sys.exit(0 if build() else "the kernel was not built: it needs GCC on x86-64; the distances sort by numpy")
