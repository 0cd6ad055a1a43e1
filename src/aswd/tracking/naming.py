"""What a run is called in W&B: the same for a live run and for one that is replayed from the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aswd.config.changes import changed_options, options_text
from aswd.config.run import RunConfig
from aswd.runs.store import batch_name


@dataclass(frozen=True)
class Names:
    """Id, name, group, job type and tags of a run of one or more seeds."""

    task: str
    data: str
    distance: str
    key: str
    seeds: Sequence[int]
    reading: str
    changes: str = ""

    @classmethod
    def of(cls, run: RunConfig) -> Names:
        """Those of a run; the name has the options in which it differs from what task, data set, distance and reading give."""
        changes = options_text(changed_options(run))
        return cls(run.task.name, run.data.name, run.distance_name, run.key, run.seeds, run.reading, changes)

    @property
    def id(self) -> str:
        """By key and seed, however often the run is repeated or resumed; a batch of seeds has an id of its own."""
        return f"{self.key}-{batch_name(self.seeds).replace('=', '-')}"

    @property
    def name(self) -> str:
        """The name that W&B shows."""
        seeds = f"seed {self.seeds[0]}" if len(self.seeds) == 1 else f"seeds {self.seeds[0]}-{self.seeds[-1]}"
        return " ".join(part for part in (self.task, self.data, self.distance, self.changes, seeds) if part)

    @property
    def group(self) -> str:
        """Shared by the seeds of one configuration: what W&B averages over."""
        return f"{self.task}/{self.data}/{self.distance}/{self.key}"

    @property
    def job_type(self) -> str:
        """The task. A batch, whose curve is a mean already, has a type of its own, so that it is not averaged with its seeds."""
        return self.task if len(self.seeds) == 1 else f"{self.task} batch"

    @property
    def tags(self) -> list[str]:
        """What to filter by."""
        return [self.task, self.data, self.distance, self.reading]


def label_of(artifact: str) -> str:
    """The entry of a run's configuration that says which series of an artifact it belongs to."""
    return f"series_{artifact}"
