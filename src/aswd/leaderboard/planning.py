"""The runs of the leaderboard: which methods can be run on which settings, those that tune, and those that count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tqdm import tqdm

from aswd.artifacts.cells import Cell
from aswd.artifacts.declaration import Series
from aswd.config.checks import check_together
from aswd.config.composition import CommandLine, plan_runs
from aswd.config.memory import check_memory
from aswd.config.run import RunConfig
from aswd.distances import available, options
from aswd.leaderboard.protocol import Discipline, Point, Protocol, Setting
from aswd.tasks.registry import task_class
from aswd.utils.errors import UserError


@dataclass(frozen=True)
class Plan:
    """What can be run on a discipline.

    Args:
        discipline: on which methods are compared.
        configs: the runs of a method on a setting, by their names, before tuning.
        left_out: why others cannot be run, likewise.
    """

    discipline: Discipline
    configs: dict[tuple[str, str], RunConfig]
    left_out: dict[tuple[str, str], str]

    def methods(self) -> list[str]:
        """Labels of the methods that can be run on at least one setting."""
        return list(dict.fromkeys(method for method, _ in self.configs))


@dataclass(frozen=True)
class Choice:
    """The result of tuning a method: the score of every point of its grid, NaN where its runs are missing, and the best point."""

    scores: dict[Point, float]

    @property
    def point(self) -> Point:
        """The point of the smallest score, the first of equal ones; infinite and missing scores come last."""
        return min(self.scores, key=lambda point: np.nan_to_num(self.scores[point], nan=np.inf))


def check(protocol: Protocol, reading: str, overrides: Sequence[str] = (), config_dirs: Sequence[str] = ()) -> None:
    """Compose the runs of one distance on all settings.

    Raises:
        UserError: an override is not valid, or something in the artifact's file.
    """
    composer = _Composer(protocol, reading, list(overrides), tuple(config_dirs))
    for discipline in protocol.disciplines:
        composer.base(discipline, protocol.settings[discipline.name][0])


def plan(protocol: Protocol, reading: str, overrides: Sequence[str] = (), config_dirs: Sequence[str] = ()) -> list[Plan]:
    """Compose and check the runs of all methods on all settings.

    Args:
        protocol: who is compared, and on what.
        reading: of the paper.
        overrides: the user's, for all runs.
        config_dirs: folders with configurations of the user's.

    Raises:
        UserError: an override is not valid; or a method can be run nowhere, and why.
    """
    composer = _Composer(protocol, reading, list(overrides), tuple(config_dirs))
    plans = [Plan(discipline, {}, {}) for discipline in protocol.disciplines]
    with tqdm(total=len(plans) * len(protocol.methods), desc="configurations", unit="method", leave=False, delay=3, disable=None) as bar:
        for made in plans:
            settings = protocol.settings[made.discipline.name]
            bases = {setting.name: composer.base(made.discipline, setting) for setting in settings}
            for method in protocol.methods:
                for setting in settings:
                    try:
                        config = composer.compose(made.discipline, method, setting, bases[setting.name])
                    except UserError as error:
                        made.left_out[method.label, setting.name] = str(error)
                    else:
                        made.configs[method.label, setting.name] = config
                bar.update()
    for method in protocol.methods:
        if not any(label == method.label for made in plans for label, _ in made.configs):
            reason = next(reason for made in plans for (label, _), reason in made.left_out.items() if label == method.label)
            raise UserError(f"{method.label} can be run on no task: {reason}")
    return plans


class _Composer:
    """Composes the runs of methods; the options of a distance once for all settings of a task, since that takes a tenth of a second."""

    def __init__(self, protocol: Protocol, reading: str, overrides: list[str], config_dirs: tuple[str, ...]) -> None:
        self.protocol, self.reading, self.overrides, self.config_dirs = protocol, reading, overrides, config_dirs
        self._composed: dict[tuple[str, str], RunConfig] = {}  # by method and task
        self._bases: dict[tuple[str, tuple[str, ...]], RunConfig] = {}  # by task and overrides

    def base(self, discipline: Discipline, setting: Setting) -> RunConfig:
        """The runs of a setting with the distance that can be run everywhere; a mistake here is one of the user's overrides."""
        key = discipline.task, setting.overrides
        if key not in self._bases:
            self._bases[key] = self._plan(discipline, setting, "swd", ())
        return self._bases[key]

    def compose(self, discipline: Discipline, method: Series, setting: Setting, base: RunConfig) -> RunConfig:
        """The runs of a method on a setting, whose data and task are those of ``base``.

        Raises:
            UserError: the method cannot be run there.
        """
        known = self._composed.get((method.label, discipline.task))
        like = known or next((config for (label, _), config in self._composed.items() if label == method.label), None)
        if like is not None:  # what no options make possible, such as another dimension, is known at once
            config = _with_projections(replace(base, distance_name=like.distance_name, distance=like.distance), setting)
            check_together(config)
        if known is None:
            config = _with_projections(self._plan(discipline, setting, method.distance, method.overrides), setting)
            self._composed[method.label, discipline.task] = config
        dim = task_class(config.task.name).problem(config.task, config.data)[3]
        features = getattr(getattr(config.build_distance(), "projection", None), "direction_dim", lambda dim: dim)(dim)
        if features > self.protocol.max_features:
            raise UserError(f"{features:,} features are more than {self.protocol.max_features:,}")
        check_memory(config.with_seeds(self.protocol.seeds))
        return config

    def _plan(self, discipline: Discipline, setting: Setting, distance: str, own: tuple[str, ...]) -> RunConfig:
        first = [f"task={discipline.task}", f"reading={self.reading}", *setting.overrides, f"distance={distance}"]
        if setting.num_projections is not None and distance in available() and "num_projections" in options(distance):
            first.append(f"++distance.num_projections={setting.num_projections}")
        (config,) = plan_runs(CommandLine([*first, *own, *self.overrides], config_dirs=self.config_dirs), registered=True)
        return config


def _with_projections(config: RunConfig, setting: Setting) -> RunConfig:
    """The same with the directions of a setting, if the distance has that option."""
    count = setting.num_projections
    known = count is not None and "num_projections" in config.distance
    return replace(config, distance={**config.distance, "num_projections": count}) if known else config


def at(config: RunConfig, point: Point, seeds: Iterable[int]) -> RunConfig:
    """The runs of some seeds at a point of the grid."""
    changed = config
    if point.lr is not None:
        changed = replace(changed, task=replace(changed.task, lr=point.lr))
    if point.option is not None:
        changed = replace(changed, distance={**changed.distance, point.option: point.value})
    return changed.with_seeds(tuple(seeds))


def tuning_cells(protocol: Protocol, made: Plan) -> dict[tuple[str, Point], list[Cell]]:
    """The runs that tune, by method and point; none of methods that have a single point."""
    cells: dict[tuple[str, Point], list[Cell]] = {}
    tunes = [setting.name for setting in protocol.settings[made.discipline.name] if setting.tunes]
    for method in protocol.methods:
        own = [name for name in tunes if (method.label, name) in made.configs]
        points = protocol.points(made.discipline, method)
        for point in points if len(points) > 1 else []:
            runs = {name: at(made.configs[method.label, name], point, protocol.tuning_seeds) for name in own}
            title = f"{method.label}, {point}"
            cells[method.label, point] = [Cell(f"{made.discipline.name}: {name}", title, config) for name, config in runs.items()]
    return cells


def choose(protocol: Protocol, made: Plan) -> dict[str, Choice]:
    """The choice of every method by its tuning runs.

    The score is the mean over the settings of the median over the seeds of the metric's logarithm; a run that failed counts as infinite.
    """
    cells, metric, choices = tuning_cells(protocol, made), made.discipline.metric, {}
    for method in protocol.methods:
        if method.label in made.methods():
            points = protocol.points(made.discipline, method)
            choices[method.label] = Choice({point: score(cells.get((method.label, point), []), metric) for point in points})
    return choices


def score(cells: list[Cell], metric: str) -> float:
    """Of a point of a grid: the mean over ``cells`` of the median over the seeds of log10 of the metric; NaN while runs are missing."""
    medians = []
    for cell in cells:
        finals, failures = cell.finals(metric), cell.failures()
        values = [finals.get(seed, np.inf if seed in failures else np.nan) for seed in cell.config.seeds]
        with np.errstate(divide="ignore"):
            medians.append(np.median(np.log10(values)))
    return float(np.mean(medians)) if medians else np.nan


def counting_cells(protocol: Protocol, made: Plan, choices: dict[str, Choice]) -> dict[tuple[str, str], Cell]:
    """The runs that count, by method and setting."""
    return {
        (method, setting): Cell(f"{made.discipline.name}: {setting}", method, at(config, choices[method].point, protocol.seeds))
        for (method, setting), config in made.configs.items()
    }
