"""Tasks by name; nothing is imported before it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aswd.lookup import look_up

if TYPE_CHECKING:
    from aswd.tasks.base import Task

TASKS: dict[str, str] = {
    "flow": "aswd.tasks.flow:Flow:FlowSettings",
    "gan": "aswd.tasks.gan:Gan:GanSettings",
    "generator": "aswd.tasks.generator:PixelGenerator:GeneratorSettings",
}


def task_class(name: str) -> type[Task]:
    """The class of the task ``name``."""
    return look_up(TASKS[name])[0]


def task_settings(name: str) -> type:
    """The settings class of the task ``name``."""
    return look_up(TASKS[name])[1]
