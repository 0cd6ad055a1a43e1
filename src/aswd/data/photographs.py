"""Two photographs and their palettes: what a colour transfer starts from and aims at."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from aswd.data.configs import SIDES, PhotographConfig
from aswd.data.modules import FixedBatch
from aswd.data.palettes import Palette, palette_of
from aswd.data.photograph_files import Photograph, read_photograph


class Photographs(FixedBatch):
    """A pair of photographs with a palette each, which k-means draws from the seed of the replica, or from ``palette_seed``.

    Args:
        seeds: one per replica.
        options: see :class:`~aswd.data.configs.PhotographConfig`.
    """

    config_class = PhotographConfig

    def photographs(self) -> tuple[Photograph, Photograph]:
        """Source and target.

        Raises:
            ValueError: a file has changed since this data module was made.
        """
        photographs = read_photograph(self.config.source), read_photograph(self.config.target)
        for side, photograph in zip(SIDES, photographs, strict=True):
            if photograph.digest != getattr(self.config, f"{side}_digest"):
                raise ValueError(f"data.{side} must not change during a run; {getattr(self.config, side)!r} has changed")
        return photographs

    def source_palettes(self) -> list[Palette]:
        """The palette of the source for every seed."""
        return self._palettes(self.photographs()[0])

    def _palettes(self, photograph: Photograph) -> list[Palette]:
        fixed = self.config.palette_seed
        return [palette_of(photograph, self.config.num_colors, seed if fixed is None else fixed) for seed in self.seeds]

    def samples(self) -> dict[str, Tensor]:
        """Centres ``[R, K, 3]`` and weights ``[R, K]`` of both palettes: ``source``, ``source_weights``, ``target``, ``target_weights``."""
        arrays: dict[str, np.ndarray] = {}
        for side, photograph in zip(SIDES, self.photographs(), strict=True):
            palettes = self._palettes(photograph)
            arrays |= {side: np.stack([p.centres for p in palettes]), f"{side}_weights": np.stack([p.weights for p in palettes])}
        return {name: torch.from_numpy(array).float() for name, array in arrays.items()}
