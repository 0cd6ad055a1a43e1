"""Names that stand for classes and their options, and for code that is imported only when it is needed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, make_dataclass
from importlib import import_module
from typing import Any, get_type_hints

from aswd.utils.checks import nearest
from aswd.utils.errors import UserError


def import_objects(place: str) -> list[Any]:
    """What ``"module:name:name"`` names."""
    module, *names = place.split(":")
    content = import_module(module)
    return [getattr(content, name) for name in names]


def call_with(target: Callable, options: dict[str, Any], **context: Any) -> Any:
    """Call ``target`` with its options and with what it takes of the context.

    ``name`` among the options is only what a configuration calls the object: it is passed on if there is a parameter for it.
    """
    parameters = inspect.signature(target).parameters.values()
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    known = {p.name for p in parameters}
    given = {name: value for name, value in options.items() if name != "name" or "name" in known or takes_any}
    return target(**{name: value for name, value in context.items() if name in known or takes_any}, **given)


@dataclass(frozen=True)
class Entry:
    """What a name stands for.

    Args:
        target: a class, or ``"module:Class"``.
        config: the dataclass of its options, likewise; ``None``: the parameters of the class's constructor.
        about: one line for listings.
        defaults: values of options that belong to the name.
        brings: the choice of other groups that it needs by default, such as ``{"data": "mnist"}``.
        is_listed: whether the name itself can be chosen; not that of a configuration file with a ``_target_``, which Hydra finds.
    """

    target: Any
    config: Any = None
    about: str = ""
    defaults: dict[str, Any] = field(default_factory=dict)
    brings: dict[str, str] = field(default_factory=dict)
    is_listed: bool = True

    @property
    def module(self) -> str:
        """Name of the module that has the class."""
        return self.target.partition(":")[0] if isinstance(self.target, str) else self.target.__module__

    def as_target(self) -> dict[str, str]:
        """``{"_target_": ...}`` for what a configuration file brought by it, so that another process finds it too; else nothing."""
        return {} if self.is_listed else {"_target_": f"{self.target.__module__}.{self.target.__qualname__}"}


class Registry:
    """Classes by name, ours and those of plug-ins.

    Args:
        kind: what is registered, for messages: ``"task"``.
        context: parameters of the constructors that are not options: ``("distance", "seeds")``.
        entries: those known from the start.
    """

    def __init__(self, kind: str, context: tuple[str, ...], entries: dict[str, Entry]) -> None:
        self.kind, self.context = kind, context
        self._entries = dict(entries)

    def __iter__(self) -> Iterator[str]:
        return (name for name, entry in self._entries.items() if entry.is_listed)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> Entry:
        if name not in self._entries:
            raise UserError(f"unknown {self.kind} {name!r}: {nearest(name, self)}")
        return self._entries[name]

    def entries(self) -> dict[str, Entry]:
        """All entries by name, those that are not listed included."""
        return dict(self._entries)

    def register(self, name: str, **entry: Any) -> Callable[[type], type]:
        """A decorator that makes a class known under ``name``; ``entry`` are the other fields of :class:`Entry`.

        Raises:
            ValueError: the name is taken by a class of another module, or is not made of letters, digits and underscores.
        """
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"the name of a {self.kind} must be made of letters, digits and underscores; got {name!r}")

        def add(target: type) -> type:
            known = self._entries.get(name)
            new = Entry(target, **entry)
            if known is not None and known.module != new.module:
                raise ValueError(f"the name {name!r} is taken by the {self.kind} of {known.module}: choose another name")
            self._entries[name] = new
            return target

        return add

    def target(self, name: str) -> Any:
        """The class of a name."""
        return _imported(self[name].target)

    def config(self, name: str) -> type:
        """The dataclass of the options of a name."""
        entry = self[name]
        if entry.config is not None:
            return _imported(entry.config)
        target = self.target(name)
        return getattr(target, "config_class", None) or options_of(target, name, self.context)


def options_of(target: Callable, name: str, context: tuple[str, ...] = ()) -> type:
    """A dataclass of the parameters of ``target`` but for those in ``context``, with their types and defaults; ``name`` comes first."""
    parameters = [p for p in inspect.signature(target).parameters.values() if p.name not in (*context, "self", "name")]
    try:
        hints = get_type_hints(target.__init__ if isinstance(target, type) else target)
    except (NameError, TypeError):
        hints = {}
    options: list[tuple] = [("name", str, field(default=name))]
    for p in parameters:
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            default = "???" if p.default is p.empty else p.default  # OmegaConf's sign of a value that must be given
            options.append((p.name, hints.get(p.name, Any), field(default_factory=lambda value=default: value)))
    return make_dataclass(f"{getattr(target, '__name__', name)}Options", options)


def _imported(target: Any) -> Any:
    return import_objects(target)[0] if isinstance(target, str) else target
