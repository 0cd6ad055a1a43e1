"""Data by name: which settings and which data module a name stands for."""

from __future__ import annotations

from typing import Any

from aswd.utils.imports import import_objects

# A name stands for "module:settings:data module"; nothing is imported before it is asked for.
_TOY = "aswd.data.toy:ToyConfig:ToyTargets"
_TOY_NAMES = ("swiss_roll", "moons", "circle", "rectangle", "gaussians_8", "gaussians_25", "knot", "heart")
_PAIR = "aswd.data.photographs:PhotographConfig:Photographs"
_PAIR_NAMES = ("photographs", "china_flower", "astronaut_coffee", "rocket_chelsea")
DATA: dict[str, str] = {
    **dict.fromkeys(_TOY_NAMES, _TOY),
    **dict.fromkeys(("shapes", "solids"), "aswd.data.shapes:ShapesConfig:Shapes"),
    "synthetic": "aswd.data.images:SyntheticConfig:Synthetic",
    **dict.fromkeys(("mnist", "fashion_mnist"), "aswd.data.mnist:MnistConfig:Mnist"),
    "cifar10": "aswd.data.cifar10:Cifar10Config:Cifar10",
    "celeba": "aswd.data.celeba:CelebAConfig:CelebA",
    "image_folder": "aswd.data.image_folder:ImageFolderConfig:ImageFolder",
    **dict.fromkeys(_PAIR_NAMES, _PAIR),
}


def data_settings(name: str) -> type:
    """The settings class of the data ``name``."""
    return import_objects(DATA[name])[0]


def data_module(name: str) -> Any:
    """The data module class of the data ``name``."""
    return import_objects(DATA[name])[1]
