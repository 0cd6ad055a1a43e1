"""Tasks by name; nothing is imported before it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aswd.tasks.base import Task

TASKS: dict[str, str] = {
    "flow": "aswd.tasks.flow:Flow:FlowSettings",
}


def task_class(name: str) -> type[Task]:
    """The class of the task ``name``."""
    return _find(name)[0]


def task_settings(name: str) -> type:
    """The settings class of the task ``name``."""
    return _find(name)[1]


def _find(name: str) -> tuple[type, type]:
    module, task, settings = TASKS[name].split(":")
    found = import_module(module)
    return getattr(found, task), getattr(found, settings)
