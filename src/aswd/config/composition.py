"""Hydra: command lines and overrides, and all runs of a sweep composed and checked before any of them starts."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import hydra
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from aswd.config.groups import register_groups
from aswd.config.mistakes import check_hydra_override, explain, first_line
from aswd.config.paths import config_dir
from aswd.config.resolution import resolve
from aswd.config.run import RunConfig
from aswd.config.targets import add_target_options
from aswd.utils.errors import UserError
from aswd.utils.plugins import config_dirs, load_entry_points, load_plugins, make_working_directory_importable, resolve_plugin

CONFIG_NAME = "train"
_FAULTS = (HydraException, OmegaConfBaseException, YAMLError, ValueError, TypeError, KeyError, AttributeError)  # of Hydra on odd input


@dataclass(frozen=True)
class CommandLine:
    """What a command line says: overrides, whether they are a sweep, and folders with more configurations."""

    overrides: list[str]
    multirun: bool = False
    config_dirs: tuple[str, ...] = ()
    cfg: str | None = None  # print the configuration instead of running it: job, hydra or all
    package: str | None = None  # print this part of it only
    hydra_flags: list[str] = field(default_factory=list)  # help, completion and the like, which are Hydra's own


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:
        raise UserError(f"{message}: aswd train --help shows what there is")


def parse_command_line(arguments: list[str]) -> CommandLine:
    """Read the arguments of a command whose options are Hydra's.

    Raises:
        UserError: they are not understood, or are of no use here.
    """
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("--cfg", "-c", choices=["job", "hydra", "all"])
    parser.add_argument("--package", "-p")
    parser.add_argument("--resolve", action="store_true")  # values are always shown as they are used
    parser.add_argument("--config-dir", "-cd", action="append", default=[])
    parser.add_argument("--config-name", "-cn")
    parser.add_argument("--config-path", "-cp")
    flags = ("--help", "-h", "--hydra-help", "--version", "--info", "-i", "--shell-completion", "-sc")
    shown = [one for one in arguments if one.partition("=")[0] in flags]
    options, rest = parser.parse_known_args([one for one in arguments if one not in shown])
    if any(one.partition("=")[0] == "--output-dir" for one in rest):
        raise UserError("--output-dir is now paths.output_dir=DIR")
    unknown = [one for one in rest if one.startswith("-")]
    if unknown:
        raise UserError(f"unknown argument {unknown[0]}: aswd train --help shows what there is")
    for flag, value in (("--config-name", options.config_name), ("--config-path", options.config_path)):
        if value is not None:
            raise UserError(f"{flag} must be left out: the configuration is aswd's own; --config-dir DIR adds a folder to it")
    check_overrides(rest, options.config_dir)
    return CommandLine(rest, options.multirun, tuple(options.config_dir), options.cfg, options.package, shown)


def check_overrides(overrides: list[str], folders: list[str]) -> None:
    """Refuse overrides of Hydra itself, and folders that do not exist.

    Raises:
        UserError: says what to use instead.
    """
    for folder in folders:
        if not Path(folder).is_dir():
            raise UserError(f"--config-dir must be a folder; got {folder!r}")
    for override in overrides:
        check_hydra_override(override)


def run_hydra(line: CommandLine) -> int:
    """Hand over to Hydra what is its own: help, completion, its own configuration; its exit code."""
    import sys

    register_plugins(line)
    former = sys.argv
    flags = [*line.hydra_flags, *(["--cfg", line.cfg] if line.cfg else []), *(["-m"] if line.multirun else [])]
    sys.argv = ["aswd train", *flags, *(f"--config-dir={folder}" for folder in line.config_dirs[:1]), *line.overrides]
    try:
        hydra.main(version_base="1.3", config_path=str(config_dir()), config_name=CONFIG_NAME)(lambda config: None)()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 1
    finally:
        sys.argv = former
        GlobalHydra.instance().clear()
    return 0


def register_plugins(line: CommandLine) -> None:
    """Load what comes from outside, and make all names known to Hydra.

    Raises:
        UserError: a plug-in in ``plugins`` cannot be loaded.
    """
    make_working_directory_importable()
    load_entry_points()
    load_plugins(_plugins(line.overrides))
    register_groups()


def plan_runs(line: CommandLine, registered: bool = False) -> list[RunConfig]:
    """All runs of a command line, every one of them checked.

    Args:
        line: the command line.
        registered: :func:`register_plugins` was called for these plug-ins before, and need not be again: it takes longer than to compose.

    Raises:
        UserError: one of them has an option that is unknown or not allowed.
    """
    try:
        if not registered:
            register_plugins(line)
        with _initialised():
            return _plan(line)
    except UserError:
        raise
    except _FAULTS as error:
        raise UserError(f"invalid configuration: {first_line(error)}") from None


def group_options(group: str, folders: tuple[str, ...] = ()) -> list[str]:
    """The names that can be chosen in a group, those of files in folders of plug-ins and of the user included."""
    with _initialised():
        known = GlobalHydra.instance().config_loader().get_group_options(group)
    return sorted({*known, *(path.stem for folder in (*config_dirs(), *folders) for path in Path(folder, group).glob("*.yaml"))})


@contextmanager
def _initialised() -> Iterator[None]:
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(config_dir()), version_base="1.3", job_name="train"):
        yield


def _plan(line: CommandLine) -> list[RunConfig]:
    plan, checked = [], {}
    for job in _jobs(_parsed(_absolute_plugins(line.overrides)), line.multirun):
        # Runs that differ in their seed only are composed once: that takes a twentieth of a second.
        seed, rest = _split_seed(job)
        if seed is None or rest not in checked:
            checked[rest] = resolve(*_composed(job, line.config_dirs))
        run = checked[rest]
        plan.append(run if seed is None else run.with_seeds(range(seed, seed + len(run.seeds))))
    if not plan:
        raise UserError("the sweep has no runs: one of its ranges is empty")
    return plan


def _split_seed(job: list[str]) -> tuple[int | None, tuple[str, ...]]:
    """The seed that a job's overrides give as plain digits, if they do, and the other overrides."""
    digits = [override.removeprefix("seed=") for override in job if override.startswith("seed=")]
    if len(digits) != 1 or not digits[0].isdecimal() or int(digits[0]) >= 2**31:
        return None, tuple(job)
    return int(digits[0]), tuple(override for override in job if not override.startswith("seed="))


def _plugins(overrides: list[str]) -> list[str]:
    """The plug-ins among the overrides: ``plugins=a.py`` or ``plugins=[a.py,b]``."""
    given = [override.partition("=")[2] for override in overrides if override.lstrip("+").startswith("plugins=")]
    return [part.strip(" '\"") for value in given for part in value.strip("[]").split(",") if part.strip(" '\"")]


def _absolute_plugins(overrides: list[str]) -> list[str]:
    """The overrides with plug-ins by their absolute paths, so that other processes find them."""
    names = [resolve_plugin(name) for name in _plugins(overrides)]
    rest = [override for override in overrides if not override.lstrip("+").startswith("plugins=")]
    return [*rest, f"plugins={json.dumps(names)}"] if names else rest


def _parsed(overrides: list[str]) -> list[Override]:
    try:
        return OverridesParser.create(config_loader=GlobalHydra.instance().config_loader()).parse_overrides(overrides)
    except HydraException as error:
        text = str(error).splitlines()[0].removeprefix("Error parsing override ").strip()
        raise UserError(f"the override {text} is not understood: write OPTION=VALUE, quoted if it has commas or spaces") from None


def _jobs(overrides: list[Override], multirun: bool) -> list[list[str]]:
    """The overrides of every job: all combinations of those that sweep."""
    if not multirun:
        for override in overrides:
            if override.is_sweep_override():
                line = override.input_line
                raise UserError(f"{line} stands for several runs: a sweep needs -m, as in aswd train -m {line}")
        return [[override.input_line for override in overrides]]
    alternatives = [
        [f"{override.get_key_element()}={value}" for value in override.sweep_string_iterator()]
        if override.is_sweep_override()
        else [override.input_line]
        for override in overrides
    ]
    return [list(job) for job in product(*alternatives)]


def _composed(overrides: list[str], folders: tuple[str, ...]) -> tuple[DictConfig, dict[str, object]]:
    """The configuration, and what was chosen in every group."""
    searched = [*map(str, config_dirs()), *(str(Path(folder).absolute()) for folder in folders)]
    extra = [f"hydra.searchpath={json.dumps(searched)}"] if searched else []

    def composed(given: list[str], **options: bool) -> DictConfig:
        return compose(CONFIG_NAME, overrides=[*extra, *given], **options)

    try:
        config = composed(overrides, return_hydra_config=True)
    except _FAULTS:
        groups = explain(parsed := _parsed(overrides), composed, searched)
        config = composed(add_target_options(parsed, groups), return_hydra_config=True)
    choices = OmegaConf.to_container(config.hydra.runtime.choices)
    OmegaConf.set_struct(config, False)
    config.pop("hydra")
    return config, choices
