"""An autoencoder of small digits whose codes a distance draws to a ring. Writes swae_ring.png."""

import math
import sys
from itertools import pairwise
from pathlib import Path

import torch
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from torch import nn

from aswd.distances import build


def ring(count: int, generator: torch.Generator) -> torch.Tensor:
    """Points around the unit circle."""
    angle = 2 * math.pi * torch.rand(count, generator=generator)
    return (1 + 0.1 * torch.randn(count, 1, generator=generator)) * torch.stack([angle.cos(), angle.sin()], 1)


def network(*sizes: int) -> nn.Sequential:
    """A perceptron with ReLU between its layers."""
    layers = [layer for pair in pairwise(sizes) for layer in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def main(folder: Path, epochs: int = 120) -> float:
    """Draw codes and digits decoded along the ring; SWD from the codes to the ring."""
    torch.manual_seed(0)
    digits = load_digits()
    images, labels = torch.from_numpy(digits.data).float() / 16, digits.target
    encoder, decoder, generator = network(64, 128, 64, 2), network(2, 64, 128, 64), torch.Generator().manual_seed(0)
    distance = build("swd", num_projections=50, seed=0)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
    for _ in range(epochs):
        for batch in images[torch.randperm(len(images), generator=generator)].split(200):
            codes = encoder(batch)
            error = nn.functional.binary_cross_entropy_with_logits(decoder(codes), batch)
            optimizer.zero_grad()
            (error + 2 * distance(codes, ring(len(codes), generator)) ** 2).backward()
            optimizer.step()
    with torch.no_grad():
        codes, angle = encoder(images), torch.linspace(0, 2 * math.pi, 33)[:-1]
        decoded = decoder(torch.stack([angle.cos(), angle.sin()], 1)).sigmoid().reshape(4, 8, 8, 8)
    figure = Figure(figsize=(8.5, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.scatter(*codes.T, c=labels, cmap="tab10", s=4)
    left.set(title="codes, by digit", aspect="equal", xticks=[], yticks=[])
    right.imshow(decoded.transpose(1, 2).reshape(32, 64), cmap="gray_r")
    right.set(title="decoded along the ring", xticks=[], yticks=[])
    figure.savefig(folder / "swae_ring.png", dpi=90)
    return distance.eval()(codes, ring(len(codes), generator)).item()


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
