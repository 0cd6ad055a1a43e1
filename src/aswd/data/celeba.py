"""CelebA: aligned faces, the middle of them at 64 x 64."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from PIL import Image
from torch import Tensor

from aswd.data.celeba_files import PARTITION, PLACES, by_list, by_number, find_folder
from aswd.data.image_configs import CelebAConfig
from aswd.data.image_files import decoded, fingerprint
from aswd.data.images import SPLITS, ImageData
from aswd.utils.errors import UserError


class CelebA(ImageData):
    """CelebA, 162 770 images to train on and 19 962 to test on, decoded once."""

    config_class = CelebAConfig

    @cached_property
    def folder(self) -> Path | None:
        """Where the numbered images are; ``None`` where they are not."""
        return find_folder(Path(self.config.root))

    @property
    def location(self) -> str:
        return str(self.folder)

    def prepare_data(self) -> None:
        for split in SPLITS:
            self.images(split)

    def images(self, split: str) -> Tensor:
        c, paths = self.config, self._splits[split]
        key = f"{fingerprint(paths, self.folder, times=True)}-{c.crop}-{c.size}x{c.size}"
        return decoded(paths, 3, c.size, self._middle, Path(c.cache_dir, f"celeba-{split}-{key}.npy"), f"celeba {split}")

    def _middle(self, image: Image.Image) -> Image.Image:
        crop, size = self.config.crop, self.config.size
        if min(image.size) < crop:
            raise ValueError(f"it is {image.width} x {image.height}, smaller than data.crop={crop}")
        left, top = (image.width - crop) // 2, (image.height - crop) // 2
        return image.crop((left, top, left + crop, top + crop)).resize((size, size), Image.Resampling.BILINEAR)

    @cached_property
    def _splits(self) -> dict[str, list[Path]]:
        root = Path(self.config.root)
        if self.folder is None:
            raise UserError(
                f"celeba is not in {root}, and cannot be fetched without a visit to its page: put the images of img_align_celeba.zip "
                f"into {root / PLACES[0]} and {PARTITION} into {root / 'celeba'}, or give a folder that has 000001.jpg and the "
                "others as data.root"
            )
        lists = [folder / PARTITION for folder in (self.folder.parent, self.folder) if (folder / PARTITION).exists()]
        paths = by_list(lists[0], self.folder) if lists else by_number(self.folder)
        for split, members in paths.items():
            if len(members) < 2:
                raise UserError(f"{self.folder} must have at least two images of the {split} split of celeba; it has {len(members)}")
        return paths
