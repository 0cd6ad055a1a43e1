"""Artifacts as their files in ``configs/artifact`` declare them. Adding one is one file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from aswd.config.paths import config_dir
from aswd.utils.checks import nearest
from aswd.utils.errors import UserError

SCALES = ("smoke", "laptop", "paper")


@dataclass(frozen=True)
class Series:
    """One curve, or one column: a distance under the paper's name for it, with overrides."""

    label: str
    distance: str
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scale:
    """How much is run: seeds, directions (where the distance has any number of them), overrides, and perhaps a part of the data only."""

    seeds: int
    num_projections: int
    overrides: tuple[str, ...] = ()
    data: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Artifact:
    """A table or figure of the paper."""

    name: str
    about: str  # in one sentence
    title: str
    number: str  # in the paper; "Study n" for what is ours
    draw: str  # the kind: see aswd.artifacts.kinds
    task: str
    metric: str  # of the final values
    data: tuple[str, ...]
    series: tuple[Series, ...]
    scales: dict[str, Scale]
    claims: tuple[str, ...]
    also: tuple[str, ...] = ()  # further metrics for the table
    published: dict[str, dict[str, Any]] = field(default_factory=dict)  # data -> label -> value, or metric -> value

    def scale(self, name: str) -> Scale:
        """One of its scales.

        Raises:
            UserError: it has none of that name.
        """
        if name not in self.scales:
            raise UserError(f"--scale must be one of {', '.join(self.scales)} for {self.name}; got {name!r}")
        return self.scales[name]

    def published_value(self, data: str, label: str, metric: str) -> float | None:
        """What the paper has in this place, if it can be read off it."""
        value = self.published.get(data, {}).get(label)
        return value.get(metric) if isinstance(value, dict) else value if metric == self.metric else None


def parts(label: str) -> tuple[str, int | None]:
    """Method and number of directions of a label, if it has one.

    >>> parts("GSWD poly 3 L=10"), parts("Exact")
    (('GSWD poly 3', 10), ('Exact', None))
    """
    method, _, count = label.partition(" L=")
    return method, int(count) if count else None


def artifact_names() -> list[str]:
    """Names of all artifacts, in the order of the paper."""
    return [artifact.name for artifact in artifacts()]


def artifacts() -> Iterator[Artifact]:
    """All artifacts, in the order of the paper."""
    found = [load(path.stem) for path in _folder().glob("*.yaml")]
    yield from sorted(found, key=_place)


def _place(artifact: Artifact) -> tuple[int, int, str]:
    """Figures, then tables, then what is ours; parts of a figure, 14a and 14b, in their order."""
    word, number = artifact.number.split()
    return ("Figure", "Table", "Study").index(word), int(number.rstrip("ab")), number


def load(name: str) -> Artifact:
    """The artifact ``name``.

    Raises:
        UserError: there is none of that name, or its file does not make sense.
    """
    path = _folder() / f"{name}.yaml"
    if not path.exists():
        raise UserError(f"there is no artifact {name!r}: {nearest(name, [p.stem for p in _folder().glob('*.yaml')])}")
    content = _content(path)
    known = {f.name for f in fields(Artifact)}
    for key in content:
        if key not in known:
            raise UserError(f"{path.name}: {key} is not part of an artifact: {nearest(key, known)}")
    content["series"] = tuple(_part(path, Series, entry) for entry in content["series"])
    content["scales"] = {scale: _part(path, Scale, entry) for scale, entry in content["scales"].items()}
    content |= {key: tuple(content[key]) for key in ("data", "claims", "also") if key in content}
    try:
        return Artifact(**content)
    except TypeError as error:
        raise UserError(f"{path.name} is not complete: {error}") from None


def _content(path: Path) -> dict[str, Any]:
    """What a file says, over what the one that it is ``like`` says; its scales one by one."""
    text = path.read_text()
    content = yaml.safe_load(text)
    like = content.pop("like", None)
    above = _content(path.with_name(f"{like}.yaml")) if like else {}
    about = text.splitlines()[0].removeprefix("#").strip()
    scales = {**above.get("scales", {}), **content.get("scales", {})}
    return {**above, **content, "scales": scales, "name": path.stem, "about": about}


def _part(path: Path, kind: type, entry: dict[str, Any]) -> Any:
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()})
    except TypeError as error:
        raise UserError(f"{path.name}: {entry} is no {kind.__name__.lower()}: {error}") from None


def _folder() -> Path:
    return config_dir() / "artifact"
