"""Barycenters of three shapes for fifteen weights, as one batch of replicas. Writes barycenter.png."""

import sys
from pathlib import Path

import torch
from matplotlib.figure import Figure

from aswd.data.points import ToyTargets
from aswd.distances import build

SHAPES = ("heart", "knot", "circle")


def main(folder: Path, steps: int = 250, points: int = 200, grid: int = 4) -> torch.Tensor:
    """Draw the triangle; particles [weights, N, 2]."""
    clouds = torch.stack([ToyTargets(name=name, num_samples=points).samples()[0] for name in SHAPES])
    weights = torch.tensor([[i, j, grid - i - j] for i in range(grid + 1) for j in range(grid + 1 - i)]) / grid
    particles = 0.5 * torch.randn(1, points, 2, generator=torch.Generator().manual_seed(0))
    particles = particles.repeat(len(weights), 1, 1).requires_grad_()
    distance = build("swd", num_projections=40, root=False, seed=[0] * len(weights) * 3)  # all replicas with common directions
    optimizer = torch.optim.Adam([particles], lr=0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        pairs = particles.repeat_interleave(3, 0), clouds.repeat(len(weights), 1, 1)
        (weights * distance(*pairs).reshape(-1, 3)).sum().backward()
        optimizer.step()
    particles = particles.detach()
    figure = Figure(figsize=(6, 5.4), layout="constrained")
    axes = figure.subplots()
    corners = 3 * torch.tensor([[0.0, 0.0], [grid, 0.0], [grid / 2, 0.85 * grid]])
    for weight, cloud in zip(weights, particles, strict=True):
        axes.scatter(*(cloud + weight @ corners).T, s=1.5, color=tuple(0.85 * weight.numpy()))
    axes.set(aspect="equal")
    axes.axis("off")
    figure.savefig(folder / "barycenter.png", dpi=90)
    return particles


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
