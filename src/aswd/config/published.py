"""What papers and their codes say, as rules in ``configs/published/<task>.yaml``, made into configurations that Hydra composes.

A rule names readings, distances (by name, with ``*``; by options that they have or lack) or data sets, and what it sets; a condition that
is left out holds for all. The rules that apply to a distance, or to a data set, become one small configuration under
``published_distance/<task>/<reading>/<distance>`` or ``published_task/<task>/<reading>/<data>``, over which the user's overrides win.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from aswd.distances import READINGS, available, options, resolved_options
from aswd.utils.errors import UserError

CONDITIONS = ("reading", "distance", "having", "lacking", "data")


def load_rules(path: Path) -> list[dict[str, Any]]:
    """The rules of a file.

    Raises:
        UserError: the file cannot be read, or a rule is not understood.
    """
    try:
        rules = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    except (OSError, yaml.YAMLError) as error:
        raise UserError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None
    for rule in rules:
        unknown = set(rule) - {*CONDITIONS, "set"}
        if unknown or "set" not in rule or set(rule["set"]) - {"task", "distance"}:
            raise UserError(f"{path}: a rule must have conditions ({', '.join(CONDITIONS)}) and set: task or distance; got {rule}")
        if "distance" in rule["set"] and "data" in rule:
            raise UserError(f"{path}: a rule that sets options of the distance cannot depend on the data; got {rule}")
    return rules


def published_distance(rules: Iterable[dict], reading: str, name: str, known: Set[str] | None = None) -> dict[str, Any]:
    """What the rules set for options of the distance ``name``, which are ``known`` (default: they are looked up)."""
    known = set(options(name)) if known is None else known
    return _merged(rules, "distance", lambda rule: _holds(rule, reading) and _names_distance(rule, name, known))


def published_task(rules: Iterable[dict], reading: str, data: str) -> dict[str, Any]:
    """What the rules set for options of the task on the data set ``data``."""
    return _merged(rules, "task", lambda rule: _holds(rule, reading) and data in rule.get("data", [data]))


def reading_options(reading: str, name: str) -> dict[str, Any]:
    """What a reading of the paper says of the distance ``name`` itself, whatever the task."""
    defaults = options(name)
    return {key: value for key, value in resolved_options(name, reading=reading).items() if value != defaults[key]}


def published_configs(folder: Path, data_names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """All configurations that the files in ``folder`` and the readings of the distances give, by ``group/name``."""
    configs: dict[str, dict[str, Any]] = {}
    known = {name: set(options(name)) for name in available()}
    for reading in READINGS:
        for name in known:
            _add(configs, f"reading_distance/{reading}/{name}", "distance", reading_options(reading, name))
    for path in sorted(folder.glob("*.yaml")):
        rules = load_rules(path)
        for reading in READINGS:
            for name in known:
                values = published_distance(rules, reading, name, known[name])
                _add(configs, f"published_distance/{path.stem}/{reading}/{name}", "distance", values)
            for data in data_names:
                _add(configs, f"published_task/{path.stem}/{reading}/{data}", "task", published_task(rules, reading, data))
    return configs


def _add(configs: dict[str, dict[str, Any]], key: str, section: str, values: dict[str, Any]) -> None:
    if values:
        configs[key] = {section: {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}}


def _merged(rules: Iterable[dict], section: str, applies: Any) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for rule in rules:
        if applies(rule):
            merged |= rule["set"].get(section, {})
    return merged


def _holds(rule: dict, reading: str) -> bool:
    return reading in rule.get("reading", [reading])


def _names_distance(rule: dict, name: str, known: Set[str]) -> bool:
    named = any(fnmatchcase(name, pattern) for pattern in rule.get("distance", ["*"]))
    return named and set(rule.get("having", [])) <= known and not set(rule.get("lacking", [])) & known
