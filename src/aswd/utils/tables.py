"""Tables of text."""

from __future__ import annotations

from collections.abc import Iterable


def table(header: tuple[str, ...], rows: Iterable[tuple]) -> str:
    """Columns of text, as wide as they need to be."""
    lines = [header, *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
