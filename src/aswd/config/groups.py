"""The groups of the configuration, in Hydra's ConfigStore: every option of ours once, with its type and default."""

from __future__ import annotations

from dataclasses import field, fields, is_dataclass, make_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from aswd.config import config_dir
from aswd.config.published import published_configs
from aswd.config.schemas import PathConfig, TrainerConfig
from aswd.config.targets import DISTANCE_TARGETS
from aswd.data.registry import DATA
from aswd.distances import READINGS, available, option_types, options
from aswd.distances.registry import registrations
from aswd.tasks.registry import TASKS
from aswd.utils.fields import neutral
from aswd.utils.registry import Entry, Registry, import_objects

_LEFT_TO_THE_RUN = ("seed",)  # options of a distance that the run decides
_NEUTRAL = ("validate",)


def launchers() -> Registry:
    """The launchers, by name: their package stands on this one, and is not imported here."""
    return import_objects("aswd.launchers.registry:LAUNCHERS")[0]


def loggers() -> Registry:
    """The loggers, likewise."""
    return import_objects("aswd.tracking.registry:LOGGERS")[0]


_stored: tuple[list[Any], list[Any]] = ([], [])  # what the groups were made of when they were stored: by value, and the very objects


def register_groups() -> None:
    """Store all groups; again after a plug-in has registered more names, and else not: to store takes longer than to compose."""
    global _stored
    folder = config_dir() / "published"
    registries = [TASKS.entries(), DATA.entries(), launchers().entries(), loggers().entries(), registrations()]
    names = [DISTANCE_TARGETS.copy(), *map(list, registries), *((path, path.stat().st_mtime_ns) for path in sorted(folder.glob("*.yaml")))]
    entries = [entry for registry in registries for entry in registry.values()]
    entries += [import_objects(entry.config)[0] for entry in entries if isinstance(entry, Entry) and isinstance(entry.config, str)]
    if names != _stored[0] or any(entry is not former for entry, former in zip(entries, _stored[1], strict=True)):
        _store_groups(folder)
        _stored = names, entries


def _store_groups(published: Path) -> None:
    store = ConfigStore.instance()
    store.__deepcopy__ = lambda memo: store  # Hydra copies it for every composition, which takes longer than all the rest
    for group, registry in (("task", TASKS), ("data", DATA), ("launcher", launchers())):
        for name in registry:
            store.store(name, _node(registry, name), group=group)
    for name in loggers():  # several at once: each under its own name
        store.store(name, {name: _node(loggers(), name)}, group="logger")
    for name in available():
        if name not in DISTANCE_TARGETS:  # which a configuration file of the same name brings
            store.store(name, distance_schema(name), group="distance")
    for reading in READINGS:
        store.store(reading, {"reading": reading}, group="reading", package="_global_")
    for name in ("auto", "cpu", "gpu"):
        node = OmegaConf.structured(TrainerConfig)
        node.accelerator = name
        store.store(name, node, group="trainer")
    store.store("default", PathConfig, group="paths")
    for path, node in published_configs(published, DATA).items():
        group, _, name = path.rpartition("/")
        store.store(name, node, group=group)


def distance_schema(name: str) -> type:
    """The dataclass of the options of a distance."""
    types, members = option_types(name), [("name", str, field(default=name))]
    for option, default in options(name).items():
        if option not in _LEFT_TO_THE_RUN:
            default = list(default) if isinstance(default, tuple) else default
            make = neutral if option in _NEUTRAL else field
            members.append((option, _supported(types.get(option, Any)), make(default_factory=lambda value=default: value)))
    return make_dataclass(f"{name}_options", members)


def _node(registry: Registry, name: str) -> Any:
    """The configuration of a name: its options with the values that belong to the name, and the other groups that it brings."""
    entry, schema = registry[name], registry.config(name)
    node = OmegaConf.structured(_with_defaults(schema, entry) if entry.brings else schema)
    if "name" in option_names(schema):
        node.name = name
    for option, value in entry.defaults.items():
        node[option] = value
    return node


def _with_defaults(schema: type, entry: Entry) -> type:
    """The schema with a defaults list of Hydra's."""
    brought = [{f"override /{group}@_global_.{group}": choice} for group, choice in entry.brings.items()]
    member = ("defaults", list[Any], field(default_factory=lambda: [*brought, "_self_"]))
    return make_dataclass(schema.__name__, [member], bases=(schema,))


def _supported(kind: Any) -> Any:
    """The type as OmegaConf takes it; ``Any`` where it does not know such."""
    parts = [part for part in get_args(kind) if part is not NoneType] if get_origin(kind) in (Union, UnionType) else [kind]
    return kind if len(parts) == 1 and (parts[0] in (int, float, bool, str) or is_dataclass(parts[0])) else Any


def option_names(schema: type) -> list[str]:
    """Names of the options of a schema."""
    return [f.name for f in fields(schema)]
