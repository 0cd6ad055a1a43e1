"""Clouds of points: shapes by name or from files, drawn from the run's seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from pytorch_lightning import LightningDataModule
from torch import Tensor

from aswd.data.configs import ShapesConfig
from aswd.data.loaders import StepLoader

_STREAM = 1  # of the random numbers of a seed: its data, as in the toy targets


class Shapes(LightningDataModule):
    """Clouds for a batch of seeds, each drawn from its own."""

    def __init__(self, settings: ShapesConfig, seeds: Sequence[int]) -> None:
        super().__init__()
        self.settings, self.seeds = settings, list(seeds)

    def samples(self) -> list[Tensor]:
        """For every shape its clouds ``[R, M, d]``, one a seed, in float32."""
        clouds = []
        for place, source in enumerate(self.settings.sources):
            rngs = [np.random.default_rng([seed, _STREAM, place]) for seed in self.seeds]
            drawn = np.stack([source.draw(self.settings.num_samples, rng) for rng in rngs])
            clouds.append(torch.from_numpy(drawn.astype(np.float32)))
        return clouds

    def train_dataloader(self) -> StepLoader:
        """The clouds stay with the task, on its device; a step is handed nothing but its turn."""
        return StepLoader()
