"""Figures of the leaderboard: ranks, quality against cost, curves of every discipline on three axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from aswd.leaderboard.ranking import AXES, Costs, Ranks, Results

REFERENCE = "swd"  # to whose cost and quality others are compared
SHOWN = 8  # methods of a discipline that are drawn in colour, besides the reference


def draw_ranks(ranks: Ranks, results: Sequence[Results], costs: Costs, heading: str) -> Figure:
    """Ranks with their intervals, best on top, and quality against the seconds of a step."""
    methods = ranks.order()
    figure = Figure(figsize=(13, max(5.0, 0.2 * len(methods) + 1.5)), layout="constrained")
    left, right = figure.subplots(1, 2)
    places = np.arange(len(methods))
    value, _, low, high = (np.array([ranks.table["overall"][method][part] for method in methods]) for part in range(4))
    left.barh(places, high - low, left=low, height=0.5, color="C0", alpha=0.35, linewidth=0)
    left.plot(value, places, "o", color="C0", markersize=4)
    left.set_yticks(places, methods, fontsize=8)
    left.invert_yaxis()
    left.set(xlabel="mean rank, with 95 % interval", title="All ranked tasks")
    left.grid(alpha=0.3)
    _draw_pareto(right, methods, results, costs)
    figure.suptitle(heading)
    return figure


def quality(results: Sequence[Results], costs: Costs, methods: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Seconds of a step relative to :data:`REFERENCE`, and log10 of the metric less that of it: means over the ranked disciplines.

    Of methods that take part on all settings of all of them.
    """
    points = {}
    ranked = [each for each in results if each.discipline.is_ranked]
    for method in methods:
        times, logs = [], []
        for each in ranked:
            name, sides = each.discipline.name, [each.logarithms(m, each.steps) for m in (method, REFERENCE)]
            if any(side is None for side in sides) or any((name, m) not in costs for m in (method, REFERENCE)):
                break
            times.append(np.log10(costs[name, method]["seconds"] / costs[name, REFERENCE]["seconds"]))
            logs.append(np.mean(np.median(sides[0], 1) - np.median(sides[1], 1)))
        else:
            points[method] = 10 ** float(np.mean(times)), float(np.mean(logs))
    return points


def pareto_front(points: dict[str, tuple[float, float]]) -> list[str]:
    """The points than which no other is both cheaper and better, cheapest first.

    >>> pareto_front({"a": (1.0, 0.0), "b": (2.0, -1.0), "c": (3.0, -0.5)})
    ['a', 'b']
    """
    front: list[str] = []
    for name in sorted(points, key=points.__getitem__):
        if not front or points[name][1] < points[front[-1]][1]:
            front.append(name)
    return front


def _draw_pareto(axes: object, methods: Sequence[str], results: Sequence[Results], costs: Costs) -> None:
    points = {name: point for name, point in quality(results, costs, methods).items() if np.isfinite(point[1])}
    front = pareto_front(points)
    for name, (seconds, log) in points.items():
        axes.plot(seconds, log, "o", color="C3" if name in front else "0.6", markersize=5 if name in front else 3)
        axes.annotate(name, (seconds, log), xytext=(3, 2), textcoords="offset points", fontsize=7, color="C3" if name in front else "0.4")
    axes.plot(*zip(*(points[name] for name in front), strict=True) if front else ((), ()), color="C3", linewidth=1)
    axes.set(xscale="log", xlabel=f"seconds of a step, relative to {REFERENCE}", title="Quality against cost")
    axes.set_ylabel(f"log10 of the metric, less that of {REFERENCE}")
    axes.grid(alpha=0.3)


def draw(each: Results, ranks: Ranks, costs: Costs, heading: str) -> Figure:
    """The curves of a discipline; of one without tuning, the error of estimates."""
    return draw_curves(each, ranks, costs, heading) if each.discipline.tuned_on else draw_estimation(each, heading)


def draw_curves(each: Results, ranks: Ranks, costs: Costs, heading: str) -> Figure:
    """The mean over the settings of log10 of the median over the seeds against steps, 1-D sorts and seconds."""
    figure = Figure(figsize=(15, 4.8), layout="constrained")
    grid = figure.subplots(1, 3, sharey=True)
    complete = [m for m in ranks.order(each.discipline.name) if each.logarithms(m, 1) is not None]
    shown = list(dict.fromkeys([*complete[:SHOWN], *(m for m in (REFERENCE,) if m in complete)]))
    handles = {}
    for axes, axis in zip(grid, AXES, strict=True):
        for method in [*(m for m in complete if m not in shown), *shown]:
            rate = 1.0 if axis == "steps" else costs.get((each.discipline.name, method), {}).get(axis)
            if not rate:
                continue
            steps = each.curves[each.settings[0], method][0]
            values = np.mean([np.log10(np.maximum(v, np.finfo(float).tiny)) for v in each.medians(method).values()], 0)
            if method in shown:
                (handles[method],) = axes.plot(steps * rate, values, color=f"C{shown.index(method)}", linewidth=1.4, zorder=3)
            else:
                axes.plot(steps * rate, values, color="0.8", linewidth=0.7)
        axes.set(xlabel={"steps": "steps", "sorts": "1-D sorts", "seconds": "seconds (one thread)"}[axis])
        axes.set_xscale("linear" if axis == "steps" else "log")
        axes.grid(alpha=0.3)
    grid[0].set_ylabel(f"log10 of {each.discipline.metric}, mean over {len(each.settings)} settings")
    figure.legend(handles.values(), handles.keys(), loc="outside right center", fontsize=8)
    figure.suptitle(f"{each.discipline.name}: {heading}")
    return figure


def draw_estimation(each: Results, heading: str) -> Figure:
    """The error of estimates against 1-D sorts: a panel for every pair of clouds, a curve for every method."""
    pairs = list(dict.fromkeys(setting.rpartition(" L=")[0] for setting in each.settings))
    figure = Figure(figsize=(3.4 * len(pairs) + 1, 4.2), layout="constrained")
    handles = {}
    for axes, pair in zip(figure.subplots(1, len(pairs), squeeze=False)[0], pairs, strict=True):
        for number, method in enumerate(each.methods):
            counts = {int(s.rpartition("=")[2]): s for s in each.settings if s.startswith(f"{pair} L=") and (s, method) in each.curves}
            if counts:
                errors = [np.maximum(np.mean(each.curves[setting, method][1][-1]), 1e-14) for setting in counts.values()]
                style = {"color": f"C{number % 10}", "linestyle": "-" if number < 10 else "--", "marker": ".", "linewidth": 1.2}
                (handles[method],) = axes.plot([2 * count for count in counts], errors, **style)
        axes.set(xscale="log", yscale="log", xlabel="1-D sorts", title=pair)
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("relative mean squared error of SW_2^2")
    figure.legend(handles.values(), handles.keys(), loc="outside right center", fontsize=8)
    figure.suptitle(f"{each.discipline.name}: {heading}")
    return figure
