"""Papers: folders of artifacts, ``artifact/<paper>``, with a title and a citation in ``paper.yaml``."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import yaml

from aswd.utils.checks import nearest
from aswd.utils.errors import UserError

FILE = "paper.yaml"


@dataclass(frozen=True)
class Paper:
    """What a folder of artifacts is from.

    Args:
        title: of the paper.
        authors: their names.
        venue: where it appeared.
        year: when; papers are listed in the order of their years.
        citation: for a bibliography.
    """

    title: str
    authors: str = ""
    venue: str = ""
    year: int = 0
    citation: str = ""

    @property
    def line(self) -> str:
        """The paper in a line.

        >>> Paper("On slices", "A. Author, B. Author", "ICLR", 2024).line
        'On slices. A. Author, B. Author. ICLR 2024'
        """
        appeared = " ".join(part for part in (self.venue, str(self.year or "")) if part)
        return ". ".join(part for part in (self.title, self.authors, appeared) if part)


def load_paper(folder: Path) -> Paper:
    """The paper that a folder of artifacts declares.

    Raises:
        UserError: its ``paper.yaml`` cannot be read, or is not valid.
    """
    path = folder / FILE
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{path}, which says what paper the artifacts in its folder are from, cannot be read: {_line(error)}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} must consist of options; got {content!r}")
    known = {f.name: int if f.name == "year" else str for f in fields(Paper)}
    for key, value in content.items():
        if key not in known:
            raise UserError(f"{path}: {key} is not an option of a paper: {nearest(str(key), known)}")
        if not isinstance(value, known[key]) or isinstance(value, bool):
            raise UserError(f"{path}: {key} must be {'a whole number' if known[key] is int else 'a text'}; got {value!r}")
    if not content.get("title"):
        raise UserError(f"{path}: title must be given a value")
    return Paper(**content)


def _line(error: Exception) -> str:
    return " ".join(str(getattr(error, "strerror", None) or error).split())
