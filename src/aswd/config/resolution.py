"""From a composed Hydra configuration to a run that is known to make sense."""

from __future__ import annotations

import typing
from dataclasses import fields
from functools import partial
from types import NoneType, UnionType
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from aswd.config.checks import check_kind, check_together
from aswd.config.groups import distance_schema, launchers, loggers, option_names
from aswd.config.memory import PER_RUN, check_fits
from aswd.config.run import RunConfig
from aswd.config.schemas import PathConfig, TopConfig, TrainerConfig, check_not_renamed
from aswd.config.targets import DISTANCE_TARGETS, check_target, import_target
from aswd.data.registry import DATA
from aswd.distances import available, options, register
from aswd.tasks.registry import TASKS
from aswd.utils.checks import nearest, shown
from aswd.utils.errors import UserError
from aswd.utils.plugins import load_plugins
from aswd.utils.registry import Registry

SECTIONS = ("task", "data", "distance", "trainer", "callbacks", "logger", "launcher", "paths")
TOP = ("reading", "seed", "replicas", "force", "plugins")


def resolve(config: DictConfig, choices: dict[str, Any] | None = None) -> RunConfig:
    """The run that a composed configuration describes.

    Args:
        config: with all groups.
        choices: what was chosen in every group: the name of a section with a ``_target_`` that does not give one.

    Raises:
        UserError: something in it is unknown, missing or not allowed.
    """
    for name in config:
        if name not in (*SECTIONS, *TOP):
            check_not_renamed(name)
            raise UserError(f"{name} is not an option: {nearest(name, [*SECTIONS, *TOP])}")
    for name in sorted((*SECTIONS, *TOP)):
        if name not in config or OmegaConf.is_missing(config, name):
            raise UserError(f"{name} must be given a value")
    choices = choices or {}
    top = _typed("", {name: config[name] for name in TOP}, TopConfig)
    check_fits(f"replicas={top.replicas}", {"records": PER_RUN * top.replicas})
    task = _named_section(config, "task", TASKS, choices.get("task"))
    data = _named_section(config, "data", DATA, choices.get("data"))
    check_kind(task, data)
    trainer, paths = _section(config, "trainer", TrainerConfig), _section(config, "paths", PathConfig)
    launcher = _named_section(config, "launcher", launchers(), choices.get("launcher"))
    name, distance = _distance(config, choices.get("distance"))
    run = RunConfig(
        task=task,
        data=data,
        distance_name=name,
        distance=distance,
        reading=top.reading,
        seeds=tuple(range(top.seed, top.seed + top.replicas)),
        trainer=trainer,
        launcher=launcher,
        callbacks=_targets(config, "callbacks", None),
        loggers=_targets(config, "logger", loggers()),
        paths=paths,
        force=top.force,
        plugins=tuple(top.plugins),
    )
    check_together(run)
    return run


def from_plain(content: dict[str, Any]) -> RunConfig:
    """The run whose :meth:`~aswd.config.run.RunConfig.plain` this is, in any process."""
    content = dict(content)
    load_plugins(content["plugins"])
    seeds = content.pop("seeds", None)
    run = resolve(OmegaConf.create(content if seeds is None else {**content, "seed": seeds[0], "replicas": 1}))
    return run if seeds is None else run.with_seeds(seeds)


def check_type(option: str, kind: Any, value: Any) -> str:
    """The sentence on a value that is not of the type of its option."""
    return f"{option} must be {describe_type(kind)}; got {shown(value)}"


def describe_type(kind: Any) -> str:
    """A type in words.

    >>> describe_type(int | None), describe_type(list[float])
    ('a whole number or null', 'a list of numbers')
    """
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", NoneType: "null", dict: "a group of options"}
    if typing.get_origin(kind) in (UnionType, typing.Union):
        parts = [describe_type(part) for part in typing.get_args(kind)]
        return " or ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])} or {parts[-1]}"
    if typing.get_origin(kind) is list:
        return {float: "a list of numbers", int: "a list of whole numbers", str: "a list of texts"}.get(typing.get_args(kind)[0], "a list")
    return words.get(typing.get_origin(kind) or kind, "another value")


def _typed(prefix: str, given: Any, schema: type) -> Any:
    """The options of a section, typed and checked."""
    names, hints = option_names(schema), typing.get_type_hints(schema)
    for name in given:
        if name not in names:
            check_not_renamed(f"{prefix}{name}")
            raise UserError(f"{prefix}{name} is not an option: {nearest(name, names)}")
    typed = OmegaConf.structured(schema)
    for name in given:
        try:
            typed[name] = given[name]
        except OmegaConfBaseException:
            value = OmegaConf.to_container(given)[name] if OmegaConf.is_config(given) else given[name]
            raise UserError(check_type(f"{prefix}{name}", hints[name], value)) from None
    missing = [name for name in names if OmegaConf.is_missing(typed, name)]
    if missing:
        raise UserError(f"{prefix}{missing[0]} must be given a value")
    try:
        return OmegaConf.to_object(typed)
    except ValueError as error:
        raise UserError(f"{prefix}{error}") from None
    except OmegaConfBaseException as error:
        raise UserError(f"{prefix.rstrip('.')}: {str(error).splitlines()[0]}") from None


def _section(config: DictConfig, section: str, schema: type) -> Any:
    if not OmegaConf.is_dict(config[section]):
        raise UserError(f"{section} must be the name of a configuration; got {shown(config[section])}")
    return _typed(f"{section}.", config[section], schema)


def _named_section(config: DictConfig, section: str, registry: Registry, choice: Any) -> Any:
    """A section whose ``name`` or ``_target_`` says which options it has."""
    given = config[section]
    if not OmegaConf.is_dict(given):
        raise UserError(f"{section} must be the name of a configuration; got {shown(given)}")
    name = given.get("name")
    if "_target_" in given:
        target, given = import_target(f"{section}._target_", given["_target_"]), _without_target(given)
        name = str(name or choice or target.__name__)
        given["name"] = name
        if name not in registry or registry.target(name) is not target:
            _register(partial(registry.register, is_listed=False), name, target, section)
    if name not in registry:
        raise UserError(f"{section} must be a known name; got {shown(name)}: {nearest(str(name), registry)}")
    return _typed(f"{section}.", given, registry.config(name))


def _distance(config: DictConfig, choice: Any) -> tuple[str, dict[str, Any]]:
    """Name and options of the distance."""
    given = config.distance
    if not OmegaConf.is_dict(given):
        raise UserError(f"distance must be the name of a configuration; got {shown(given)}")
    name = given.get("name")
    if "_target_" in given:
        target, given = import_target("distance._target_", given["_target_"]), _without_target(given)
        name = str(name or choice or target.__name__)
        _register(register, name, target, "distance")
        DISTANCE_TARGETS[name] = str(config.distance["_target_"])
    if name not in available():
        raise UserError(f"distance must be a known name; got {shown(name)}: {nearest(str(name), available())}")
    if given.get("seed") is not None:
        raise UserError(f"distance.seed must be left to the run, whose seed it is; got {given['seed']!r}: use seed={given['seed']}")
    for option in given:
        if option not in ("name", *options(name)):
            check_not_renamed(f"distance.{option}")
            raise UserError(f"distance.{option} is not an option of {name}: {nearest(option, options(name))}")
    typed = _typed("distance.", {key: value for key, value in given.items() if key not in ("name", "seed")}, distance_schema(name))
    values = {f.name: getattr(typed, f.name) for f in fields(typed) if f.name != "name"}
    return name, ({**values, "seed": None} if "seed" in options(name) else values)


def _targets(config: DictConfig, group: str, registry: Registry | None) -> dict[str, Any]:
    """Callbacks or loggers by name: options of one of ours, or a ``_target_`` with its arguments."""
    given = config[group]
    if given is None:
        return {}
    if not OmegaConf.is_dict(given):
        raise UserError(f"{group} must be a group of configurations; got {shown(given)}")
    nodes: dict[str, Any] = {}
    for name, node in given.items():
        if OmegaConf.is_dict(node) and "_target_" in node:
            nodes[name] = OmegaConf.to_container(node, resolve=True)
            check_target(f"{group}.{name}", nodes[name], {"callbacks": "on_train_start", "logger": "log_metrics"}[group])
        elif registry is not None and name in registry:
            nodes[name] = _typed(f"{group}.{name}.", node, registry.config(name))
        elif node is not None:
            check_not_renamed(f"{group}.{name}")
            raise UserError(
                f"{group}.{name} must have a _target_, as in +{group}.{name}._target_=my_module.MyClass; got {shown(_plain(node))}"
            )
    return nodes


def _without_target(given: DictConfig) -> dict[str, Any]:
    return {key: value for key, value in OmegaConf.to_container(given, resolve=True).items() if key != "_target_"}


def _register(add: Any, name: str, target: Any, section: str) -> None:
    try:
        add(name)(target)
    except ValueError as error:
        raise UserError(f"{section}.name: {error}") from None


def _plain(node: Any) -> Any:
    return OmegaConf.to_container(node) if isinstance(node, DictConfig | ListConfig) else node
