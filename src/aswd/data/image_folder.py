"""Any folder of images."""

from __future__ import annotations

import sys
from functools import cached_property, partial
from pathlib import Path

import torch
from torch import Tensor

from aswd.data.image_configs import ImageFolderConfig
from aswd.data.image_files import SPLITS, SUFFIXES, decoded, find_copies, find_splits, fingerprint, fitted
from aswd.data.images import ImageData
from aswd.utils.errors import UserError


class ImageFolder(ImageData):
    """The images of a folder; the folders next below the split, where all images are in such, are classes."""

    config_class = ImageFolderConfig

    @property
    def root(self) -> Path:
        """The folder."""
        return Path(self.config.root)

    @property
    def location(self) -> str:
        return str(self.root)

    def prepare_data(self) -> None:
        for split in SPLITS:
            self.images(split)

    def images(self, split: str) -> Tensor:
        c, paths = self.config, self._splits[split]
        key = f"{fingerprint(paths, self.root, times=True)}-{c.size}x{c.size}x{c.channels}"
        cache = Path(c.cache_dir, f"{self.root.resolve().name}-{split}-{key}.npy")
        return decoded(paths, c.channels, c.size, partial(fitted, size=c.size), cache, f"{self.root.name} {split}")

    def labels(self, split: str) -> Tensor | None:
        classes = {split: self._classes(split) for split in SPLITS}
        names = sorted({name for split_names in classes.values() for name in split_names})
        return None if "" in names or len(names) < 2 else torch.tensor([names.index(name) for name in classes[split]])

    def _classes(self, split: str) -> list[str]:
        """The folder of every image next below its split; an empty text for an image that is in none."""
        top = self.root / split if self._has_splits else self.root
        parts = (path.relative_to(top).parts for path in self._splits[split])
        return [part[0] if len(part) > 1 else "" for part in parts]

    @property
    def _has_splits(self) -> bool:
        return all((self.root / split).is_dir() for split in SPLITS)

    @cached_property
    def _splits(self) -> dict[str, list[Path]]:
        c = self.config
        if not c.root or not self.root.is_dir():
            raise UserError(f"data.root must be the folder of the images, as in data.root=DIR; got {c.root!r}, which is no folder")
        splits = find_splits(self.root, c.test_every)
        copies = find_copies(splits["train"], splits["test"])
        if copies:
            names = ", ".join(sorted(str(path.relative_to(self.root)) for path in copies)[:3]) + ", ..." * (len(copies) > 3)
            print(f"aswd: {len(copies)} images of {self.root} are not trained on: the test split has copies: {names}", file=sys.stderr)
            splits["train"] = [path for path in splits["train"] if path not in copies]
        total = sum(map(len, splits.values()))
        if total == 0:
            kinds = ", ".join(sorted(suffix.lstrip(".") for suffix in SUFFIXES))
            raise UserError(f"data.root must be a folder with images ({kinds}); {self.root} has none")
        for split, paths in splits.items():
            if not paths:
                where = f"; {self.root / split} is empty" if self._has_splits else ""
                raise UserError(f"data.root must have images to train on and others to test on; {self.root} has {total}{where}")
        return splits
