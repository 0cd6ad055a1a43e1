"""Kinds of artifacts: how one is drawn, or measured where no runs are needed. One module each.

A kind whose artifacts are made of runs gives ``draw(artifact, cells, heading) -> Figure``, and may give tables of its own,
``latex(frame, caption) -> str``. One that measures by itself gives ``measure(artifact, scale, reading, heading) -> Measured``.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import pandas
from matplotlib.figure import Figure

from aswd.artifacts.claims import Verdict


@dataclass(frozen=True)
class Measured:
    """What a kind that needs no runs comes to."""

    figure: Figure
    table: pandas.DataFrame
    curves: pandas.DataFrame
    verdicts: list[Verdict]


def kind_names() -> list[str]:
    """Names of all kinds."""
    return [module.name for module in iter_modules(__path__)]


def kind(name: str) -> ModuleType:
    """The kind ``name``."""
    return import_module(f"{__name__}.{name}")


def needs_no_runs(name: str) -> bool:
    """Whether artifacts of the kind ``name`` are measured on the distances themselves."""
    return hasattr(kind(name), "measure")
