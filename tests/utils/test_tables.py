"""Tables of text, plain and in a terminal."""

import re

import pytest

from aswd.utils.tables import table

HEADER, ROWS = ("run", "state", "n"), [("flow knot swd", "done", 8), ("flow knot [bold]aswd", "failed", 10)]


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)


def plain(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_a_terminal_shows_the_same_text_with_states_in_colour(terminal, monkeypatch, capsys):
    coloured = table(HEADER, ROWS)
    assert "\x1b[32mdone\x1b[0m" in coloured
    assert "\x1b[31mfailed\x1b[0m" in coloured
    assert "\x1b[1mrun" in coloured
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    assert [line.split() for line in plain(coloured).splitlines()] == [line.split() for line in table(HEADER, ROWS).splitlines()]
    assert "\x1b" not in table(HEADER, ROWS)


def test_no_colour_where_none_is_wanted(terminal, monkeypatch, capsys):
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[3\d", table(HEADER, ROWS))


def test_long_texts_stay_within_the_width_of_the_terminal(terminal, capsys):
    lines = plain(table(("run", "reason"), [("a", "word " * 40)])).splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= 60


def test_no_rows_are_a_heading_alone():
    assert table(HEADER, []) == "run  state  n"
