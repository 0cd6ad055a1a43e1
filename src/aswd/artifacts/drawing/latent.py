"""Codes of autoencoders: the prior, and beside it the codes of every distance."""

from __future__ import annotations

from matplotlib.figure import Figure

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Artifact
from aswd.artifacts.views import View, clouds


def draw(artifact: Artifact, cells: list[Cell], heading: str) -> Figure:
    """One panel for the prior and one per series, of the first seed that is done, coloured by class."""
    columns = 3
    rows = -(-(len(cells) + 1) // columns)
    figure = Figure(figsize=(3.6 * columns, 3.5 * rows + 0.8), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in panels:
        axes.set_axis_off()
    shown = False
    for axes, cell in zip(panels[1:], cells, strict=False):
        done = cell.done
        axes.set_title(f"{cell.label} ({f'seed {done[0]}' if done else 'no run yet'})", fontsize=10)
        if done:
            samples = cell.samples(done[0])
            axes.set_axis_on()
            axes.set_aspect("equal")
            axes.scatter(*samples["codes"][:, :2].T, c=samples.get("labels"), cmap="tab10", s=3, linewidths=0)
            if not shown:
                panels[0].set_axis_on()
                panels[0].set_aspect("equal")
                panels[0].set_title("prior", fontsize=10)
                panels[0].scatter(*samples["prior"][:, :2].T, color="black", s=3, linewidths=0)
                shown = True
    figure.suptitle(heading)
    return figure


def views(artifact: Artifact, cells: list[Cell]) -> list[View]:
    """The prior, and the codes of every series with their classes."""
    done = {cell.label: cell.samples(cell.done[0]) for cell in cells if cell.done}
    shown = {label: (samples["codes"], samples.get("labels")) for label, samples in done.items()}
    prior = [("prior", (samples["prior"], None)) for samples in done.values()]
    return clouds("Codes", {**dict(prior[:1]), **shown})
