"""Options that have another name than before: the old spelling gives a sentence with the new one."""

from __future__ import annotations

from aswd.utils.errors import UserError

RENAMED = {
    "source": "data.source",
    "target": "data.target",
    "task.pictures": "task.images",
    "trainer.progress": "trainer.enable_progress_bar",
    "logger.name": "logger",
    **{f"logger.{option}": f"logger.wandb.{option}" for option in ("project", "entity", "mode", "tags", "labels", "group")},
}


def check_not_renamed(option: str) -> None:
    """Refuse an option by its former name.

    Raises:
        UserError: names the new one.
    """
    if option in RENAMED:
        raise UserError(f"{option} is now called {RENAMED[option]}")
