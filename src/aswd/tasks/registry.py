"""Tasks by name; nothing is imported before it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aswd.utils.imports import import_objects

if TYPE_CHECKING:
    from aswd.tasks.base import Task

TASKS: dict[str, str] = {
    "barycenter": "aswd.tasks.barycenter:Barycenter:BarycenterConfig",
    "flow": "aswd.tasks.flow:Flow:FlowConfig",
    "gan": "aswd.tasks.gan:Gan:GanConfig",
    "generator": "aswd.tasks.generator:PixelGenerator:GeneratorConfig",
    "swae": "aswd.tasks.swae:Swae:SwaeConfig",
    "color_transfer": "aswd.tasks.color_transfer:ColorTransfer:ColorTransferConfig",
}


def task_class(name: str) -> type[Task]:
    """The class of the task ``name``."""
    return import_objects(TASKS[name])[0]


def task_settings(name: str) -> type:
    """The settings class of the task ``name``."""
    return import_objects(TASKS[name])[1]
