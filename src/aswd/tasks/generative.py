"""What the tasks that learn to generate images share: noise, optimisers, samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from aswd.nets.parallel import own_part, world_size
from aswd.tasks import figures
from aswd.tasks.batches import to_bytes
from aswd.tasks.image_task import ImageTask, random_numbers
from aswd.utils.metric_history import MetricHistory

NETWORKS, NOISE, FIXED_NOISE = 4, 5, 6  # streams of the random numbers of a seed


def check_fits(distance: nn.Module, count: int, dim: int) -> None:
    """Check that a distance can hold ``count`` samples per side in dimension ``dim``, before anything is allocated for it.

    Raises:
        ValueError: it cannot.
    """
    projection = getattr(distance, "projection", None)
    if projection is not None:
        samples = torch.zeros(()).expand(1, count, dim)
        try:
            projection.check(samples, samples, getattr(distance.directions, "num_projections", 1))
        except ValueError as error:
            raise ValueError(f"distance {getattr(distance, 'name', '')} cannot be used here: {error}") from None


class GenerativeTask(ImageTask):
    """A generator of images from noise, and grids of its images of the same noise at every evaluation.

    The noise is a function of seed and step: a run that resumes needs no random state. Of several processes each takes its part of it.
    """

    curves: ClassVar[tuple[str, ...]] = ()  # metrics to draw

    def __init__(self, distance: Any, *, seeds: Sequence[int] = (0,), **options: Any) -> None:
        super().__init__(distance, seeds=seeds, **options)
        fixed = torch.stack([self.draw_noise(self.config.num_samples, seed, FIXED_NOISE) for seed in self.seeds])
        self.register_buffer("fixed_noise", fixed, persistent=False)
        self._values: dict[str, Tensor] = {}  # [R] each, of the last training step

    @classmethod
    def num_bytes(cls, config: Any, data: Any, distance: nn.Module, seeds: int) -> int:
        """Batches, noise, and images of the fixed noise."""
        fixed = config.num_samples * (config.latent_dim + getattr(data, "channels", 1) * getattr(data, "size", 1) ** 2)
        return super().num_bytes(config, data, distance, seeds) + 4 * seeds * (config.batch_size * config.latent_dim + fixed)

    @abstractmethod
    def generate(self, noise: Tensor) -> Tensor:
        """Images, ``[R, n, channels, height, width]`` in the task's range, from ``noise [R, n, latent_dim]``, as they are evaluated."""

    @property
    @abstractmethod
    def pixel_range(self) -> str:
        """The range of the generator's images, a name of :data:`~aswd.tasks.batches.PIXEL_RANGES`."""

    def adam(self, parameters: Iterable[Tensor]) -> torch.optim.Adam:
        """The optimiser of a network."""
        return torch.optim.Adam(parameters, lr=self.config.lr, betas=tuple(self.config.betas))

    def noise(self, step: int, count: int) -> Tensor:
        """Noise of a step for the ``count`` images that this process has of a batch, ``[R, count, latent_dim]``."""
        whole = [self.draw_noise(count * world_size(), seed, NOISE, step) for seed in self.seeds]
        return own_part(torch.stack(whole), 1)

    def draw_noise(self, count: int, seed: int, *place: int) -> Tensor:
        """Standard normal noise ``[count, latent_dim]`` that depends on a seed, a stream and what else is in ``place``."""
        numbers = random_numbers(self.device, seed, *place)
        return torch.randn(count, self.config.latent_dim, generator=numbers, device=self.device, dtype=torch.float32).to(self.dtype)

    def training_metrics(self) -> dict[str, Tensor]:
        """Values of the last training step, and the norm of what the distance has learned."""
        norm = self.learned_norm()
        return self._values if norm is None else {**self._values, "learned_norm": norm}

    def fixed_images(self) -> np.ndarray:
        """The generator's images of the fixed noise, uint8 ``[R, n, channels, height, width]``."""
        return to_bytes(self.generate(self.fixed_noise), self.pixel_range).cpu().numpy()

    def save_grid(self) -> None:
        """Save a grid of the first replica's images below the trainer's ``default_root_dir``, unless ``images`` is off."""
        if self.config.images:
            path = Path(self.trainer.default_root_dir, "images", f"samples_{self.global_step:07d}.png")
            figures.grid(path, self.fixed_images()[0])

    def samples(self, replica: int) -> dict[str, np.ndarray]:
        return {"images": self.fixed_images()[replica], "noise": self.fixed_noise[replica].float().cpu().numpy()}

    def draw(self, folder: Path, metrics: MetricHistory, title: str) -> list[Path]:
        """Draw the curves; returns them, the last grid, and some of the others."""
        if not self.config.images:
            return []
        known = [name for name in self.curves if np.isfinite(metrics.values.get(name, [[np.nan]])).any()]
        drawn = [figures.curve(folder / f"{name}.png", metrics, name, title) for name in known]
        grids = [path for step in metrics.steps if (path := folder / f"samples_{step:07d}.png").exists()]
        chosen = np.unique(np.linspace(0, len(grids) - 1, min(len(grids), 6)).round().astype(int))
        return drawn + [grids[index] for index in chosen]
