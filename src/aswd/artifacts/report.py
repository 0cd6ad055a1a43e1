"""``aswd report``: one page with all reproduced artifacts and the verdicts on their claims."""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

import pandas
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from aswd.artifacts.claims import CONFIDENCE, MIN_SEEDS
from aswd.artifacts.declaration import SCALES, order_key
from aswd.artifacts.papers import Paper
from aswd.artifacts.reproduction import DIGESTS, FILES
from aswd.artifacts.tables import escape_markdown, markdown_code, number
from aswd.config.changes import options_text
from aswd.utils.errors import UserError
from aswd.utils.files import find_damage, read_bytes, read_json, write_text

NEEDED = (
    *("artifact", "title", "number", "caption", "about", "paper", "metric", "reading", "scale", "changes", "command", "verdicts"),
    *("runs", "of", "wall_time", "devices", "revisions", "versions", "settings"),
)


def report(output_dir: Path | str) -> Path:
    """Write ``report/index.html``, ``report.md`` and ``tables.tex`` from the artifacts in ``output_dir``.

    Returns:
        The path of the page.

    Raises:
        UserError: there are no artifacts.
    """
    sections = _sections(Path(output_dir, "artifacts"))
    if not sections:
        raise UserError(f"there is no artifact in {output_dir} yet: aswd reproduce flow_main --scale smoke makes one")
    folder = Path(output_dir, "report")
    templates = _environment()
    for template, name in (("report.html.j2", "index.html"), ("report.md.j2", "report.md")):
        rules = {"confidence": f"{100 * CONFIDENCE:g} %", "seeds": MIN_SEEDS}
        write_text(folder / name, templates.get_template(template).render(sections=sections, **rules) + "\n")
    write_text(folder / "tables.tex", "\n".join(section["latex"] for section in sections))
    return folder / "index.html"


def _environment() -> Environment:
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
    )
    templates.filters |= {
        "slug": slug,
        "number": lambda value: "" if pandas.isna(value) else number(value),
        "options": options_text,
        "pretty": lambda value: json.dumps(value, indent=1),
        "markdown": escape_markdown,
        "code": markdown_code,
    }
    return templates


def _sections(folder: Path) -> list[dict[str, Any]]:
    """What the page shows of every artifact: in the order of listings, larger scales first."""
    summaries = [(path.parent, summary) for path in sorted(folder.glob("*/*/summary.json")) if (summary := _read(path)) is not None]
    rank = {name: -index for index, name in enumerate(SCALES)}

    def place(each: tuple[Path, dict[str, Any]]) -> tuple:
        summary = each[1]
        order = order_key(summary["artifact"], summary["number"], summary["paper"])
        return order, rank.get(summary["scale"], 1), summary["reading"]

    summaries.sort(key=place)
    anchors: list[str] = []
    for path, _ in summaries:
        anchor = slug(f"{path.parent.name}-{path.name}")
        anchors.append(f"{anchor}-{len(anchors)}" if anchor in anchors else anchor)
    return [{**summary, **_content(path), "anchor": anchor} for (path, summary), anchor in zip(summaries, anchors, strict=True)]


def _read(path: Path) -> dict[str, Any] | None:
    """A summary, if everything that the page shows is there."""
    summary, expected = read_json(path) or {}, read_json(path.with_name(DIGESTS)) or {}
    missing = [name for name in NEEDED if name not in summary] or [DIGESTS for name in FILES if name not in expected]
    damage = f"{missing[0]} is missing" if missing else find_damage(path.parent, expected)
    if damage is not None:
        print(f"aswd: {path.parent} is left out: {damage} (aswd reproduce makes it again)", file=sys.stderr)
        return None
    return {**summary, "paper": Paper(**summary["paper"]) if summary["paper"] else None}


def _content(folder: Path) -> dict[str, Any]:
    """Figure and tables of an artifact."""
    return {
        "figure": base64.b64encode(read_bytes(folder / "figure.png")).decode(),
        "rows": pandas.read_csv(folder / "table.csv", keep_default_na=False, na_values=[""]).to_dict("records"),
        "table": (folder / "table.md").read_text(encoding="utf-8"),
        "latex": (folder / "table.tex").read_text(encoding="utf-8"),
    }


def slug(text: str) -> str:
    """Text as part of an address or a class: letters, digits, dots, underscores and hyphens.

    >>> slug("does not hold"), slug('a"><b>')
    ('does-not-hold', 'a-b')
    """
    return re.sub(r"[^\w.]+", "-", text, flags=re.ASCII).strip("-") or "unnamed"
