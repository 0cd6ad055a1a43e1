"""Tables of text: plain, or with colours where the output is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

_COLOURS = {
    **dict.fromkeys(("done", "holds"), "green"),
    **dict.fromkeys(("failed", "damaged", "does not hold"), "red"),
    **dict.fromkeys(("running", "interrupted", "not decided"), "yellow"),
    **dict.fromkeys(("waiting", "skipped", "no verdict"), "dim"),
}


def table(header: Sequence[str], rows: Iterable[Sequence]) -> str:
    """Columns of text, as wide as they need to be, numbers on the right; in a terminal within its width, with states in colour.

    >>> print(table(("name", "n"), [("a", 8), ("b", 10)]))
    name   n
    a      8
    b     10
    """
    content = [[str(cell) for cell in row] for row in rows]
    numeric = [bool(column) and all(map(_is_number, column)) for column in zip(*content, strict=True)] or [False] * len(header)
    if sys.stdout.isatty():
        return _coloured(header, content, numeric)
    lines = [list(header), *content]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    adjust = [str.rjust if each else str.ljust for each in numeric]
    return "\n".join("  ".join(put(cell, width) for put, cell, width in zip(adjust, line, widths, strict=True)).rstrip() for line in lines)


def _coloured(header: Sequence[str], content: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """The same by rich, which knows the terminal, its width, and ``NO_COLOR``."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, is_numeric in zip(header, numeric, strict=True):
        made.add_column(Text(name), justify="right" if is_numeric else "left", overflow="fold")
    for row in content:
        made.add_row(*(Text(cell, _COLOURS.get(cell, "")) for cell in row))
    console = Console(highlight=False)
    with console.capture() as capture:
        console.print(made)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _is_number(cell: str) -> bool:
    try:
        float(cell.rstrip("%"))
    except ValueError:
        return cell in ("", "-")
    return True
