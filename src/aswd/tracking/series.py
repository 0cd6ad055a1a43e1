"""The runs of an artifact, by the keys of their configurations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aswd.artifacts.cells import cells
from aswd.artifacts.kinds import needs_no_runs
from aswd.artifacts.page import Page
from aswd.utils.errors import UserError


@dataclass(frozen=True)
class Member:
    """A cell of an artifact: its data, the label of its series, the distance and the key of its runs."""

    data: str
    label: str
    distance: str
    key: str
    folder: Path


def members(page: Page) -> list[Member]:
    """The cells of an artifact with the options that it was reproduced with.

    Raises:
        UserError: no such scale, reading or option, or it has no runs.
    """
    artifact = page.artifact
    artifact.scale(page.scale)
    if needs_no_runs(artifact.draw):
        raise UserError(f"{artifact.name} has no runs that W&B could show: it is measured without any")
    found = cells(artifact, page.scale, page.reading, str(page.output_dir), page.overrides)
    return [Member(cell.data, cell.label, cell.spec.distance_name, cell.spec.key, cell.spec.folder) for cell in found]


def labels(page: Page) -> dict[str, dict[str, str]]:
    """By key: the artifact, and the label that its runs have in it."""
    return {member.key: {page.artifact.name: member.label} for member in members(page)}
