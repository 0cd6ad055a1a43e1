"""The flow, ASWD beside SWD: the same particles and the same optimiser, two losses. Writes flow.gif."""

import sys
from pathlib import Path

import torch

from aswd.data.points import ToyTargets
from aswd.distances import build
from aswd.metrics import exact_wasserstein
from aswd.tasks.flow_figures import side_by_side


def descend(distance: torch.nn.Module, target: torch.Tensor, steps: int, every: int) -> torch.Tensor:
    """Frames ``[F, N, 2]`` of particles that descend a distance to the target."""
    particles = torch.randn(target.shape, generator=torch.Generator().manual_seed(1)).requires_grad_()
    optimizer = torch.optim.Adam([particles], lr=0.004)
    frames = [particles.detach().clone()]
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        distance(particles, target).backward()
        optimizer.step()
        if step % every == 0:
            frames.append(particles.detach().clone())
    return torch.stack(frames)


def main(folder: Path, steps: int = 500, points: int = 150) -> dict[str, float]:
    """Draw both flows; W2 to the target at the end of each."""
    target = ToyTargets(name="knot", num_samples=points).samples()[0]
    learned = {"penalty": 0.05, "penalty_relative": True}  # the released flow's lambda
    distances = {
        "ASWD": build("aswd", num_projections=50, seed=0, **learned),
        "SWD": build("swd", num_projections=50, seed=0),
    }
    frames = {name: descend(distance, target, steps, every=10) for name, distance in distances.items()}
    side_by_side(folder / "flow.gif", {name: each.numpy() for name, each in frames.items()}, target.numpy(), range(0, steps + 1, 10))
    return {name: exact_wasserstein(each[-1:], target[None]).item() for name, each in frames.items()}


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
