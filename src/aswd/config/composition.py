"""Hydra, asked to check everything before anything is run, and to speak in one sentence."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import hydra
from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.utils import get_args_parser
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from aswd.config.paths import config_dir
from aswd.config.resolution import resolve
from aswd.config.run import RunConfig
from aswd.distances import available, options
from aswd.utils.checks import nearest
from aswd.utils.errors import UserError

CONFIG_NAME = "train"
_FAULTS = (HydraException, OmegaConfBaseException, YAMLError, ValueError, TypeError, KeyError, AttributeError)  # of Hydra on odd input


@dataclass
class Call:
    """A command line: what to override, whether it is a sweep, and where else to look for configurations."""

    overrides: list[str]
    multirun: bool = False
    extra_dir: str | None = None


def asked(arguments: list[str]) -> Call | None:
    """What a command line asks to run; ``None`` where it asks Hydra for something else."""
    try:
        with redirect_stderr(StringIO()):  # one sentence instead of argparse's many
            parsed = get_args_parser().parse_args(arguments)
    except SystemExit:
        raise UserError("the arguments are not understood: aswd train --help shows what they can be") from None
    if parsed.help or parsed.hydra_help or parsed.cfg or parsed.info or parsed.shell_completion:
        return None
    for flag, value in (("--config-name", parsed.config_name), ("--config-path", parsed.config_path)):
        if value is not None:
            raise UserError(f"{flag} must be left out: the configuration is aswd's own; --config-dir DIR adds a folder to it")
    if parsed.config_dir is not None and not Path(parsed.config_dir).is_dir():
        raise UserError(f"--config-dir must be a folder; got {parsed.config_dir!r}")
    for override in parsed.overrides:
        if override.lstrip("+~").startswith(("hydra/launcher", "hydra/sweeper")):
            raise UserError(f"{override} must be left out: launcher=local, pool or slurm says how the runs of a sweep are started")
    return Call(parsed.overrides, bool(parsed.multirun), parsed.config_dir)


def hydra_main(arguments: list[str]) -> int:
    """Hand over to Hydra what is its own: help, completion, the printed configuration; its exit code."""
    former = sys.argv
    sys.argv = ["aswd train", *arguments]
    try:
        hydra.main(version_base="1.3", config_path=str(config_dir()), config_name=CONFIG_NAME)(lambda config: None)()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 1
    finally:
        sys.argv = former
        GlobalHydra.instance().clear()
    return 0


def config_store_distances() -> None:
    """Let a distance that was registered from outside be named in configurations without a file of its own."""
    store = ConfigStore.instance()
    for name in available():
        if not (config_dir() / "distance" / f"{name}.yaml").exists():
            store.store(group="distance", name=name, node={"name": name, **dict.fromkeys(options(name))})


def checked_plan(call: Call) -> list[RunConfig]:
    """All runs that a call asks for, every one of them checked.

    Raises:
        UserError: one of them asks for something that is not there or makes no sense.
    """
    try:
        return _plan(call)
    except UserError:
        raise
    except _FAULTS as error:
        raise UserError(f"the configuration does not come together: {_first_line(error)}") from None


def _plan(call: Call) -> list[RunConfig]:
    with initialize_config_dir(str(config_dir()), version_base="1.3", job_name="train"):
        plan, checked = [], {}
        for job in _jobs(_parsed(call.overrides), call.multirun):
            # Runs that differ in their seed only are composed once: that takes a tenth of a second.
            seed, rest = _seed_apart(job)
            if seed is None or rest not in checked:
                checked[rest] = resolve(_composed(job, call.extra_dir))
            spec = checked[rest]
            plan.append(spec if seed is None else spec.of_seeds(range(seed, seed + len(spec.seeds))))
    if not plan:
        raise UserError("the sweep asks for no run: one of its ranges is empty")
    return plan


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error.__cause__ or error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _seed_apart(job: list[str]) -> tuple[int | None, tuple[str, ...]]:
    """The seed that a job's overrides give in so many digits, if they do, and the other overrides."""
    digits = [override.removeprefix("seed=") for override in job if override.startswith("seed=")]
    if len(digits) != 1 or not digits[0].isdecimal() or int(digits[0]) >= 2**31:
        return None, tuple(job)
    return int(digits[0]), tuple(override for override in job if not override.startswith("seed="))


def _parsed(overrides: list[str]) -> list[Override]:
    try:
        return OverridesParser.create(config_loader=GlobalHydra.instance().config_loader()).parse_overrides(overrides)
    except HydraException as error:
        text = str(error).splitlines()[0].removeprefix("Error parsing override ").strip()
        raise UserError(f"the override {text} is not understood: write OPTION=VALUE, quoted if it has commas or spaces") from None


def _jobs(overrides: list[Override], multirun: bool) -> list[list[str]]:
    """The overrides of every job."""
    if not multirun:
        for override in overrides:
            if override.is_sweep_override():
                line = override.input_line
                raise UserError(f"{line} asks for several runs: a sweep needs -m, as in aswd train -m {line}")
        return [[override.input_line for override in overrides]]
    (jobs,) = BasicSweeper.split_arguments(overrides, max_batch_size=None)
    return [list(job) for job in jobs]


def _composed(overrides: list[str], extra_dir: str | None) -> DictConfig:
    extra = [f"hydra.searchpath=[{json.dumps(str(extra_dir))}]"] if extra_dir else []
    try:
        return compose(CONFIG_NAME, overrides=[*extra, *overrides])
    except _FAULTS:
        _explain(_parsed(overrides), extra, extra_dir)
        raise


def _explain(overrides: list[Override], extra: list[str], extra_dir: str | None) -> None:
    """Say which override names no group, no choice of its group or no option, and what is nearest."""
    loader = GlobalHydra.instance().config_loader()
    groups = [override for override in overrides if loader.repository.group_exists(override.key_or_group)]
    for override in groups:
        group, choice = override.key_or_group, str(override.value())
        files = Path(extra_dir, group).glob("*.yaml") if extra_dir else []
        known = [*loader.get_group_options(group), *(file.stem for file in files)]
        if choice not in known:
            raise UserError(f"{group} has no choice {choice!r}: {nearest(choice, known)}")
    config = compose(CONFIG_NAME, overrides=[*extra, *(override.input_line for override in groups)])
    for override in overrides:
        if override not in groups and not override.key_or_group.startswith("hydra"):
            _check_option(override.key_or_group, config)


def _check_option(option: str, config: DictConfig) -> None:
    node, place = config, ""
    for part in option.split("."):
        if not OmegaConf.is_dict(node):
            raise UserError(f"{option} is not an option: {place.rstrip('.')} is a value and has none")
        if part not in node:
            raise UserError(f"{option} is not an option: {nearest(place + part, [f'{place}{name}' for name in node])}")
        node, place = node._get_node(part), f"{place}{part}."
