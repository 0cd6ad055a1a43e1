"""Transport plans: from the best of some slices, from their mean under softmin weights, and exact. Writes sliced_plan.png."""

import sys
from pathlib import Path

import torch
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from aswd.data.points import ToyTargets
from aswd.distances import build

PLANS = {"min_swgg": {"num_projections": 200}, "est": {"num_projections": 200}, "wasserstein": {}}


def main(folder: Path, points: int = 60) -> dict[str, float]:
    """Draw the plans between two shapes; the cost of each."""
    x, y = (ToyTargets(name=name, num_samples=points).samples()[0] for name in ("heart", "moons"))
    x = x + torch.tensor([0.0, 2.2])
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    costs = {}
    for axes, (name, options) in zip(figure.subplots(1, 3), PLANS.items(), strict=True):
        distance = build(name, **options) if name == "wasserstein" else build(name, seed=0, **options)
        plan, costs[name] = distance.plan(x, y), distance.eval()(x, y).item()
        pairs = plan.nonzero()
        lines = torch.stack([x[pairs[:, 0]], y[pairs[:, 1]]], 1)
        alphas = (plan[pairs[:, 0], pairs[:, 1]] / plan.max()).numpy()
        axes.add_collection(LineCollection(lines.numpy(), colors="0.5", alpha=alphas, linewidths=1))
        axes.scatter(*x.T, s=9, color="#d1495b", zorder=2)
        axes.scatter(*y.T, s=9, color="#30638e", zorder=2)
        axes.set(title=f"{name}: {costs[name]:.3f}", aspect="equal", xticks=[], yticks=[])
    figure.savefig(folder / "sliced_plan.png", dpi=90)
    return costs


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
