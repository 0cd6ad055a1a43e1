"""Tables of text, plain and in a terminal."""

import re

from aswd.utils.tables import table

HEADER, ROWS = ("run", "state", "n"), [("flow knot swd", "done", 8), ("flow knot [bold]aswd", "failed", 10)]


def table_in_terminal(monkeypatch, header, rows):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    return table(header, rows)


def plain(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_a_terminal_shows_the_same_text_with_states_in_colour(monkeypatch, capsys):
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = table_in_terminal(monkeypatch, HEADER, ROWS)
    assert re.search(r"\x1b\[32mdone *\x1b\[0m", coloured)
    assert re.search(r"\x1b\[31mfailed *\x1b\[0m", coloured)
    assert "\x1b[1mrun" in coloured
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    assert [line.split() for line in plain(coloured).splitlines()] == [line.split() for line in table(HEADER, ROWS).splitlines()]
    assert "\x1b" not in table(HEADER, ROWS)


def test_no_colour_where_none_is_wanted(monkeypatch, capsys):
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[3\d", table_in_terminal(monkeypatch, HEADER, ROWS))


def test_long_texts_stay_within_the_width_of_the_terminal(monkeypatch, capsys):
    lines = plain(table_in_terminal(monkeypatch, ("run", "reason"), [("a", "word " * 40)])).splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= 60


def test_no_rows_are_a_heading_alone():
    assert table(HEADER, []) == "run  state  n"
