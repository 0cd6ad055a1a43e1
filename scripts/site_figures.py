"""Draws the figures of the axes of distances, each from the distances themselves: python scripts/site_figures.py [FOLDER]."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from aswd.distances import Linear, Slices, build
from aswd.distances.parts import build_part

OURS, THEIRS = "#d1495b", "#30638e"


def clouds(count: int = 120, dim: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    """A round cloud and a long one beside it."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, count, dim, generator=generator).unbind()
    return 0.35 * x - 0.5, y * torch.tensor([0.15, 0.5, 0.15][:dim]) + 0.55


def projection(all_axes: list[Axes]) -> None:
    """Level lines of a slice of each projection, with what ASWD and the flows learned for the two clouds."""
    x, y = clouds()
    grid = torch.linspace(-2, 2, 100)
    points = torch.stack(torch.meshgrid(grid, grid, indexing="xy"), -1).reshape(-1, 2)
    learned = {"steps": 300, "lr": 0.02}
    shown = {
        **{"swd": {}, "gswd_poly3": {}, "gswd_circular": {}, "gswd_nn1": {}},
        **{"aswd": {"reading": "paper", **learned}, "aswd_planar": learned, "aswd_radial": learned},
    }
    for axes, (name, options) in zip(all_axes, shown.items(), strict=False):
        distance = build(name, num_projections=6, seed=3, **options)
        distance(x, y)
        values = distance.project(points, y)[0][2].reshape(100, 100)
        axes.contour(grid, grid, values, levels=18, cmap="viridis", linewidths=0.9)
        for cloud, colour in ((x, OURS), (y, THEIRS)):
            axes.scatter(*cloud.T, s=3, color=colour)
        axes.set(title=name, xticks=[], yticks=[], aspect="equal", xlim=(-2, 2), ylim=(-2, 2))


def directions(all_axes: list[Axes]) -> None:
    """Directions on the sphere, the near side in colour."""
    x, y = clouds(dim=3)
    names = ["swd", "osw", "qsw_sobol", "qsw_halton", "qsw_spiral", "qsw_equal_area", "rpsw", "msw", "vdsw"]
    own = {"rpsw": {"kappa": 50}, "msw": {"transition": "random", "chain_length": 24, "kappa": 50}, "vdsw": {"steps": 200, "kappa": 50}}
    for axes, name in zip(all_axes, names, strict=True):
        distance = build(name, num_projections=96, seed=0, **own.get(name, {}))
        distance(x, y)
        theta = distance.draw(x, y)
        near = theta[:, 1] < 0
        axes.add_patch(Circle((0, 0), 1, color="0.95"))
        axes.scatter(theta[~near, 0], theta[~near, 2], s=5, color="0.8")
        axes.scatter(theta[near, 0], theta[near, 2], s=8, color=THEIRS)
        axes.set(title=name, xticks=[], yticks=[], aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
        axes.axis("off")


def maximised(all_axes: list[Axes]) -> None:
    """The cost of a linear slice against its angle, with the directions of SWD, Max-SWD and DSWD."""
    x, y = clouds()
    angles = torch.linspace(0, torch.pi, 181)
    fan = torch.stack([angles.cos(), angles.sin()], -1)
    costs = [build("swd")(x, y, directions=theta[None]).item() for theta in fan]
    options = {"swd": {"num_projections": 30}, "dswd": {"num_projections": 30, "steps": 300, "penalty": 0.5}, "max_swd": {"steps": 300}}
    for axes, (name, given) in zip(all_axes, options.items(), strict=True):
        distance = build(name, seed=0, **given)
        value = distance(x, y)
        axes.plot(angles.rad2deg(), costs, color="0.5")
        for theta in distance.draw(x, y):
            angle = torch.atan2(theta[1], theta[0]).remainder(torch.pi)
            cost = build("swd")(x, y, directions=theta[None])
            axes.plot(angle.rad2deg(), cost, ".", color=OURS, markersize=9)
        axes.axhline(value.item(), color=THEIRS, linestyle="--", linewidth=1)
        axes.set(title=f"{name} = {value:.2f}", xlabel="angle of the slice", ylabel="W2 on the slice")


def aggregation(all_axes: list[Axes]) -> None:
    """The weights of slices, which are the derivatives of the aggregation where it is a weighted mean with constant weights."""
    x, y = clouds(dim=3)
    theta = torch.nn.functional.normalize(torch.randn(60, 3, generator=torch.Generator().manual_seed(1)), dim=-1)
    costs = torch.stack([build("swd", root=False)(x, y, directions=each[None]) for each in theta])
    order = costs.argsort()
    shown = [
        ("mean", "mean"),
        ("softmax, tau = 0.2", {"name": "softmax", "temperature": 0.2, "energy_scale": "mean", "weights_gradient": False}),
        ("softmin, tau = 0.2", {"name": "softmin", "temperature": 0.2, "energy_scale": "mean", "weights_gradient": False}),
        ("shcv", {"name": "shcv", "degree": 4}),
    ]
    for axes, (title, given) in zip(all_axes, shown, strict=True):
        weights = _weights(given, costs, theta, x, y)
        axes.bar(range(60), weights[order], width=1, color=THEIRS)
        axes.axhline(0, color="0.5", linewidth=0.8)
        axes.set(title=title, xlabel="slices, by their cost", ylabel="weight")


def _weights(given: object, costs: torch.Tensor, theta: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The weights of the costs, which are constants of the gradient in all that are shown."""
    part, sides = build_part("aggregation", given), (x[None], y[None])
    slices = Slices(Linear(), {}, *sides, *sides, theta[None], None, None, 2.0)
    return part.weights(costs[None], slices)[0]


def slice_cost(all_axes: list[Axes]) -> None:
    """One direction: both sides on the line; the matching of the line in the plane; the lines of a tree."""
    x, y = (cloud[:14] for cloud in clouds())
    theta = torch.nn.functional.normalize(torch.tensor([[0.9, 0.35]]), dim=-1)
    line, matched, tree = all_axes
    for cloud, colour in ((x, OURS), (y, THEIRS)):
        feet = (cloud @ theta.T) * theta
        line.scatter(*feet.T, s=14, color=colour)
        line.add_collection(LineCollection(torch.stack([cloud, feet], 1).numpy(), colors=colour, alpha=0.3))
    line.axline((0, 0), slope=(theta[0, 1] / theta[0, 0]).item(), color="0.7", linewidth=0.8)
    line.set_title(f"sorted: {build('swd')(x, y, directions=theta):.2f}")
    plan = build("pwd").plan(x, y, directions=theta)
    pairs = [torch.stack([x[i], y[j]]).numpy() for i, j in plan.nonzero().tolist()]
    matched.add_collection(LineCollection(pairs, colors="0.5", linewidths=1))
    matched.set_title(f"lifted: {build('pwd')(x, y, directions=theta):.2f} (W2 {build('wasserstein')(x, y):.2f})")
    fan = torch.tensor([[1.0, 0.2], [-0.3, 1.0], [0.8, -0.6]])
    root = torch.cat([x, y]).mean(0)
    for way in fan:
        tree.axline(root.tolist(), (root + way).tolist(), color="0.7", linewidth=0.8)
    unit = torch.nn.functional.normalize(fan, dim=-1)
    tree.set_title(f"tree of three lines: {build('db_tsw', lines=3, sampling='random')(x, y, directions=unit):.2f}")
    for axes in all_axes:
        for cloud, colour in ((x, OURS), (y, THEIRS)):
            axes.scatter(*cloud.T, s=14, color=colour)
        axes.set(xticks=[], yticks=[], aspect="equal", xlim=(-1.7, 1.5), ylim=(-1.5, 2))


FIGURES = {projection: (2, 4), directions: (2, 5), maximised: (1, 3), aggregation: (1, 4), slice_cost: (1, 3)}


def main(folder: Path) -> None:
    """Draw all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for draw, (rows, columns) in FIGURES.items():
        figure = Figure(figsize=(2.5 * columns if columns > 3 else 3.6 * columns, 2.7 * rows), layout="constrained")
        all_axes = list(figure.subplots(rows, columns).flat)
        used = {projection: 7, directions: 9}.get(draw, len(all_axes))
        draw(all_axes[:used])
        for axes in all_axes[used:]:
            axes.axis("off")
        figure.savefig(folder / f"{draw.__name__}.png", dpi=75)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures/axes"))
