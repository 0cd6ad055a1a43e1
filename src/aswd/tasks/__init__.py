"""Tasks: the experiments of the paper, each a LightningModule that is handed a distance."""

from aswd.tasks.registry import TASKS, task_class, task_settings

__all__ = ["TASKS", "task_class", "task_settings"]
