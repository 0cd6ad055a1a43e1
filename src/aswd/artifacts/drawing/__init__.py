"""How artifacts are drawn, one module per kind; or measured, where no runs are needed.

A module for artifacts with runs has ``draw(artifact, cells, heading) -> Figure`` and may have a table of its own,
``latex(frame, caption) -> str``, and ``views(artifact, cells) -> list[View]``: what the page of ``aswd report`` shows; default: the curves
of its metrics. A module that measures the distances themselves has ``measure(artifact, scale, reading, heading) -> Measurement``. A drawing
from outside is a function ``draw``, by its dotted name; or one that is called ``reproduce(reproduction, dry_run) -> int``, plans, executes
and writes its runs itself, and returns the exit code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules

import pandas
from matplotlib.figure import Figure

from aswd.artifacts import tables
from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact
from aswd.artifacts.results import Numbers
from aswd.artifacts.views import View, metric_curves
from aswd.config.targets import import_target
from aswd.utils.errors import UserError


@dataclass(frozen=True)
class Measurement:
    """The results of an artifact without runs."""

    figure: Figure
    curves: pandas.DataFrame
    cells: list[Numbers]
    views: list[View]


@dataclass(frozen=True)
class Drawing:
    """Functions: ``draw``, ``measure`` or ``reproduce``; ``latex`` writes its table, ``views`` what a page shows of cells."""

    draw: Callable[..., Figure] | None = None
    measure: Callable[..., Measurement] | None = None
    reproduce: Callable[..., int] | None = None
    latex: Callable[[pandas.DataFrame, str], str] = tables.latex
    views: Callable[[Artifact, list[Cell]], list[View]] = metric_curves


def drawing_names() -> list[str]:
    """Names of our drawings."""
    return [module.name for module in iter_modules(__path__)]


def load_drawing(name: str, file: str) -> Drawing:
    """The drawing ``name``: one of ours, or the dotted name of a function ``draw(artifact, cells, heading) -> Figure``.

    Args:
        name: of the drawing.
        file: where the name is from, for messages.

    Raises:
        UserError: there is no such drawing, or it cannot be imported.
    """
    if "." in name:
        function = import_target(f"{file}: draw", name)
        if not callable(function):
            raise UserError(f"{file}: draw must name a function draw(artifact, cells, heading); got {name!r}")
        return Drawing(reproduce=function) if getattr(function, "__name__", "") == "reproduce" else Drawing(function)
    if name not in drawing_names():
        known = ", ".join(drawing_names())
        raise UserError(f"{file}: draw must be one of {known}, or name a function of yours, as in my_module.my_draw; got {name!r}")
    module = import_module(f"{__name__}.{name}")
    if hasattr(module, "measure"):
        return Drawing(measure=module.measure)
    return Drawing(module.draw, latex=getattr(module, "latex", tables.latex), views=getattr(module, "views", metric_curves))
