"""Answers to the questions that a claim consists of, and how they make up its verdict.

An answer has two p-values: a small ``p_yes`` speaks for what is asked, a small ``p_no`` against it. A claim that several comparisons must
all support is an intersection-union test: *yes* needs every one of them at the full level, and no correction; *no* needs one, by Holm's
method for their number. Where only some of them are needed, both follow from partial conjunctions. Either error of a verdict has at most
the probability :data:`LEVEL`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from aswd.utils.statistics import holm, partial_conjunction

LEVEL = 0.05  # of every verdict, one-sided
MIN_SEEDS = 5
HOLDS, FAILS, OPEN, NONE = "holds", "does not hold", "not decided", "no verdict"
_MANY = 1000  # seeds; more are not counted


@dataclass(frozen=True)
class Answer:
    """The answer to a question about the results.

    Args:
        p_yes: p-value against the opposite of what is asked.
        p_no: p-value against what is asked.
        text: the effect, with its interval and the number of seeds.
        slack: how far the estimate is inside of what is asked; negative outside.
        seeds: about how many seeds would decide, as a function of the level.
    """

    p_yes: float
    p_no: float
    text: str = ""
    slack: float = 0.0
    seeds: Callable[[float], float] = field(default=lambda level: np.inf, compare=False)

    @property
    def value(self) -> bool | None:
        """True for yes, false for no, ``None`` if the seeds do not decide."""
        return True if self.p_yes <= LEVEL else False if self.p_no <= LEVEL else None

    def noted(self, note: str) -> Answer:
        """The same with something more in its text."""
        return replace(self, text=self.text + note)


def fact(value: bool | None, text: str = "") -> Answer:
    """An answer that has no error, or is not known."""
    return Answer(float(value is not True), float(value is not False), text, 0.0 if value is None else 1.0 if value else -1.0)


def every(answers: Sequence[Answer | bool | None]) -> Answer:
    """Whether all answers are yes. The text is that of the answer which is closest to no."""
    answers = [_lifted(answer) for answer in answers]
    if not answers:
        return fact(None, "nothing to compare")
    p_yes, p_no, labels, seeds = _combined(answers, len(answers))
    whole = Answer(p_yes, p_no)
    alike = [answer for answer, label in zip(answers, labels, strict=True) if label is whole.value]
    closest = min(alike, key=lambda answer: answer.slack)
    return Answer(p_yes, p_no, closest.text, closest.slack, seeds)


def share(answers: Mapping[str, Answer | bool | None], needed: int | None = None) -> Answer:
    """Whether at least ``needed`` of the answers are yes (default: all). The text lists them."""
    lifted = {name: _lifted(answer) for name, answer in answers.items()}
    if not lifted:
        return fact(None, "nothing to compare")
    needed = len(lifted) if needed is None else needed
    p_yes, p_no, labels, seeds = _combined(list(lifted.values()), needed)
    words = {True: "yes", False: "no", None: "not decided"}
    listed = "; ".join(
        f"{name}: {words[label]}" + (f", {answer.text}" if answer.text else "")
        for (name, answer), label in zip(lifted.items(), labels, strict=True)
    )
    yes, no = (sum(label is wanted for label in labels) for wanted in (True, False))
    text = f"{yes} of {len(labels)} yes, {no} no, {'all' if needed == len(labels) else needed} needed ({listed})"
    return Answer(p_yes, p_no, text, sorted(answer.slack for answer in lifted.values())[-needed], seeds)


def conclude(answer: Answer) -> tuple[str, str]:
    """The verdict of a claim and the numbers behind it; where it is not decided, with about the number of seeds that would decide."""
    if answer.value is not None:
        return (HOLDS if answer.value else FAILS), answer.text
    count = answer.seeds(LEVEL)
    amount = f"about {count:.0f} seeds" if count <= _MANY else f"more than {_MANY} seeds, if any number," if np.isfinite(count) else None
    return OPEN, answer.text + (f"; {amount} would decide" if amount else "")


def _combined(answers: list[Answer], needed: int) -> tuple[float, float, list[bool | None], Callable[[float], float]]:
    """p-values that at least ``needed`` are yes, and that they are not; what each counts as; and the seeds that would decide."""
    total = len(answers)
    yes, no = np.array([answer.p_yes for answer in answers]), holm(np.array([answer.p_no for answer in answers]))
    spare = total - needed + 1  # so many no make it no
    labels = [True if p * spare <= LEVEL else False if q <= LEVEL else None for p, q in zip(yes, no, strict=True)]

    def seeds(level: float) -> float:
        inside = [answer for answer in answers if answer.slack > 0]
        if len(inside) >= needed:
            return sorted(0.0 if answer.p_yes * spare <= level else answer.seeds(level / spare) for answer in inside)[needed - 1]
        outside = [answer for answer in answers if answer.slack <= 0]
        return sorted(answer.seeds(level / needed) for answer in outside)[spare - 1]

    return partial_conjunction(yes, needed), float(np.sort(no)[spare - 1]), labels, seeds


def _lifted(answer: Answer | bool | None) -> Answer:
    return answer if isinstance(answer, Answer) else fact(None if answer is None else bool(answer))
