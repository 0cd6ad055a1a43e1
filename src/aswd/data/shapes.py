"""Clouds of points: shapes by name or from files, drawn from the run's seed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from pytorch_lightning import LightningDataModule
from torch import Tensor

from aswd.data.loaders import StepLoader
from aswd.data.shape_files import READERS, read_shape
from aswd.data.shape_kinds import SHAPES, shape
from aswd.data.surfaces import NoShape, Source
from aswd.utils.checks import check_at_least, nearest

_STREAM = 1  # of the random numbers of a seed: its data, as in the toy targets


@dataclass
class ShapesConfig:
    """Options of the clouds. Files are read here: a mistake in one is known before any work.

    Args:
        shapes: names of :data:`~aswd.data.shape_kinds.SHAPES`, or files: a picture (its dark pixels), a mesh (.obj, .off, ascii .ply),
            points (.xyz, .txt, .csv, .npy).
        num_samples: points drawn for each cloud; a file of points that has fewer gives all of its own.
        normalise: scale every shape until the longest side of its box is [-1, 1], and centre the box.
    """

    kind: ClassVar[str] = "clouds"
    name: str = "shapes"
    shapes: list[str] = field(default_factory=lambda: ["ring", "heart", "cross"], metadata={"changes_numbers": False})
    num_samples: int = 500
    normalise: bool = True

    def __post_init__(self) -> None:
        check_at_least("num_samples", self.num_samples, 1, whole=True)
        if not self.shapes:
            raise ValueError("shapes must name at least one shape or file; got an empty list")
        read = [_read(name) for name in self.shapes]
        self.sources = [source.normalised() if self.normalise else source for source, _ in read]
        self._contents = [content for _, content in read]
        if len({source.dim for source in self.sources}) > 1:
            found = ", ".join(f"{name} in {source.dim}" for name, source in zip(self.shapes, self.sources, strict=True))
            raise ValueError(f"shapes must all be of one dimension; got {found}")

    @property
    def contents(self) -> dict[str, Any]:
        """What stands for the shapes in the key of a run: their names, and digests of what is in files, wherever those are."""
        return {"shapes": self._contents}

    @property
    def sizes(self) -> list[int]:
        """Points of every cloud."""
        return [source.count(self.num_samples) for source in self.sources]


def _read(name: str) -> tuple[Source, str]:
    """What the shape is drawn from, and what stands for it in a key."""
    if name in SHAPES:
        return shape(name), name
    path = Path(name).expanduser()
    if not path.exists():
        if path.suffix.lower() in READERS:
            raise ValueError(f"shapes must be names of shapes or files that are there; got {name!r}, and there is no such file")
        raise ValueError(f"shapes must be names of shapes or files; got {name!r}: {nearest(name, SHAPES)}")
    try:
        source, content = read_shape(path)
    except NoShape as error:
        raise ValueError(f"shapes must be names of shapes or files to draw from; got {name!r}, which {error}") from None
    return source, f"{path.suffix.lower()}:{hashlib.sha256(content).hexdigest()}"


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
