"""What is searched over: options of a run and the values that they may take."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aswd.utils.errors import UserError

if TYPE_CHECKING:
    from optuna import Trial

KINDS = ("log", "linear", "int", "intlog")
_FORMS = f"{', '.join(f'{kind}(LOW,HIGH)' for kind in KINDS)} or VALUE,VALUE,..."
_RANGE = re.compile(r"(\w+)\(\s*([^,()]+?)\s*,\s*([^,()]+?)\s*\)")


@dataclass(frozen=True)
class Axis:
    """One option: a range of numbers, or the choices in ``values``."""

    option: str
    kind: str  # one of KINDS, or "choice"
    low: float = 0.0
    high: float = 0.0
    values: tuple[str, ...] = ()

    @property
    def is_logarithmic(self) -> bool:
        """Whether it is drawn, and shown, on a logarithmic scale."""
        return self.kind in ("log", "intlog")

    @property
    def extremes(self) -> Sequence[str]:
        """The values at its ends, or all of its choices: if these are allowed, so is what lies between."""
        return self.values or (self._text(self.low), self._text(self.high))

    def suggest(self, trial: Trial) -> str:
        """The value of a trial, as it is written in an override. Four digits: a search needs no more, and a person can type them."""
        if self.kind == "choice":
            return trial.suggest_categorical(self.option, self.values)
        if self.kind.startswith("int"):
            return str(trial.suggest_int(self.option, int(self.low), int(self.high), log=self.is_logarithmic))
        return self._text(trial.suggest_float(self.option, self.low, self.high, log=self.is_logarithmic))

    def _text(self, value: float) -> str:
        return str(int(value)) if self.kind.startswith("int") else f"{value:.4g}"


def parse(text: str) -> Axis:
    """An axis as it is written on the command line.

    Raises:
        UserError: it is not understood.

    >>> parse("distance.penalty=log(0.01,1)")
    Axis(option='distance.penalty', kind='log', low=0.01, high=1.0, values=())
    >>> parse("distance.num_projections=10,100").values
    ('10', '100')
    """
    option, equals, content = text.partition("=")
    if not equals or not option.strip() or not content.strip():
        raise UserError(f"--over must be OPTION={_FORMS}; got {text!r}")
    option, content = option.strip(), content.strip()
    written = _RANGE.fullmatch(content)
    if written is None:
        values = tuple(part.strip() for part in content.split(","))
        if "(" in content or ")" in content or len(set(values)) < 2 or not all(values):
            raise UserError(f"--over {option} must be {_FORMS}, of at least two different values; got {content!r}")
        return Axis(option, "choice", values=tuple(dict.fromkeys(values)))
    kind, *ends = written.groups()
    if kind not in KINDS:
        raise UserError(f"--over {option} must be {_FORMS}; got {content!r}")
    try:
        low, high = (float(end) for end in ends)
    except ValueError:
        raise UserError(f"--over {option} must have numbers as its ends; got {content!r}") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UserError(f"--over {option} must have a lower end below its upper one; got {content!r}")
    if kind in ("log", "intlog") and low <= 0:
        raise UserError(f"--over {option} must have ends above 0 on a logarithmic scale; got {content!r}")
    if kind.startswith("int") and not (low.is_integer() and high.is_integer()):
        raise UserError(f"--over {option} must have whole numbers as its ends; got {content!r}")
    return Axis(option, kind, low, high)
