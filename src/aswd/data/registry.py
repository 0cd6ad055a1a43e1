"""Data sets by name."""

from __future__ import annotations

from typing import Any

from aswd.data.targets import TARGETS
from aswd.utils.registry import Entry, Registry

_CONFIGS, _CLOUDS, _IMAGES = "aswd.data.configs", "aswd.data.cloud_configs", "aswd.data.image_configs"


def _toy(about: str) -> Entry:
    return Entry("aswd.data.points:ToyTargets", f"{_CONFIGS}:ToyConfig", about)


def _pair(about: str, **sides: str) -> Entry:
    return Entry("aswd.data.photographs:Photographs", f"{_CONFIGS}:PhotographConfig", about, defaults=sides)


def _shapes(about: str, *shapes: str) -> Entry:
    return Entry("aswd.data.points:Shapes", f"{_CONFIGS}:ShapesConfig", about, defaults={"shapes": list(shapes)})


DATA = Registry(
    "data set",
    context=("seeds",),
    entries={
        **{name: _toy(target.__doc__.splitlines()[0].rstrip(".")) for name, target in TARGETS.items()},
        "shapes": _shapes("point clouds in the plane: shapes by name, from images, meshes or point files", "ring", "heart", "cross"),
        "solids": _shapes("point clouds in space: a sphere, a cube and a torus", "sphere", "cube", "torus"),
        "gaussian_mixture": Entry(
            "aswd.data.points:GaussianMixture", f"{_CONFIGS}:MixtureConfig", "Gaussians around random means, in any dimension: data.dim=100"
        ),
        "points": Entry(
            "aswd.data.points:PointClouds", f"{_CLOUDS}:PointsConfig", "a shape, or a .npy or .csv file of points: data.target=NAME_OR_FILE"
        ),
        "shapenet_clouds": Entry("aswd.data.points:ShapeNetClouds", f"{_CLOUDS}:ShapeNetConfig", "two clouds of 2048 points in space"),
        "synthetic": Entry("aswd.data.images:Synthetic", f"{_IMAGES}:SyntheticConfig", "coloured discs: images without a download"),
        "mnist": Entry("aswd.data.mnist:Mnist", f"{_IMAGES}:MnistConfig", "60 000 and 10 000 handwritten digits, 28 x 28, grey"),
        "fashion_mnist": Entry("aswd.data.mnist:Mnist", f"{_IMAGES}:MnistConfig", "60 000 and 10 000 articles of clothing, 28 x 28, grey"),
        "cifar10": Entry("aswd.data.cifar10:Cifar10", f"{_IMAGES}:Cifar10Config", "50 000 and 10 000 images of ten classes, at 64 x 64"),
        "celeba": Entry("aswd.data.celeba:CelebA", f"{_IMAGES}:CelebAConfig", "162 770 and 19 962 aligned faces, at 64 x 64"),
        "image_folder": Entry("aswd.data.image_folder:ImageFolder", f"{_IMAGES}:ImageFolderConfig", "any folder of images: data.root=DIR"),
        "photographs": _pair("two images, files or built in: data.source=FILE data.target=FILE"),
        "china_flower": _pair("a pagoda in the colours of a dahlia (images of scikit-learn)", source="china", target="flower"),
        "astronaut_coffee": _pair("a portrait in the colours of a cup of coffee", source="astronaut", target="coffee"),
        "rocket_chelsea": _pair("a rocket in the colours of a cat", source="rocket", target="chelsea"),
        "flower_retina": _pair("a dahlia in the colours of a retina", source="flower", target="retina"),
    },
)
register = DATA.register


def data_module(name: str) -> Any:
    """The data module class of the data set ``name``."""
    return DATA.target(name)


def data_config(name: str) -> type:
    """The dataclass of the options of the data set ``name``."""
    return DATA.config(name)
