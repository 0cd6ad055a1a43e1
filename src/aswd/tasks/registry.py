"""Tasks by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aswd.utils.registry import Entry, Registry

if TYPE_CHECKING:
    from aswd.tasks.base import Task

_CONFIGS = "aswd.tasks.configs"
TASKS = Registry(
    "task",
    context=("distance", "seeds"),
    entries={
        "barycenter": Entry(
            "aswd.tasks.barycenter:Barycenter",
            f"{_CONFIGS}:BarycenterConfig",
            "barycenters of point clouds, for all weights at once",
            brings={"data": "shapes"},
        ),
        "color_transfer": Entry(
            "aswd.tasks.color_transfer:ColorTransfer",
            f"{_CONFIGS}:ColorTransferConfig",
            "repaint an image in the colours of another, by the distance between their palettes",
            brings={"data": "photographs"},
        ),
        "estimation": Entry(
            "aswd.tasks.estimation:Estimation",
            f"{_CONFIGS}:EstimationConfig",
            "the error of estimates of SW_2 against its exact value",
            brings={"data": "gaussian_mixture"},
        ),
        "flow": Entry(
            "aswd.tasks.flow:Flow", f"{_CONFIGS}:FlowConfig", "the sliced Wasserstein flow: particles descend the distance to a target"
        ),
        "gan": Entry(
            "aswd.tasks.gan:Gan",
            f"{_CONFIGS}:GanConfig",
            "the sliced GAN on 64 x 64 colour images: the distance acts on features",
            brings={"data": "cifar10"},
        ),
        "generator": Entry(
            "aswd.tasks.generator:PixelGenerator",
            f"{_CONFIGS}:GeneratorConfig",
            "a perceptron that generates images; the distance acts on pixels",
            brings={"data": "mnist"},
        ),
        "swae": Entry(
            "aswd.tasks.swae:Swae",
            f"{_CONFIGS}:SwaeConfig",
            "the sliced Wasserstein autoencoder: BCE + L1 + a distance from the codes to a prior",
            brings={"data": "mnist"},
        ),
    },
)
register = TASKS.register


def task_class(name: str) -> type[Task]:
    """The class of the task ``name``."""
    return TASKS.target(name)


def task_config(name: str) -> type:
    """The dataclass of the options of the task ``name``."""
    return TASKS.config(name)
