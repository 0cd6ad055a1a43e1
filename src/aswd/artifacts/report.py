"""``aswd report``: one page with all reproduced artifacts and the verdicts on their claims."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from aswd.artifacts import tables
from aswd.artifacts.claims import LEVEL, MIN_SEEDS
from aswd.artifacts.declaration import SCALES, load, order_key
from aswd.artifacts.drawing import load_drawing
from aswd.artifacts.papers import Paper
from aswd.artifacts.reproduction import DIGESTS, FILES, judgement, outcome
from aswd.artifacts.results import SUFFIX, read_results
from aswd.config.changes import options_text
from aswd.utils.errors import UserError
from aswd.utils.files import find_damage, read_bytes, read_json, write_text

NEEDED = (
    *("artifact", "title", "number", "caption", "about", "paper", "metric", "reading", "scale", "changes", "heading"),
    *("command", "verdicts", "runs", "of"),
    *("wall_time", "devices", "revisions", "versions", "settings"),
)


def report(output_dir: Path | str, source: Path | None = None, config_dirs: Sequence[str] = ()) -> Path:
    """Write ``report/index.html``, ``report.md`` and ``tables.tex`` from the artifacts in ``output_dir``.

    Args:
        output_dir: folder of all results.
        source: a folder with files of results (``*.csv.gz``), from which tables and verdicts are made anew instead; without figures.
        config_dirs: folders with artifacts of the user's.

    Returns:
        The path of the page.

    Raises:
        UserError: there are no artifacts; a file of results cannot be read, or is of no artifact that is known.
    """
    sections = _sections(Path(output_dir, "artifacts")) if source is None else _judged_anew(source, config_dirs)
    if not sections:
        if source is not None:
            raise UserError(f"--from must be a folder with files of results of aswd reproduce (*{SUFFIX}); got {source}")
        raise UserError(f"there is no artifact in {output_dir} yet: aswd reproduce flow_main --scale smoke makes one")
    folder = Path(output_dir, "report")
    templates = _environment()
    for template, name in (("report.html.j2", "index.html"), ("report.md.j2", "report.md")):
        rules = {"level": f"{100 * LEVEL:g} %", "interval": f"{100 - 200 * LEVEL:g} %", "seeds": MIN_SEEDS}
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
        "number": lambda value: "" if pandas.isna(value) else tables.number(value),
        "options": options_text,
        "pretty": lambda value: json.dumps(value, indent=1),
        "markdown": tables.escape_markdown,
        "code": tables.markdown_code,
    }
    return templates


def _sections(folder: Path) -> list[dict[str, Any]]:
    """What the page shows of every artifact: in the order of listings, larger scales first."""
    summaries = [(path.parent, summary) for path in sorted(folder.glob("*/*/summary.json")) if (summary := _read(path)) is not None]
    anchors = [slug(f"{path.parent.name}-{path.name}") for path, _ in summaries]
    return _ordered([{**each, **_content(path, each), "anchor": name} for (path, each), name in zip(summaries, anchors, strict=True)])


def _judged_anew(folder: Path, config_dirs: Sequence[str]) -> list[dict[str, Any]]:
    """The same from the numbers of every seed in files of results."""
    sections = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        summary, cells = read_results(path)
        missing = [name for name in NEEDED if name not in summary and name not in ("verdicts", "runs", "of")]
        if missing:
            raise UserError(f"{path} is not a file of results of aswd reproduce: {missing[0]} is missing")
        artifact = load(summary["artifact"], config_dirs)
        frame = tables.table(artifact, cells)
        made = {"rows": frame.to_dict("records"), "table": tables.markdown(frame), "figure": None, "further": []}
        made["latex"] = load_drawing(artifact.draw, str(artifact.file)).latex(frame, summary["heading"])
        verdicts, _ = judgement(artifact, summary["scale"], cells)
        sections.append({**summary, **outcome(artifact, frame, verdicts), **made, "anchor": slug(path.name.removesuffix(SUFFIX))})
    return _ordered(sections)


def _ordered(sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sections in their order, each with its paper and an anchor of its own."""
    sections = [{**section, "paper": Paper(**section["paper"]) if section["paper"] else None} for section in sections]
    rank = {name: -index for index, name in enumerate(SCALES)}

    def place(section: dict[str, Any]) -> tuple:
        order = order_key(section["artifact"], section["number"], section["paper"])
        return order, rank.get(section["scale"], 1), section["reading"]

    sections.sort(key=place)
    anchors: list[str] = []
    for section in sections:
        anchor = section["anchor"]
        anchors.append(f"{anchor}-{len(anchors)}" if anchor in anchors else anchor)
    return [{**section, "anchor": anchor} for section, anchor in zip(sections, anchors, strict=True)]


def _read(path: Path) -> dict[str, Any] | None:
    """A summary, if everything that the page shows is there."""
    summary, expected = read_json(path) or {}, read_json(path.with_name(DIGESTS)) or {}
    missing = [name for name in NEEDED if name not in summary] or [DIGESTS for name in FILES if name not in expected]
    damage = f"{missing[0]} is missing" if missing else find_damage(path.parent, expected)
    if damage is not None:
        print(f"aswd: {path.parent} is left out: {damage} (aswd reproduce makes it again)", file=sys.stderr)
        return None
    return summary


def _content(folder: Path, summary: dict[str, Any]) -> dict[str, Any]:
    """Figure and tables of an artifact."""
    return {
        "figure": _image(folder / "figure.png"),
        "further": [_image(folder / f"{name}.png") for name in summary.get("further", []) if (folder / f"{name}.png").exists()],
        "rows": pandas.read_csv(folder / "table.csv", keep_default_na=False, na_values=[""]).to_dict("records"),
        "table": (folder / "table.md").read_text(encoding="utf-8"),
        "latex": (folder / "table.tex").read_text(encoding="utf-8"),
    }


def _image(path: Path) -> str:
    """A file as the page holds it."""
    return base64.b64encode(read_bytes(path)).decode()


def slug(text: str) -> str:
    """Text as part of an address or a class: letters, digits, dots, underscores and hyphens.

    >>> slug("does not hold"), slug('a"><b>')
    ('does-not-hold', 'a-b')
    """
    return re.sub(r"[^\w.]+", "-", text, flags=re.ASCII).strip("-") or "unnamed"
