"""The cells of an artifact, one per data set and series: their run configurations, and the results in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aswd.artifacts.declaration import Artifact, Scale, Series
from aswd.artifacts.groups import Runs
from aswd.config import config_dir
from aswd.config.composition import CommandLine, plan_runs, register_plugins
from aswd.config.published import load_rules, published_task
from aswd.config.run import RunConfig
from aswd.data.registry import DATA
from aswd.distances import READINGS, available, options
from aswd.runs import Run
from aswd.utils.errors import UserError
from aswd.utils.plugins import config_dirs as plugin_config_dirs
from aswd.utils.progress import progress_bar

_OF_THE_ARTIFACT = ("task", "data", "distance", "reading")  # groups that an override must not replace


@dataclass(frozen=True)
class Cell(Runs):
    """One data set and one series of an artifact: the runs of all seeds."""

    data: str
    label: str
    config: RunConfig

    @property
    def runs(self) -> dict[int, Run]:
        """The records of all seeds."""
        return {seed: Run.of(self.config, seed) for seed in self.config.seeds}


def cells(artifact: Artifact, scale: str, reading: str, overrides: Sequence[str] = (), config_dirs: Sequence[str] = ()) -> list[Cell]:
    """Compose and check all cells of an artifact, series by series.

    Args:
        artifact: what is declared.
        scale: one of its scales.
        reading: of the paper.
        overrides: the user's, for all cells.
        config_dirs: folders with further configurations.

    Raises:
        UserError: an override is not valid, or something in the artifact's file.
    """
    for override in overrides:
        if override.lstrip("+~").partition("=")[0] in _OF_THE_ARTIFACT:  # cells would have the wrong labels
            raise UserError(
                f"{override} must be left out: {artifact.name} has its own; aswd train runs others, --reading is for the reading"
            )
    composer = _Composer(artifact, artifact.scale(scale), reading, list(overrides), tuple(config_dirs))
    shown = composer.scale.data or artifact.data
    composed: list[Cell] = []
    with progress_bar(total=len(artifact.series) * len(shown), what="configurations", unit="cell") as bar:
        for series in artifact.series:
            previous: RunConfig | None = None
            for data in shown:
                if previous is not None and composer.differ_in_name_only(previous, data, series):
                    previous = replace(previous, data=replace(previous.data, name=data))
                else:
                    previous = composer.compose(series, data)
                composed.append(Cell(data, series.label, previous))
                bar.update()
    return composed


class _Composer:
    """Composes the run configurations of an artifact."""

    def __init__(self, artifact: Artifact, scale: Scale, reading: str, overrides: list[str], config_dirs: tuple[str, ...]) -> None:
        self.artifact, self.scale, self.reading = artifact, scale, reading
        self.overrides, self.config_dirs = overrides, config_dirs
        self._plugins = [override for override in overrides if override.lstrip("+").startswith("plugins=")]
        register_plugins(CommandLine(self._plugins))
        if reading not in READINGS:
            plan_runs(CommandLine([f"reading={reading}"], config_dirs=config_dirs))  # raises, unless a folder of the user's has it
        published = config_dir() / "published" / f"{artifact.task}.yaml"
        self._rules = load_rules(published) if published.exists() else []
        folders = [config_dir(), *plugin_config_dirs(), *map(Path, config_dirs)]
        self._data_files = {
            path.stem for folder in folders for group in ("data", "published_task") for path in (folder / group).rglob("*.yaml")
        }

    def compose(self, series: Series, data: str) -> RunConfig:
        """The runs of one cell."""
        has_reading = any(override.startswith("reading=") for override in series.overrides)
        own = [f"task={self.artifact.task}", *([] if has_reading else [f"reading={self.reading}"]), f"replicas={self.scale.seeds}"]
        own += [f"data={data}", f"distance={series.distance}", *self.scale.overrides]
        if self.scale.num_projections is not None:
            # A distance that only a file of the user's declares is registered when it is composed.
            known = options(series.distance) if series.distance in available() else self._plan([*own, *series.overrides]).distance
            own += [f"++distance.num_projections={self.scale.num_projections}"] if "num_projections" in known else []
        return self._plan([*own, *series.overrides])

    def differ_in_name_only(self, config: RunConfig, data: str, series: Series) -> bool:
        """Whether the configuration for another data set differs in its name only, so that it need not be composed: toy targets do."""
        name = config.data.name
        if name not in DATA or data not in DATA or self._data_files & {name, data}:
            return False
        if any("${" in override for override in (*self.overrides, *self.scale.overrides, *series.overrides)):
            return False
        published = [published_task(self._rules, config.reading, each) for each in (name, data)]
        return replace(DATA[name], about="") == replace(DATA[data], about="") and published[0] == published[1]

    def _plan(self, own: list[str]) -> RunConfig:
        try:
            (config,) = plan_runs(CommandLine([*own, *self.overrides], config_dirs=self.config_dirs), registered=True)
        except UserError as error:
            if self.overrides != self._plugins and self._is_valid(own):
                raise
            raise UserError(f"{self.artifact.file}: {error}") from None
        return config

    def _is_valid(self, own: list[str]) -> bool:
        """Whether the overrides of the artifact's file make sense by themselves."""
        try:
            plan_runs(CommandLine([*own, *self._plugins], config_dirs=self.config_dirs), registered=True)
        except UserError:
            return False
        return True
