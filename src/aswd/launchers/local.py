"""One run after the other, in this process."""

from __future__ import annotations

from dataclasses import dataclass

from aswd.launchers.base import Launcher, LauncherConfig


@dataclass
class LocalConfig(LauncherConfig):
    """One run after the other, in this process."""

    name: str = "local"


class LocalLauncher(Launcher):
    """Executes runs in this process, in order. The progress bars are those of the runs."""

    shows_progress = False

    @property
    def keeps_record(self) -> bool:
        """Whether the sweep is recorded: not where it is a single run."""
        return len(self.runs) > 1

    def execute(self) -> None:
        """Execute the runs in order, until a stop is requested."""
        from aswd.runs.execution import execute_run

        for index, run in enumerate(self.runs):
            if self.is_stopped:
                break
            self.report(index, execute_run(run, self.request))
