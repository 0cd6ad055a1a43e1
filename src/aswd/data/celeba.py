"""CelebA: aligned faces, the middle of them at 64 x 64."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from PIL import Image
from torch import Tensor

from aswd.data.celeba_files import PARTITION, PLACES, by_list, by_number, find_folder
from aswd.data.configs import CelebAConfig
from aswd.data.image_files import decoded, fingerprint
from aswd.data.images import SPLITS, ImageData
from aswd.utils.errors import UserError


class CelebA(ImageData):
    """CelebA, 162 770 pictures to train on and 19 962 to test on, decoded once."""

    def __init__(self, settings: CelebAConfig, seeds: Sequence[int]) -> None:
        super().__init__(settings, seeds)
        self.folder = find_folder(Path(settings.root))

    @property
    def place(self) -> str:
        return str(self.folder)

    def prepare_data(self) -> None:
        for split in SPLITS:
            self.images(split)

    def images(self, split: str) -> Tensor:
        s, paths = self.settings, self._splits[split]
        key = f"{fingerprint(paths, self.folder, times=True)}-{s.crop}-{s.size}x{s.size}"
        return decoded(paths, 3, s.size, self._middle, Path(s.cache_dir, f"celeba-{split}-{key}.npy"), f"celeba {split}")

    def _middle(self, picture: Image.Image) -> Image.Image:
        crop, size = self.settings.crop, self.settings.size
        if min(picture.size) < crop:
            raise ValueError(f"it is {picture.width} x {picture.height}, smaller than data.crop={crop}")
        left, top = (picture.width - crop) // 2, (picture.height - crop) // 2
        return picture.crop((left, top, left + crop, top + crop)).resize((size, size), Image.Resampling.BILINEAR)

    @cached_property
    def _splits(self) -> dict[str, list[Path]]:
        root = Path(self.settings.root)
        if self.folder is None:
            raise UserError(
                f"celeba is not in {root}, and cannot be fetched without a visit to its page: put the pictures of img_align_celeba.zip "
                f"into {root / PLACES[0]} and {PARTITION} into {root / 'celeba'}, or give a folder that has 000001.jpg and the "
                "others as data.root"
            )
        lists = [place / PARTITION for place in (self.folder.parent, self.folder) if (place / PARTITION).exists()]
        paths = by_list(lists[0], self.folder) if lists else by_number(self.folder)
        for split, found in paths.items():
            if len(found) < 2:
                raise UserError(f"{self.folder} must have at least two pictures of the {split} split of celeba; it has {len(found)}")
        return paths
