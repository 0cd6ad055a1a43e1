"""Two pictures and their palettes: what a colour transfer is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from pytorch_lightning import LightningDataModule

from aswd.data.loaders import StepLoader
from aswd.data.palettes import Palette, palette_of
from aswd.data.photograph_files import Picture, read_picture
from aswd.utils.checks import check_at_least

SIDES = ("source", "target")


@dataclass
class PhotographConfig:
    """Options of a pair of pictures. Runs are told apart by what the pictures show, not by where their files are.

    Args:
        source: the picture to repaint: a file, or the name of a built-in picture.
        target: the picture that has the colours, likewise.
        num_colors: clusters that k-means makes of the colours of each.
        source_digest: of the source's file; found, not given.
        target_digest: of the target's, likewise.
    """

    kind: ClassVar[str] = "pair"
    short: ClassVar[tuple[str, ...]] = SIDES  # source=FILE stands for data.source=FILE
    name: str = "photographs"
    source: str = field(default="china", metadata={"changes_numbers": False})
    target: str = field(default="flower", metadata={"changes_numbers": False})
    num_colors: int = 3000
    source_digest: str = ""
    target_digest: str = ""

    def __post_init__(self) -> None:
        check_at_least("num_colors", self.num_colors, 2, whole=True)
        for side in SIDES:
            try:
                picture = read_picture(getattr(self, side))
            except ValueError as error:
                raise ValueError(f"{side} {error}") from None
            seen = int((picture.counts > 0).sum())
            if seen < self.num_colors:
                how = f"set data.num_colors={seen} or less" if seen > 1 else "choose another"
                raise ValueError(f"{side} must have num_colors={self.num_colors} colours; {getattr(self, side)!r} has only {seen}: {how}")
            setattr(self, f"{side}_digest", picture.digest)


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
