r"""How the time of a distance grows with the number of samples: measured on the distances themselves.

Forward and backward to x between N samples per side in 784 dimensions, as many as MNIST has pixels; alternatives take turns; medians.
The exponent is the slope of log(t / log N) over log N: one for N log N.
"""

from __future__ import annotations

import numpy as np
import pandas
import torch
from matplotlib.figure import Figure

from aswd.artifacts import views
from aswd.artifacts.declaration import Artifact, Scale, Series
from aswd.artifacts.drawing import Measurement
from aswd.artifacts.results import Numbers
from aswd.artifacts.views import View
from aswd.distances import build, options
from aswd.utils.progress import progress_bar
from aswd.utils.statistics import log_exponent
from aswd.utils.timing import time_rounds

DIM = 784


def _build_alternative(series: Series, n: int, reading: str, device: torch.device) -> object:
    """A function that evaluates the distance and its gradient on fixed samples."""
    overrides = dict(override.removeprefix("distance.").split("=") for override in series.overrides)
    given = {name: type(options(series.distance)[name])(float(value)) for name, value in overrides.items()}
    distance = build(series.distance, reading=reading, seed=0, **given)
    generator = torch.Generator(device).manual_seed(0)
    x, y = (torch.rand(n, DIM, device=device, generator=generator) for _ in range(2))
    x.requires_grad_()

    def run() -> None:
        x.grad = None
        distance(x, y).backward()
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    return run


def measure(artifact: Artifact, scale: Scale, reading: str, heading: str) -> Measurement:
    """Measure the seconds of every series and number of samples; ``seeds`` of the scale are rounds."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sizes = [int(name.removeprefix("N=")) for name in scale.data or artifact.data]
    times: dict[tuple[int, str], list[float]] = {}
    with progress_bar(total=len(sizes) * scale.seeds, what=artifact.name, unit="round") as bar:
        for n in sizes:
            alternatives = {series.label: _build_alternative(series, n, reading, device) for series in artifact.series}
            for label, values in time_rounds(alternatives, scale.seeds, burst=0.0, on_round=bar.update).items():
                times[n, label] = values
    labels = [series.label for series in artifact.series]
    rounds = list(range(scale.seeds))
    cells = [Numbers(f"N={n}", label, rounds, {artifact.metric: dict(enumerate(times[n, label]))}) for n in sizes for label in labels]
    medians = {label: np.array([np.median(times[n, label]) for n in sizes]) for label in labels}
    points = [(label, n, t) for label in labels for n, t in zip(sizes, medians[label], strict=True)]
    curves = pandas.DataFrame(points, columns=["label", "N", "seconds"])
    return Measurement(_draw(sizes, medians, heading), curves, cells, _views(sizes, times, labels))


def _views(sizes: list[int], times: dict[tuple[int, str], list[float]], labels: list[str]) -> list[View]:
    """Seconds against the number of samples, with those of every round."""
    rounds = {label: np.array([times[n, label] for n in sizes]) for label in labels}
    series = [views.curve(label, np.array(sizes), each, range(each.shape[1]), average="median") for label, each in rounds.items()]
    panel = views.panel("", "samples per side", "seconds, forward and backward", series, x_scale="log", y_scale="log")
    return views.curves("Time", [panel], each="round", average="median")


def _draw(sizes: list[int], medians: dict[str, np.ndarray], heading: str) -> Figure:
    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots()
    for label, seconds in medians.items():
        axes.loglog(sizes, seconds, marker="o", base=2, label=f"{label} (exponent {log_exponent(sizes, seconds):.2f})")
    axes.set(xlabel="samples per side", ylabel="seconds, forward and backward")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right center", fontsize=9)
    figure.suptitle(heading)
    return figure
