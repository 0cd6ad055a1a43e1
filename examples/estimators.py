"""How good is the estimate of SW_2^2 from L slices? Five estimators, root mean squared error over repetitions. Writes estimators.png."""

import sys
from pathlib import Path

import torch
from matplotlib.figure import Figure

from aswd.distances import build

NAMES = ("swd", "osw", "qsw_sobol", "swd_ucv", "swd_shcv")


def main(folder: Path, repetitions: int = 50, counts: tuple[int, ...] = (16, 32, 64, 128, 256, 512), reference: int = 2**16) -> dict:
    """Draw the errors between two clouds in three dimensions; the errors by name."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(200, 3, generator=generator)
    y = torch.randn(200, 3, generator=generator) * torch.tensor([2.0, 1.0, 0.5]) + torch.tensor([0.5, 0.0, 0.0])
    exact = build("qsw_sobol", num_projections=reference, root=False, seed=0)(x, y)
    errors: dict[str, list[float]] = {name: [] for name in NAMES}
    for name in NAMES:
        for count in counts:
            distance = build(name, num_projections=count, root=False, seed=list(range(repetitions)))
            values = distance(x.expand(repetitions, -1, -1), y)  # one replica per repetition, each with its own directions
            errors[name].append((values - exact).square().mean().sqrt().item() / exact.item())
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, values in errors.items():
        axes.loglog(counts, values, marker="o", label=name)
    axes.set(xlabel="slices L", ylabel="relative error of SW_2^2", title="two clouds of 200 points in three dimensions")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(folder / "estimators.png", dpi=90)
    return errors


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
