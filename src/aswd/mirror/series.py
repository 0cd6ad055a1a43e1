"""The runs of an artifact, by the keys of their configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aswd.artifacts.cells import cells
from aswd.artifacts.declaration import Artifact, load
from aswd.errors import UserError


@dataclass(frozen=True)
class Member:
    """A cell of an artifact: its data, the label of its series, the distance and the key of its runs."""

    data: str
    label: str
    distance: str
    key: str
    folder: Path


def members(name: str, scale: str, reading: str, output_dir: Path, overrides: Sequence[str] = ()) -> tuple[Artifact, list[Member]]:
    """The artifact ``name`` and its cells.

    Raises:
        UserError: no such artifact, scale or reading, or it has no runs.
    """
    artifact = load(name)
    artifact.scale(scale)
    if not artifact.task or artifact.draw == "projections":
        raise UserError(f"{name} has no runs that W&B could show: it is measured without any")
    found = cells(artifact, scale, reading, str(output_dir), list(overrides))
    return artifact, [Member(cell.data, cell.label, cell.spec.distance_name, cell.spec.key, cell.spec.folder) for cell in found]


def labels(name: str, scale: str, reading: str, output_dir: Path) -> dict[str, dict[str, str]]:
    """By key: the artifact, and the label that its runs have in it."""
    _, found = members(name, scale, reading, output_dir)
    return {member.key: {name: member.label} for member in found}
