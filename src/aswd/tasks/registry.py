"""Tasks by name; nothing is imported before it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aswd.utils.imports import import_objects

if TYPE_CHECKING:
    from aswd.tasks.base import Task

TASKS: dict[str, tuple[str, str]] = {  # name -> class, configuration class
    "barycenter": ("aswd.tasks.barycenter:Barycenter", "aswd.tasks.configs:BarycenterConfig"),
    "flow": ("aswd.tasks.flow:Flow", "aswd.tasks.configs:FlowConfig"),
    "gan": ("aswd.tasks.gan:Gan", "aswd.tasks.configs:GanConfig"),
    "generator": ("aswd.tasks.generator:PixelGenerator", "aswd.tasks.configs:GeneratorConfig"),
    "swae": ("aswd.tasks.swae:Swae", "aswd.tasks.configs:SwaeConfig"),
    "color_transfer": ("aswd.tasks.color_transfer:ColorTransfer", "aswd.tasks.configs:ColorTransferConfig"),
}


def task_class(name: str) -> type[Task]:
    """The class of the task ``name``."""
    return import_objects(TASKS[name][0])[0]


def task_settings(name: str) -> type:
    """The configuration class of the task ``name``."""
    return import_objects(TASKS[name][1])[0]
