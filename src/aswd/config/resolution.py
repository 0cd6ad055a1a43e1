"""From a composed Hydra configuration to a run that is known to make sense."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from aswd.config.run import PathConfig, RunConfig, TrainerConfig
from aswd.data.registry import DATA, data_settings
from aswd.distances import READINGS, available, build, options, resolved_options
from aswd.launchers.registry import LAUNCHERS, launcher_config
from aswd.tasks.registry import TASKS, task_class, task_settings
from aswd.tracking.configs import LoggerConfig
from aswd.utils.checks import check_at_least, check_choice, nearest
from aswd.utils.errors import UserError


def resolve(config: DictConfig) -> RunConfig:
    """The run that a composed configuration asks for.

    Raises:
        UserError: it asks for something that is not there or makes no sense.
    """
    known = {"task", "data", "distance", "trainer", "logger", "launcher", "paths", "reading", "seed", "replicas", "force"}
    chosen = OmegaConf.select(config, "data.name")
    short = getattr(data_settings(chosen), "short", ()) if chosen in DATA else ()  # options of the data with a name at the top too
    for name in config:
        if name not in known and name not in short:
            raise UserError(f"{name} is not an option: {nearest(name, [*known, *short])}")
    for name in sorted(known):
        if name not in config or OmegaConf.is_missing(config, name):
            raise UserError(f"{name} must be given a value")
    task = _section(config, "task", _named(config, "task", TASKS, task_settings))
    data = _section(config, "data", _named(config, "data", DATA, data_settings))
    _check_kind(task, data)
    trainer, logger, paths = (
        _section(config, name, schema) for name, schema in (("trainer", TrainerConfig), ("logger", LoggerConfig), ("paths", PathConfig))
    )
    _check_devices(task, trainer)
    launcher = _section(config, "launcher", _named(config, "launcher", LAUNCHERS, launcher_config))
    top = _section(OmegaConf.create({"run": {name: config[name] for name in ("reading", "seed", "replicas", "force")}}), "run", _Top)
    task = _read(task, data, top.reading)
    name, distance = _distance(config, task, data, top.reading)
    seeds = tuple(range(top.seed, top.seed + top.replicas))
    return RunConfig(task, data, name, distance, top.reading, seeds, trainer, logger, paths, top.force, launcher)


@dataclass
class _Top:
    reading: str
    seed: int
    replicas: int
    force: bool

    def __post_init__(self) -> None:
        check_choice("reading", self.reading, READINGS)
        check_at_least("seed", self.seed, 0, whole=True)
        check_at_least("replicas", self.replicas, 1, whole=True)
        if self.seed + self.replicas > 2**32:
            raise ValueError(f"seed must leave the last replica's seed below 2^32; got seed {self.seed} with {self.replicas} replicas")


_KINDS = {
    "int": "a whole number",
    "int | None": "a whole number or null",
    "float": "a number",
    "float | None": "a number or null",
    "bool": "true or false",
    "bool | None": "true, false or null",
    "str": "a text",
    "str | None": "a text or null",
    "list[float]": "a list of numbers",
    "list[float] | None": "a list of numbers or null",
    "list[str]": "a list of texts",
    "dict[str, Any]": "a group of options, as in {qos: long}",
}


def _named(config: DictConfig, section: str, known: dict[str, Any], schema_of: Any) -> type:
    name = OmegaConf.select(config, f"{section}.name")
    if name not in known:
        raise UserError(f"{section} must be a known name; got {name!r}: {nearest(str(name), known)}")
    return schema_of(name)


def _check_kind(task: Any, data: Any) -> None:
    """A flow has no use for photographs."""
    wanted = task_class(task.name).data_kind
    if data.kind != wanted:
        fitting = [name for name in DATA if data_settings(name).kind == wanted]
        raise UserError(f"data must be one of {', '.join(fitting)} for task={task.name}; got {data.name!r}")


def _check_devices(task: Any, trainer: TrainerConfig) -> None:
    """Several processes share a batch in equal parts."""
    if trainer.devices == 1:
        return
    if not task_class(task.name).several_devices:
        raise UserError(f"trainer.devices must be 1 for task={task.name}, whose batches are not shared; got {trainer.devices}")
    if task.batch_size % trainer.devices:
        raise UserError(f"task.batch_size must be a multiple of trainer.devices, {trainer.devices}; got {task.batch_size}")


def _section(config: DictConfig, section: str, schema: type) -> Any:
    """The settings of a section, typed and checked."""
    given, names = config[section], [f.name for f in fields(schema)]
    prefix = "" if section == "run" else f"{section}."
    if not OmegaConf.is_dict(given):
        raise UserError(f"{section} must be the name of a configuration; got {given!r}")
    for name in given:
        if name not in names:
            raise UserError(f"{prefix}{name} is not an option: {nearest(name, names)}")
    typed = OmegaConf.structured(schema)
    for name in given:
        try:
            typed[name] = given[name]
        except OmegaConfBaseException:
            kind = next(f.type for f in fields(schema) if f.name == name)
            raise UserError(f"{prefix}{name} must be {_KINDS.get(kind, kind)}; got {OmegaConf.to_container(given)[name]!r}") from None
    try:
        return OmegaConf.to_object(typed)
    except ValueError as error:
        raise UserError(f"{prefix}{error}") from None
    except OmegaConfBaseException as error:
        raise UserError(f"{section} is not complete: {str(error).splitlines()[0]}") from None


def _read(task: Any, data: Any, reading: str) -> Any:
    """The settings of a task, those that are null as the reading has them for the data."""
    given = task_class(task.name).reading_defaults(reading, data.name)
    return replace(task, **{name: value for name, value in given.items() if getattr(task, name) is None})


def _distance(config: DictConfig, task: Any, data: Any, reading: str) -> tuple[str, dict[str, Any]]:
    """Name and options of the distance: the user's over the task's over the reading's."""
    section = OmegaConf.to_container(config.distance, resolve=True)
    name = section.pop("name", None)
    if name not in available():
        raise UserError(f"distance must be a known name; got {name!r}: {nearest(str(name), available())}")
    given = {option: value for option, value in section.items() if value is not None}
    if "seed" in given:
        raise UserError(f"distance.seed must be left to the run, whose seed it is; got {given['seed']!r}: use seed={given['seed']}")
    known = options(name)
    for option in given:
        if option not in known:
            raise UserError(f"distance.{option} is not an option of {name}: {nearest(option, known)}")
    try:
        resolved = resolved_options(name, reading=reading, **{**task_class(task.name).distance_defaults(name, reading), **given})
        distance = build(name, reading=reading, **resolved)
    except (TypeError, ValueError) as error:
        raise UserError(f"distance.{error}" if str(error).split(" ")[0] in known else f"distance: {error}") from None
    try:
        task_class(task.name).check(task, data, distance)
    except ValueError as error:
        raise UserError(f"{error}") from None
    return name, resolved
