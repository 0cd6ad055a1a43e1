"""One sentence on what is wrong with an override, where Hydra has several or a traceback."""

from __future__ import annotations

import os
import typing
from collections.abc import Callable
from pathlib import Path
from textwrap import shorten
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from aswd.config.resolution import check_type
from aswd.config.schemas import check_not_renamed
from aswd.config.targets import add_target_options, target_options
from aswd.utils.checks import nearest, shown
from aswd.utils.errors import UserError

_INSTEAD = {
    "hydra/launcher": "launcher=NAME says how the runs of a sweep are started (aswd train --help lists the names)",
    "hydra.launcher": "launcher=NAME says how the runs of a sweep are started (aswd train --help lists the names)",
    "hydra/sweeper": "-m sweeps over all combinations, and aswd search searches",
    "hydra.sweeper": "-m sweeps over all combinations, and aswd search searches",
    "hydra.run.dir": "paths.output_dir=DIR says where results are written",
    "hydra.sweep": "paths.output_dir=DIR says where results are written",
    "hydra.output_subdir": "paths.output_dir=DIR says where results are written",
    "hydra.job.chdir": "runs stay in the working directory",
    "hydra.verbose": "runs write their logs to the store",
    "hydra.searchpath": "--config-dir DIR adds a folder of configurations",
}


def check_hydra_override(override: str) -> None:
    """Refuse an override of Hydra itself that would have no effect.

    Raises:
        UserError: says what to use instead.
    """
    key = override.lstrip("+~").partition("=")[0].partition("@")[0]
    if key != "hydra" and not key.startswith(("hydra.", "hydra/")):
        return
    for prefix, instead in _INSTEAD.items():
        if key == prefix or key.startswith((f"{prefix}.", f"{prefix}/")):
            raise UserError(f"{shown_override(override)} must be left out: {instead}")
    raise UserError(f"{shown_override(override)} must be left out: aswd does not use this option of Hydra")


def shown_override(override: str) -> str:
    """An override as a sentence can have it."""
    return shorten(override, 100, placeholder=" ...")


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if getattr(error, "problem_mark", None) is not None:
        return f"{error.problem}, line {error.problem_mark.line + 1}"
    lines = [line.strip() for line in str(error.__cause__ or error).splitlines() if line.strip()]
    return shorten(lines[0], 300, placeholder=" ...") if lines else type(error).__name__


def explain(overrides: list[Override], compose: Callable[[list[str]], DictConfig], folders: list[str]) -> DictConfig:
    """Say which override names an unknown group, choice or option, or gives a value of the wrong type.

    Args:
        overrides: of one run that could not be composed.
        compose: composes a list of overrides.
        folders: with configurations of the user's.

    Returns:
        If none does, the configuration with the choices of groups alone.

    Raises:
        UserError: with the nearest names that there are.
    """
    loader = GlobalHydra.instance().config_loader()
    groups = [override for override in overrides if loader.repository.group_exists(override.key_or_group)]
    for override in groups:
        group = override.key_or_group
        if override.is_add():
            line = shown_override(override.input_line)
            raise UserError(f"{line} must be written {line.lstrip('+')}: the group has a choice already")
        chosen = override.value()
        known = {*loader.get_group_options(group), *(path.stem for folder in folders for path in Path(folder, group).glob("*.yaml"))}
        for choice in chosen if isinstance(chosen, list) else [chosen]:
            _check_files([Path(folder, group, f"{choice}.yaml") for folder in folders])
            if choice is not None and not isinstance(choice, dict) and str(choice) not in known:
                raise UserError(f"{group} has no choice {shown(str(choice))}: {nearest(str(choice), known)}")
    config = compose([override.input_line for override in groups])
    lines = add_target_options([override for override in overrides if override not in groups], config)
    for override, line in zip([override for override in overrides if override not in groups], lines, strict=True):
        if line == override.input_line:  # else an option of the user's own class
            _check_option(override, config)
    return compose([override.input_line for override in groups])


def _check_files(paths: list[Path]) -> None:
    """Name a configuration file of the user's that cannot be read."""
    for path in (path for path in paths if os.path.lexists(path)):
        try:
            OmegaConf.load(path)
        except (OSError, ValueError, YAMLError, RecursionError, OmegaConfBaseException) as error:
            raise UserError(f"{path} cannot be read: {getattr(error, 'strerror', None) or first_line(error)}") from None


def _check_option(override: Override, config: DictConfig) -> None:
    """Whether an option exists, and takes the value that it is given."""
    option = override.key_or_group
    check_not_renamed(option)
    node, prefix = config, ""
    for part in option.split("."):
        if not OmegaConf.is_dict(node):
            raise UserError(f"{option} is not an option: {prefix.rstrip('.')} is a value and has no options")
        if part not in node:
            if override.is_add():
                return
            known = [*node, *target_options(prefix.rstrip("."), node)]
            raise UserError(f"{option} is not an option: {nearest(prefix + part, [f'{prefix}{name}' for name in known])}")
        parent, node, prefix = node, node._get_node(part), f"{prefix}{part}."
    if override.is_delete():
        return
    try:
        OmegaConf.update(config, option, override.value())
    except OmegaConfBaseException:
        schema = OmegaConf.get_type(parent)
        kind: Any = typing.get_type_hints(schema).get(option.rpartition(".")[2], Any) if isinstance(schema, type) else Any
        raise UserError(check_type(option, kind, override.value())) from None
