"""Timing of alternatives that take turns."""

import time

from aswd.utils.timing import time_rounds


def test_alternatives_take_turns_and_every_round_is_reported():
    calls, rounds = [], []
    alternatives = {name: lambda name=name: (calls.append(name), time.sleep(0.002)) for name in ("a", "b")}
    times = time_rounds(alternatives, rounds=4, burst=0.0, on_round=lambda: rounds.append(1))
    assert len(rounds) == 4
    assert {name: len(values) for name, values in times.items()} == {"a": 4, "b": 4}
    assert all(value >= 0.002 for values in times.values() for value in values)
    assert calls == ["a", "a", "b", "b", *["a", "b"] * 4]  # two calls to set up


def test_a_slow_alternative_is_run_three_times():
    assert len(time_rounds({"slow": lambda: time.sleep(0.02)}, rounds=9, budget=0.05, burst=0.0)["slow"]) == 3
