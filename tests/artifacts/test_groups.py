"""Numbers that are taken from the curves of runs."""

import numpy as np
import pandas
import pytest

from aswd.artifacts.groups import RunGroup


class Recorded:
    """A finished run with a given history."""

    record = "here"

    def __init__(self, **columns):
        steps = 5 * np.arange(len(next(iter(columns.values()))))
        self.frame = pandas.DataFrame({"step": steps, **columns})
        self.result = {"final": {name: values[-1] for name, values in columns.items()}}

    def metrics(self):
        return self.frame


def test_first_steps_last_steps_and_values():
    w2 = [1.0, 0.2, 0.009, 0.02, 0.001]
    group = RunGroup("knot", "A", {0: Recorded(w2=w2), 3: Recorded(w2=np.ones(5)), 4: Recorded(other=[1.0])})
    assert group.values("first(log10_w2, -2)") == {0: 10.0, 3: np.inf}
    assert group.values("first(w2, 0.2)") == {0: 5.0, 3: np.inf}
    assert group.values("last_step(w2)") == {0: 20.0, 3: 20.0}
    assert group.values("w2") == {0: 0.001, 3: 1.0}
    assert group.values("log10_w2")[0] == pytest.approx(-3)
    steps, values = group.curves("log10_w2")
    assert (steps.tolist(), values.shape) == ([0, 5, 10, 15, 20], (5, 2))


@pytest.mark.parametrize(
    ("norms", "growth"),
    [
        (np.arange(1.0, 41), (38.5 - 18.5) / 18.5),  # at a constant pace it doubles
        (np.minimum(np.arange(1.0, 41), 15), 0),  # it settles
        (
            np.r_[np.linspace(9, 0.1, 20), np.linspace(0.1, 0.3, 20)],
            pytest.approx((0.2842 - 0.8026) / 9, abs=1e-3),
        ),  # small
        ([3.0], None),  # too few to say
    ],
)
def test_growth_over_the_last_half(norms, growth):
    values = RunGroup("knot", "A", {0: Recorded(learned_norm=norms)}).values("growth(learned_norm)")
    assert values.get(0) == growth
