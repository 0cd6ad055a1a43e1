"""The results of a search: a table, a command, a figure."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aswd.utils.files import write_atomically, write_json
from aswd.utils.tables import table

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

    from aswd.search.study import Search

BEST = "#d1495b"


def ended(study: Study) -> list[FrozenTrial]:
    """The trials that were successful or failed."""
    return [trial for trial in study.get_trials(deepcopy=False) if trial.state.name in ("COMPLETE", "FAIL")]


def show(study: Study, search: Search, folder: Path) -> int:
    """Print the trials, best first, and the best as a command; write both, and a figure, to ``folder``."""
    trials = sorted(ended(study), key=lambda trial: (trial.value is None, trial.value or 0.0, trial.number))
    done = [trial for trial in trials if trial.value is not None]
    options = [axis.option for axis in search.axes]
    name = study.user_attrs.get("value", "value")
    rows = [(trial.number, *_cells(trial, options), _value(trial), trial.user_attrs.get("folder", "")) for trial in trials]
    print(table(("trial", *options, f"mean {name}", "runs"), rows))
    content = {"value": name, "seeds": search.seeds, "trials": [_plain(trial) for trial in trials]}
    if not done:
        write_json(folder / "trials.json", content)
        print("no trial was successful; the reasons are in the error.txt of the runs")
        return 1
    command = shlex.join(["aswd", "train", *search.arguments(done[0].user_attrs["values"])])
    write_json(folder / "trials.json", {**content, "best": {**_plain(done[0]), "command": command}})
    _draw(folder / "search.png", done, search, name)
    print(f"best: {command}")
    print(f"Trials, figure and study: {folder}")
    return 0


def _cells(trial: FrozenTrial, options: list[str]) -> list[str]:
    values = trial.user_attrs.get("values", {})
    return [values.get(option, "-") for option in options]


def _value(trial: FrozenTrial) -> str:
    return f"failed: {trial.user_attrs.get('reason', 'unknown')}" if trial.value is None else f"{trial.value:.4f}"


def _plain(trial: FrozenTrial) -> dict[str, Any]:
    return {"trial": trial.number, "mean": trial.value, **trial.user_attrs}


def _draw(path: Path, done: list[FrozenTrial], search: Search, name: str) -> None:
    """The value of every trial against each option that was searched over."""
    from matplotlib.figure import Figure  # without pyplot, which keeps every figure alive

    figure = Figure(figsize=(1 + 3.6 * len(search.axes), 3.8), layout="constrained")
    for axes, axis in zip(figure.subplots(1, len(search.axes), sharey=True, squeeze=False)[0], search.axes, strict=True):
        texts = [trial.user_attrs["values"][axis.option] for trial in done]
        places = [axis.values.index(text) for text in texts] if axis.values else [float(text) for text in texts]
        axes.scatter(places[1:], [trial.value for trial in done[1:]], s=22, alpha=0.7)
        axes.scatter(places[:1], [done[0].value], s=60, color=BEST, marker="*", label="best", clip_on=False)
        if axis.values:
            axes.set_xticks(range(len(axis.values)), axis.values)
            axes.set_xlim(-0.5, len(axis.values) - 0.5)
        else:
            axes.set_xscale("log" if axis.is_logarithmic else "linear")
            axes.set_xlim(axis.low, axis.high)  # the whole range, also where there is no trial
        axes.set_xlabel(axis.option)
        axes.grid(alpha=0.3)
    first = figure.axes[0]
    first.set_ylabel(f"{name}, mean of {search.seeds} seed{'s' if search.seeds > 1 else ''}")
    first.legend()
    if all(math.isfinite(trial.value) for trial in done):
        first.margins(y=0.08)
    write_atomically(path, lambda partial: figure.savefig(partial, dpi=130))
