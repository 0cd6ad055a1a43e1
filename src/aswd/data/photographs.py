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
    """A pair of photographs with a palette each, which k-means draws from the first seed.

    Args:
        seeds: one.
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

    def palettes(self) -> tuple[Palette, Palette]:
        """Those of source and target."""
        source, target = (palette_of(photograph, self.config.num_colors, self.seeds[0]) for photograph in self.photographs())
        return source, target

    def samples(self) -> dict[str, Tensor]:
        """Centres ``[1, K, 3]`` and weights ``[1, K]`` of both palettes: ``source``, ``source_weights``, ``target``, ``target_weights``."""
        arrays: dict[str, np.ndarray] = {}
        for side, palette in zip(SIDES, self.palettes(), strict=True):
            arrays |= {side: palette.centres, f"{side}_weights": palette.weights}
        return {name: torch.from_numpy(array).float()[None] for name, array in arrays.items()}
