"""Let numpy sort fast on AMD's Zen 4.

numpy sorts with AVX-512 where it can. On Zen 4 the instruction that this leans on, a compressing store to memory, is microcoded: rows of
8192 float64 sort four times slower than with AVX2 (26 against 6 ns a value). Which one numpy uses is decided when it is imported, by an
environment variable, so this must come before; where numpy is there already, everything works as well and sorts more slowly.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path

VARIABLE = "NPY_DISABLE_CPU_FEATURES"
_AVX512 = "X86_V4 AVX512_ICL AVX512_SPR"  # as numpy calls it since 2.4
_ZEN_4 = {"vendor_id": "AuthenticAMD", "cpu family": "25"}  # and Zen 3, which has no AVX-512; Zen 5 is 26


def prefer_avx2(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """On a Zen 4 have numpy, unless it is imported already or the user has a say in it, leave AVX-512 alone."""
    if "numpy" in sys.modules or VARIABLE in os.environ or not _is_zen_4(cpuinfo):
        return
    if tuple(map(int, version("numpy").split(".")[:2])) >= (2, 4):
        os.environ[VARIABLE] = _AVX512


def _is_zen_4(cpuinfo: Path) -> bool:
    try:
        first = cpuinfo.read_text().split("\n\n")[0]
    except OSError:
        return False
    found = dict(line.replace("\t", "").split(":", 1) for line in first.splitlines() if ":" in line)
    found = {name.strip(): value.strip() for name, value in found.items()}
    return "avx512f" in found.get("flags", "").split() and all(found.get(name) == value for name, value in _ZEN_4.items())
