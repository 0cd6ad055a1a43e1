"""Two pictures and their palettes: what a colour transfer is about."""

from __future__ import annotations

from collections.abc import Sequence

from pytorch_lightning import LightningDataModule

from aswd.data.configs import SIDES, PhotographConfig
from aswd.data.loaders import StepLoader
from aswd.data.palettes import Palette, palette_of
from aswd.data.photograph_files import Picture, read_picture


class Photographs(LightningDataModule):
    """A pair of pictures with a palette each, which k-means draws from the run's seed.

    Args:
        settings: see :class:`PhotographConfig`.
        seeds: of the run, one.
    """

    def __init__(self, settings: PhotographConfig, seeds: Sequence[int]) -> None:
        super().__init__()
        self.settings, self.seeds = settings, list(seeds)

    def pictures(self) -> tuple[Picture, Picture]:
        """Source and target.

        Raises:
            ValueError: a file is not what it was when the run was asked for.
        """
        pictures = read_picture(self.settings.source), read_picture(self.settings.target)
        for side, picture in zip(SIDES, pictures, strict=True):
            if picture.digest != getattr(self.settings, f"{side}_digest"):
                raise ValueError(f"data.{side} has changed since the run was asked for: {getattr(self.settings, side)!r}")
        return pictures

    def palettes(self) -> tuple[Palette, Palette]:
        """Those of source and target."""
        source, target = (palette_of(picture, self.settings.num_colors, self.seeds[0]) for picture in self.pictures())
        return source, target

    def train_dataloader(self) -> StepLoader:
        """The palettes stay with the task, on its device; a step is handed nothing but its turn."""
        return StepLoader()
