"""Hydra: command lines and overrides, and all runs of a sweep composed and checked before any of them starts."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import hydra
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, RangeSweep
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from aswd.config import config_dir
from aswd.config.groups import register_groups
from aswd.config.memory import PER_RUN, check_fits
from aswd.config.mistakes import check_hydra_override, explain, first_line, shown_override
from aswd.config.resolution import resolve
from aswd.config.run import RunConfig
from aswd.config.targets import add_target_options
from aswd.utils.checks import shown
from aswd.utils.errors import Parser, UserError
from aswd.utils.plugins import config_dirs, load_entry_points, load_plugins, make_working_directory_importable, resolve_plugin
from aswd.utils.progress import progress_bar

CONFIG_NAME = "train"
_OPTION = re.compile(r"[+~]{0,2}\w[\w./@:-]*")
_FAULTS = (  # of Hydra on odd input
    *(HydraException, OmegaConfBaseException, YAMLError, ValueError, TypeError, AttributeError),
    *(LookupError, ArithmeticError, AssertionError, RecursionError, OSError),
)


@dataclass(frozen=True)
class CommandLine:
    """What a command line says: overrides, whether they are a sweep, and folders with more configurations."""

    overrides: list[str]
    multirun: bool = False
    config_dirs: tuple[str, ...] = ()
    cfg: str | None = None  # print the configuration instead of running it: job, hydra or all
    package: str | None = None  # print this part of it only
    hydra_flags: list[str] = field(default_factory=list)  # help, completion and the like, which are Hydra's own


def parse_command_line(arguments: list[str]) -> CommandLine:
    """Read the arguments of a command whose options are Hydra's.

    Raises:
        UserError: they are not understood, or are of no use here.
    """
    parser = Parser(prog="aswd train", add_help=False)
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("--cfg", "-c", choices=["job", "hydra", "all"])
    parser.add_argument("--package", "-p")
    parser.add_argument("--resolve", action="store_true")  # values are always shown as they are used
    parser.add_argument("--config-dir", "-cd", action="append", default=[])
    parser.add_argument("--config-name", "-cn")
    parser.add_argument("--config-path", "-cp")
    flags = ("--help", "-h", "--hydra-help", "--version", "--info", "-i", "--shell-completion", "-sc")
    shown_flags = [one for one in arguments if one.partition("=")[0] in flags]
    options, rest = parser.parse_known_args([one for one in arguments if one not in shown_flags])
    if any(one.partition("=")[0] == "--output-dir" for one in rest):
        raise UserError("--output-dir is now paths.output_dir=DIR")
    for unknown in (one for one in rest if one.startswith("-")):
        raise UserError(parser.unknown([], unknown))
    if options.package is not None and options.cfg != "job":
        raise UserError(f"--package {options.package} must be used with --cfg job, whose output it shortens")
    for flag, value in (("--config-name", options.config_name), ("--config-path", options.config_path)):
        if value is not None:
            raise UserError(f"{flag} must be left out: the configuration is aswd's own; --config-dir DIR adds a folder to it")
    return CommandLine(
        check_overrides(rest, options.config_dir), options.multirun, tuple(options.config_dir), options.cfg, options.package, shown_flags
    )


def check_overrides(overrides: list[str], folders: list[str]) -> list[str]:
    """Refuse overrides of Hydra itself, what is no override, and folders that cannot be read.

    Returns:
        The overrides, values that Hydra's grammar does not know (``~/x``, ``a=b``) in quotes.

    Raises:
        UserError: names the option, and says what to write instead.
    """
    for folder in folders:
        try:
            with os.scandir(folder):
                pass
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(f"--config-dir must be a folder that can be read; got {shown(folder)}: {reason}") from None
    for override in overrides:
        check_hydra_override(override)
    return [_quoted(override) for override in overrides]


def _quoted(override: str) -> str:
    option, equals, value = override.partition("=")
    if not _OPTION.fullmatch(option) or not (equals or option.startswith("~")):
        raise UserError(f"{shown(override)} is not understood: write OPTION=VALUE")
    parser = OverridesParser.create()
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    for line in (override, f"{option}='{quoted}'"):
        try:
            parser.parse_override(line)
        except HydraException:
            if any(character in value for character in "[]{}(),'\""):  # more than a plain text
                break
        except RecursionError:
            raise UserError(f"{option} has a value that is nested too deeply: {shown(value)}") from None
        else:
            return line
    try:
        parser.parse_override(option if option.startswith("~") else f"{option}=0")
    except HydraException:  # whatever its value is
        raise UserError(f"{shown(override)} is not understood: write SECTION.OPTION=VALUE, as in task.lr=0.01") from None
    raise UserError(f"{option} has a value that is not understood: {shown(value)}; put it in quotes, as in {option}='\"...\"'")


def interpolated(option: str, text: str) -> str:
    """A text with OmegaConf's interpolations, such as ``${oc.env:HOME}``, resolved.

    Raises:
        UserError: they cannot be.
    """
    try:
        return str(OmegaConf.create({"value": text}).value)
    except _FAULTS as error:
        raise UserError(f"{option} must be a text; got {shown(text)}: {first_line(error)}") from None


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
    jobs = _jobs(_parsed(_absolute_plugins(line.overrides)), line.multirun)
    for job in progress_bar(jobs, what="planning", unit="run"):
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
    return OverridesParser.create(config_loader=GlobalHydra.instance().config_loader()).parse_overrides(overrides)


def _jobs(overrides: list[Override], multirun: bool) -> list[list[str]]:
    """The overrides of every job: all combinations of those that sweep."""
    if not multirun:
        for override in overrides:
            if override.is_sweep_override():
                line = shown_override(override.input_line)
                raise UserError(f"{line} stands for several runs: a sweep needs -m, as in aswd train -m {line}")
        return [[override.input_line for override in overrides]]
    count = math.prod(_count(override) for override in overrides)
    check_fits(f"a sweep of {count:,} runs", {"plan": PER_RUN * count})
    alternatives = [
        [f"{override.get_key_element()}={value}" for value in override.sweep_string_iterator()]
        if override.is_sweep_override()
        else [override.input_line]
        for override in overrides
    ]
    return [list(job) for job in product(*map(list, alternatives))]


def _count(override: Override) -> int:
    """How many values an override has, without listing those of a range."""
    if not override.is_sweep_override():
        return 1
    swept = override.value()
    if isinstance(swept, RangeSweep):
        count = (swept.stop - swept.start) / (swept.step or 1)
        if not math.isfinite(count):
            raise UserError(f"{override.input_line} must be a range between finite numbers")
        return max(0, math.ceil(count))
    return sum(1 for _ in override.sweep_string_iterator())


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
