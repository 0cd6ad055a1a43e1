"""The options in which runs differ: from what their names stand for, and from each other."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from aswd.config.composition import CommandLine, plan_runs
from aswd.config.run import RunConfig
from aswd.utils.errors import UserError


def changed_options(run: RunConfig) -> dict[str, Any]:
    """The options of a run that are not what its task, data set, distance and reading give by themselves: ``{"distance.penalty": 0.5}``."""
    default = _default_identity(run.task.name, run.data.name, run.distance_name, run.reading)
    return {} if default is None else {key: value for key, value in flatten(run.identity).items() if default.get(key, value) != value}


def differing_options(identities: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each of some runs the options in which they differ; names are left out, since listings show them anyway."""
    flat = [flatten(identity) for identity in identities]
    keys = dict.fromkeys(key for values in flat for key in values)
    differing = [key for key in keys if len({repr(values.get(key)) for values in flat}) > 1 and not key.endswith(".name")]
    return [{key: values[key] for key in differing if key in values} for values in flat]


def titles(runs: list[RunConfig]) -> list[str]:
    """What runs are called in one listing: task, data set, distance, and the options in which runs of the same names differ."""
    texts: dict[int, str] = {}
    for title in dict.fromkeys(run.title for run in runs):
        alike = [(index, run) for index, run in enumerate(runs) if run.title == title]
        identities = {key: run.identity for key, run in {run.key: run for _, run in alike}.items()} if len(alike) > 1 else {}
        differing = dict(zip(identities, differing_options(identities.values()), strict=True))
        texts |= {index: f"{title} {options_text(differing.get(run.key, {}))}".strip() for index, run in alike}
    return [texts[index] for index in range(len(runs))]


def options_text(options: dict[str, Any]) -> str:
    """Options as people write them: ``penalty=0.5 lr=0.01``, without the section where that is clear."""
    last = [key if key.startswith(("callbacks.", "code.")) else key.rpartition(".")[2] for key in options]
    names = [short if last.count(short) == 1 else key for key, short in zip(options, last, strict=True)]
    return " ".join(f"{name}={_shown(value)}" for name, value in zip(names, options.values(), strict=True))


def flatten(content: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested options as ``{"distance.penalty": 0.5}``."""
    flat: dict[str, Any] = {}
    for key, value in content.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


@lru_cache(maxsize=256)
def _default_identity(task: str, data: str, distance: str, reading: str) -> dict[str, Any] | None:
    try:
        (run,) = plan_runs(CommandLine([f"task={task}", f"data={data}", f"distance={distance}", f"reading={reading}"]))
    except UserError:  # a name that only a folder of the user's knows, or data that must be given a file
        return None
    return flatten(run.identity)


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str) and len(value) == 64:  # a digest
        return value[:8]
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_shown, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value).replace(" ", "")
