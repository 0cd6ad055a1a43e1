"""The runs of an artifact, as W&B shows them."""

from __future__ import annotations

from aswd.artifacts.cells import Cell
from aswd.artifacts.reproduction import Reproduction
from aswd.tracking.dashboard import Comparison, Member
from aswd.tracking.naming import Names
from aswd.utils.errors import UserError


def members(reproduction: Reproduction) -> list[Member]:
    """The cells of an artifact with the options that it was reproduced with.

    Raises:
        UserError: the artifact has no runs; there is no such scale, reading or option.
    """
    reproduction.check()
    if reproduction.drawing.draw is None:
        raise UserError(f"{reproduction.artifact.name} has no runs that W&B could show cell by cell")
    return [_member(cell) for cell in reproduction.cells]


def labels(reproduction: Reproduction) -> dict[str, dict[str, str]]:
    """The label of every run in the artifact, by key: ``{key: {artifact: label}}``."""
    return {member.key: {reproduction.artifact.name: member.label} for member in members(reproduction)}


def comparison(reproduction: Reproduction) -> Comparison:
    """The artifact as a dashboard shows it."""
    artifact = reproduction.artifact
    return Comparison(
        name=artifact.name,
        title=artifact.caption,
        setting=reproduction.setting,
        task=artifact.task,
        metric=artifact.metric,
        members=members(reproduction),
        folder=reproduction.folder.name,
        facts={"artifact": artifact.name, "scale": reproduction.scale, "reading": reproduction.reading, "changes": reproduction.changes},
    )


def _member(cell: Cell) -> Member:
    config = cell.config
    names = Names(config.task.name, config.data.name, config.distance_name, config.key, config.seeds, config.reading)
    return Member(cell.data, cell.label, names.group, config.key, config.folder)
