"""A photograph in the colours of another, by the slices of three distances. Writes color_transfer.jpg."""

import sys
from pathlib import Path

import torch
from matplotlib.figure import Figure
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_sample_image

from aswd.distances import build


def palette(image: torch.Tensor, colors: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Colours [K, 3] that stand for those of an image [h, w, 3], and which of them each pixel has."""
    pixels = image.reshape(-1, 3).numpy()
    means = MiniBatchKMeans(colors, n_init=1, random_state=0).fit(pixels)
    return torch.from_numpy(means.cluster_centers_), torch.from_numpy(means.predict(pixels)).long()


def main(folder: Path, colors: int = 400, steps: int = 150, thin: int = 2) -> dict[str, float]:
    """Draw source, target and three transfers; the mean distance that a colour has moved."""
    images = [torch.from_numpy(load_sample_image(name)[::thin, ::thin].copy()).float() / 255 for name in ("china.jpg", "flower.jpg")]
    (source, labels), (target, _) = (palette(image, colors) for image in images)
    shown, moved = dict(zip(("source", "target"), images, strict=True)), {}
    for name in ("swd", "aswd", "min_swgg"):
        distance = build(name, num_projections=30, seed=0)
        colours = source.clone().requires_grad_()
        optimizer = torch.optim.Adam([colours], lr=0.02)
        for _ in range(steps):
            optimizer.zero_grad()
            distance(colours, target).backward()
            optimizer.step()
        shown[name] = colours.detach().clamp(0, 1)[labels].reshape(images[0].shape)
        moved[name] = (colours.detach() - source).norm(dim=1).mean().item()
    figure = Figure(figsize=(13, 2.1), layout="constrained")
    for axes, (name, image) in zip(figure.subplots(1, len(shown)), shown.items(), strict=True):
        axes.imshow(image.numpy())
        axes.set(title=name, xticks=[], yticks=[])
    figure.savefig(folder / "color_transfer.jpg", dpi=100)
    return moved


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
