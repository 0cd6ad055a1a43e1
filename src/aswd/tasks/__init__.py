"""Tasks: the experiments of the paper, each a LightningModule that is handed a distance."""

from aswd.utils import torchvision_import

torchvision_import.install()  # before Lightning or torchmetrics import it

from aswd.tasks.registry import TASKS, task_class, task_config

__all__ = ["TASKS", "task_class", "task_config"]
