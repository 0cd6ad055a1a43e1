"""Sections with a ``_target_``: classes of the user's own, whose parameters are the options."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from aswd.utils.errors import UserError
from aswd.utils.plugins import make_working_directory_importable
from aswd.utils.registry import import_objects

SECTIONS = ("task", "data", "distance")
GROUPS = ("callbacks", "logger")  # of any number of such sections
DISTANCE_TARGETS: dict[str, str] = {}  # distances that a configuration brought by its _target_, by name


def import_target(option: str, target: Any) -> Any:
    """The class or function that a ``_target_`` names, modules of the working directory included.

    Raises:
        UserError: it cannot be imported.
    """
    make_working_directory_importable()
    module, _, name = str(target).rpartition(".")
    try:
        return import_objects(f"{module}:{name}")[0]
    except Exception as error:
        reason = f"{type(error).__name__}: {(str(error).splitlines() or ['no message'])[0]}"
        raise UserError(f"{option} must name a class or function that can be imported; got {target!r} ({reason})") from None


def check_target(prefix: str, node: dict[str, Any], method: str) -> None:
    """Check before any work that a ``_target_`` takes its arguments and, if it is a class, makes what is wanted.

    Raises:
        UserError: it does not.
    """
    target = import_target(f"{prefix}._target_", node["_target_"])
    if isinstance(target, type) and not hasattr(target, method):
        raise UserError(f"{prefix}._target_ must be a class with the method {method}, as Lightning's have; got {node['_target_']!r}")
    try:
        inspect.signature(target).bind_partial(**{name: value for name, value in node.items() if not name.startswith("_")})
    except (TypeError, ValueError) as error:
        raise UserError(f"{prefix}: {node['_target_']}: {error}") from None


def add_target_options(overrides: list[Override], config: DictConfig) -> list[str]:
    """The overrides, those that set an option of a ``_target_`` which its file leaves out with the ``++`` that Hydra wants for that.

    Args:
        overrides: of one run.
        config: composed with the overrides that choose groups, so that it has all ``_target_``.
    """
    nodes = {section: config.get(section) for section in SECTIONS}
    nodes |= {f"{group}.{name}": node for group in GROUPS for name, node in (config.get(group) or {}).items()}
    known = {f"{prefix}.{option}" for prefix, node in nodes.items() for option in target_options(prefix, node)}
    is_change = [override.key_or_group in known and not (override.is_add() or override.is_delete()) for override in overrides]
    return [f"++{o.input_line}" if change else o.input_line for o, change in zip(overrides, is_change, strict=True)]


def target_options(prefix: str, node: Any) -> list[str]:
    """Names of the options of the class that a section's ``_target_`` names; none for a section without."""
    if not OmegaConf.is_dict(node) or "_target_" not in node:
        return []
    target = import_target(f"{prefix}._target_", node["_target_"])
    config = getattr(target, "config_class", None)
    return [f.name for f in fields(config)] if config is not None else list(inspect.signature(target).parameters)
