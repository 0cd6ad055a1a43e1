"""The protocol of the leaderboard, as its artifact declares it: who is compared, on what, and how each is tuned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from aswd.artifacts.declaration import Artifact, Series
from aswd.config.composition import group_options
from aswd.distances import available
from aswd.utils.checks import nearest
from aswd.utils.errors import UserError


@dataclass(frozen=True)
class Discipline:
    """One of the tasks on which distances are compared.

    Args:
        name: of the discipline.
        task: whose runs it consists of.
        settings: data sets and the like, by name, as overrides.
        tuned_on: the settings on which methods are tuned; none: nothing is tuned.
        scales: overrides by scale.
        overrides: of all settings.
        metric: by whose final value methods are compared; smaller is better.
        lr_factor: on the learning rates of the grid.
        num_projections: numbers of directions, each a setting of its own; default: that of the scale.
        is_ranked: whether it counts for the overall rank.
    """

    name: str
    task: str
    settings: dict[str, list[str]]
    tuned_on: list[str]
    scales: dict[str, list[str]]
    overrides: list[str] = field(default_factory=list)
    metric: str = "w2"
    lr_factor: float = 1.0
    num_projections: list[int] = field(default_factory=list)
    is_ranked: bool = True


@dataclass(frozen=True)
class Setting:
    """One data set of a discipline, or the like.

    Args:
        name: of the setting.
        overrides: of its runs, without those of distances.
        num_projections: directions of the distances that have this option.
        tunes: whether methods are tuned on it.
    """

    name: str
    overrides: tuple[str, ...]
    num_projections: int | None
    tunes: bool


@dataclass(frozen=True)
class Point:
    """A point of the grid: the learning rate, and a value of the method's own option."""

    lr: float | None = None
    option: str | None = None
    value: Any = None

    def __str__(self) -> str:
        parts = [f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in self.options.items()]
        return " ".join(parts) or "as it is"

    @property
    def options(self) -> dict[str, Any]:
        """What it sets, by name."""
        given = {"lr": self.lr} if self.lr is not None else {}
        return {**given, **({f"distance.{self.option}": self.value} if self.option is not None else {})}


@dataclass(frozen=True)
class Claim:
    """A published advantage: the method ``better`` ends below the method ``worse``."""

    name: str
    text: str
    better: str
    worse: str


@dataclass(frozen=True)
class Protocol:
    """Everything that is decided before the first run.

    Args:
        methods: distances with overrides, under their labels.
        disciplines: what they are compared on.
        settings: of every discipline.
        grid: learning rates.
        tuned: values of the own option of distances.
        seeds: those that count.
        tuning_seeds: those on which methods are tuned; disjoint from ``seeds``.
        max_features: of a projection.
        claims: that are judged.
    """

    methods: tuple[Series, ...]
    disciplines: tuple[Discipline, ...]
    settings: dict[str, tuple[Setting, ...]]
    grid: tuple[float, ...]
    tuned: dict[str, dict[str, list[Any]]]
    seeds: tuple[int, ...]
    tuning_seeds: tuple[int, ...]
    max_features: int
    claims: tuple[Claim, ...]

    def points(self, discipline: Discipline, method: Series) -> list[Point]:
        """The grid of a method: as many points for all, but for a discipline without tuning, which has one."""
        if not discipline.tuned_on:
            return [Point()]
        rates = [discipline.lr_factor * lr for lr in self.grid]
        for option, values in self.tuned.get(method.distance, {}).items():
            return [Point(lr, option, value) for lr in rates[:: len(values)] for value in values]
        return [Point(lr) for lr in rates]


def protocol(
    artifact: Artifact, scale: str, only: Sequence[str] = (), tasks: Sequence[str] = (), config_dirs: Sequence[str] = ()
) -> Protocol:
    """The protocol at a scale.

    Args:
        artifact: with its ``options``.
        scale: of the artifact.
        only: distances, or labels of series; default: all.
        tasks: names of disciplines; default: all.
        config_dirs: folders of the user's, which may have distances.

    Raises:
        UserError: an unknown distance or discipline, or the artifact's file is not valid.
    """
    options, effort = artifact.options, artifact.scale(scale)
    names = effort.data or artifact.data
    for name in tasks:
        if name not in names:
            raise UserError(f"--tasks must name tasks of the leaderboard; got {name!r}: {nearest(name, names)}")
    disciplines = tuple(_discipline(artifact, name) for name in names if not tasks or name in tasks)
    most = options.get("settings", {}).get(scale)
    overrides = options.get("overrides", {})
    methods = [
        Series(method.label, method.distance, (*overrides.get(method.distance, ()), *method.overrides))
        for method in _methods(artifact, only, config_dirs)
    ]
    held_out = options["tuning_seeds"]
    tuned, grid = options.get("tuned", {}), tuple(options["lr"][scale])
    for distance, given in tuned.items():
        if len(given) != 1 or any(not isinstance(values, list) or len(grid) % len(values) for values in given.values()):
            raise UserError(
                f"{artifact.file}: options.tuned.{distance} must be one option with values whose number divides {len(grid)}; got {given}"
            )
    if held_out["first"] < effort.seeds:
        raise UserError(f"{artifact.file}: options.tuning_seeds.first must be at least {effort.seeds}, the seeds that count")
    return Protocol(
        methods=tuple(methods),
        disciplines=disciplines,
        settings={d.name: _settings(d, scale, effort.num_projections, most) for d in disciplines},
        grid=grid,
        tuned=tuned,
        seeds=tuple(range(effort.seeds)),
        tuning_seeds=tuple(range(held_out["first"], held_out["first"] + held_out[scale])),
        max_features=options["max_features"],
        claims=tuple(Claim(name, **content) for name, content in options.get("claims", {}).items()),
    )


def _methods(artifact: Artifact, only: Sequence[str], config_dirs: Sequence[str]) -> list[Series]:
    """All registered distances, and the artifact's series beside those that they are variants of; or those that are chosen."""
    names = available()
    listed = [Series(name, name) for name in names] + list(artifact.series)
    if not only:
        return sorted(listed, key=lambda method: names.index(method.distance))
    known = {method.label: method for method in listed}
    known |= {name: Series(name, name) for name in group_options("distance", tuple(config_dirs)) if name not in known}
    for name in only:
        if name not in known:
            raise UserError(f"--only must name distances; got {name!r}: {nearest(name, known)} (plugins=FILE.py brings your own)")
    return [known[name] for name in dict.fromkeys(only)]


def _discipline(artifact: Artifact, name: str) -> Discipline:
    given = artifact.options.get("tasks", {})
    if name not in given:
        raise UserError(f"{artifact.file}: data must name tasks of options.tasks; got {name!r}: {nearest(name, given)}")
    known = [f.name for f in fields(Discipline) if f.name != "name"]
    for key in given[name]:
        if key not in known:
            raise UserError(f"{artifact.file}: options.tasks.{name}.{key} is not an option: {nearest(key, known)}")
    discipline = Discipline(name=name, **given[name])
    for setting in discipline.tuned_on:
        if setting not in discipline.settings:
            known = nearest(setting, discipline.settings)
            raise UserError(f"{artifact.file}: options.tasks.{name}.tuned_on must name its settings; got {setting!r}: {known}")
    return discipline


def _settings(discipline: Discipline, scale: str, num_projections: int | None, most: int | None) -> tuple[Setting, ...]:
    """At most ``most`` settings, the first ones, of which the first are tuned on."""
    counts = discipline.num_projections[:most] or [num_projections]
    settings = []
    for name, own in list(discipline.settings.items())[:most]:
        overrides = (*discipline.overrides, *own, *discipline.scales.get(scale, ()))
        for count in counts:
            label = f"{name} L={count}" if discipline.num_projections else name
            settings.append(Setting(label, overrides, count, name in discipline.tuned_on))
    return tuple(settings)
