"""A distance of your own beside one of ours, in a flow: its projection is a sine wave. Writes own_distance.png."""

import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from matplotlib.figure import Figure

from aswd.data.points import ToyTargets
from aswd.distances import Projection, build, register
from aswd.metrics import exact_wasserstein


@register("sine")
@dataclass
class Sine(Projection):
    """sin(frequency <x, theta>), injective for samples within pi / (2 frequency) of the origin."""

    frequency: float = 0.6

    def values(self, features: torch.Tensor, directions: torch.Tensor) -> torch.Tensor:
        """[R, N, d], [R, L, d] -> [R, L, N]."""
        return torch.sin(self.frequency * directions @ features.mT)


def main(folder: Path, steps: int = 600, points: int = 150) -> dict[str, list[float]]:
    """Draw the particles at the end, and W2 on the way, of both distances; the values of W2."""
    target = ToyTargets(name="heart", num_samples=points).samples()
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    *panels, curves = figure.subplots(1, 3)
    values: dict[str, list[float]] = {}
    for axes, (name, options) in zip(panels, {"sine": {}, "swd": {}}.items(), strict=True):
        distance = build(name, num_projections=50, seed=0, **options)
        particles = (0.5 * torch.randn(1, points, 2, generator=torch.Generator().manual_seed(0))).requires_grad_()
        optimizer = torch.optim.Adam([particles], lr=0.005)
        values[name] = []
        for step in range(steps + 1):
            if step % 20 == 0:
                values[name].append(exact_wasserstein(particles.detach(), target).item())
            optimizer.zero_grad()
            distance(particles, target).sum().backward()
            optimizer.step()
        axes.scatter(*target[0].T, s=4, color="0.75")
        axes.scatter(*particles[0].detach().T, s=4, color="#d1495b")
        axes.set(title=name, aspect="equal", xticks=[], yticks=[])
        curves.semilogy(range(0, steps + 1, 20), values[name], label=name)
    curves.set(title="W2 to the target", xlabel="iteration")
    curves.legend()
    figure.savefig(folder / "own_distance.png", dpi=90)
    return values


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
