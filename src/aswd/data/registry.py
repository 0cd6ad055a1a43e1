"""Data sets by name: their data module and their configuration class."""

from __future__ import annotations

from typing import Any

from aswd.utils.imports import import_objects

_CONFIGS = "aswd.data.configs"
_TOY = ("aswd.data.toy:ToyTargets", f"{_CONFIGS}:ToyConfig")
_TOY_NAMES = ("swiss_roll", "moons", "circle", "rectangle", "gaussians_8", "gaussians_25", "knot", "heart")
_PAIR = ("aswd.data.photographs:Photographs", f"{_CONFIGS}:PhotographConfig")
_PAIR_NAMES = ("photographs", "china_flower", "astronaut_coffee", "rocket_chelsea")
DATA: dict[str, tuple[str, str]] = {  # name -> data module, configuration class; nothing is imported before it is needed
    **dict.fromkeys(_TOY_NAMES, _TOY),
    **dict.fromkeys(("shapes", "solids"), ("aswd.data.shapes:Shapes", f"{_CONFIGS}:ShapesConfig")),
    "points": ("aswd.data.points:PointFiles", f"{_CONFIGS}:PointsConfig"),
    "synthetic": ("aswd.data.images:Synthetic", f"{_CONFIGS}:SyntheticConfig"),
    **dict.fromkeys(("mnist", "fashion_mnist"), ("aswd.data.mnist:Mnist", f"{_CONFIGS}:MnistConfig")),
    "cifar10": ("aswd.data.cifar10:Cifar10", f"{_CONFIGS}:Cifar10Config"),
    "celeba": ("aswd.data.celeba:CelebA", f"{_CONFIGS}:CelebAConfig"),
    "image_folder": ("aswd.data.image_folder:ImageFolder", f"{_CONFIGS}:ImageFolderConfig"),
    **dict.fromkeys(_PAIR_NAMES, _PAIR),
}


def data_settings(name: str) -> type:
    """The configuration class of the data set ``name``."""
    return import_objects(DATA[name][1])[0]


def data_module(name: str) -> Any:
    """The data module class of the data set ``name``."""
    return import_objects(DATA[name][0])[0]
