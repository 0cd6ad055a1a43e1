"""The page of ``aswd report``: everything in one file, from the folders of the artifacts."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from PIL import Image
from plotly.offline import get_plotlyjs

from aswd.artifacts import tables
from aswd.artifacts.claims import LEVEL, MIN_SEEDS, NONE, OPEN
from aswd.artifacts.declaration import SCALES, load, order_key
from aswd.artifacts.drawing import load_drawing
from aswd.artifacts.papers import Paper
from aswd.artifacts.reproduction import DIGESTS, FILES, judgement, outcome
from aswd.artifacts.results import SUFFIX, Numbers, merge_results, read_results
from aswd.artifacts.views import data_address
from aswd.config.changes import options_text
from aswd.utils.errors import UserError
from aswd.utils.files import find_damage, read_bytes, read_json, write_text

NEEDED = (
    *("artifact", "title", "number", "caption", "about", "paper", "task", "metric", "reading", "scale", "changes", "heading"),
    *("command", "verdicts", "no_verdict", "runs", "of", "wall_time", "devices", "revisions", "versions", "settings"),
)
_HERE = Path(__file__).parent
_SCRIPTS = ("page.js", "views.js")
MAX_WIDTH = 1600  # of a figure, in pixels


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
    sections = read_sections(Path(output_dir)) if source is None else _judged_anew(source, config_dirs)
    if not sections:
        if source is not None:
            raise UserError(f"--from must be a folder with files of results of aswd reproduce (*{SUFFIX}); got {source}")
        raise UserError(f"there is no artifact in {output_dir} yet: aswd reproduce flow_main --scale smoke makes one")
    folder = Path(output_dir, "report")
    write_text(folder / "index.html", page(sections))
    write_text(folder / "report.md", _environment().get_template("report.md.j2").render(sections=sections) + "\n")
    write_text(folder / "tables.tex", "\n".join(section["latex"] for section in sections))
    return folder / "index.html"


def page(sections: list[dict[str, Any]], live: bool = False) -> str:
    """The page, which needs nothing else; ``live`` is for one that is served, and follows the sweeps."""
    scripts = (*_SCRIPTS, "live.js") if live else _SCRIPTS
    verdicts = {verdict["verdict"] for section in sections for verdict in section["verdicts"]}
    filters = {
        "paper": list(dict.fromkeys(section["paper"].title for section in sections if section["paper"])),
        "task": sorted({section["task"] for section in sections}),
        "verdict": sorted(verdicts),
    }
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            sections=sections,
            live=live,
            filters={name: values for name, values in filters.items() if values},
            css=(_HERE / "page.css").read_text(encoding="utf-8"),
            scripts="".join((_HERE / name).read_text(encoding="utf-8") for name in scripts),
            # A quarter of the size; the browser unpacks it.
            plotly=base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode(),
            level=f"{100 * LEVEL:g} %",
            interval=f"{100 - 200 * LEVEL:g} %",
            seeds=MIN_SEEDS,
        )
        + "\n"
    )


def _environment() -> Environment:
    templates = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
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


def compare(row: dict[str, Any]) -> str:
    """How our interval lies to the published value of a row; nothing where one of them is missing."""
    if pandas.isna(row["published"]) or not row["n"]:
        return ""
    if row["n"] < MIN_SEEDS:
        return OPEN
    return "ours is higher" if row["published"] < row["low"] else "ours is lower" if row["published"] > row["high"] else "within interval"


def read_sections(output_dir: Path) -> list[dict[str, Any]]:
    """What the page shows of every artifact: in the order of listings, larger scales first."""
    found = sorted((output_dir / "artifacts").glob("*/*/summary.json"))
    summaries = [(path.parent, summary) for path in found if (summary := _read(path)) is not None]
    return _ordered([{**summary, **_content(path), "anchor": slug(f"{path.parent.name}-{path.name}")} for path, summary in summaries])


def _judged_anew(folder: Path, config_dirs: Sequence[str]) -> list[dict[str, Any]]:
    """The same from the numbers of every seed in files of results; files of one artifact and setting are its parts."""
    sections, parts = [], dict[tuple, dict[Path, tuple[dict[str, Any], list[Numbers]]]]()
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        summary, cells = read_results(path)
        missing = [name for name in NEEDED if name not in summary and name not in ("task", "verdicts", "no_verdict", "runs", "of")]
        if missing:
            raise UserError(f"{path} is not a file of results of aswd reproduce: {missing[0]} is missing")
        setting = *(summary[name] for name in ("artifact", "reading", "scale")), json.dumps(summary["changes"], sort_keys=True)
        parts.setdefault(setting, {})[path] = summary, cells
    for files in parts.values():
        path = next(iter(files))
        summary, cells = merge_results(files)
        artifact = load(summary["artifact"], config_dirs)
        summary["task"] = artifact.task  # files of before have none
        frame = tables.table(artifact, cells)
        made = {
            "figure": None,
            "views": [],
            "rows": frame.to_dict("records"),
            "csv": frame.to_csv(index=False),
            "table": tables.markdown(frame),
        }
        made["latex"] = load_drawing(artifact.draw, str(artifact.file)).latex(frame, summary["heading"])
        verdicts, _ = judgement(artifact, summary["scale"], cells)
        result = outcome(artifact, summary["scale"], cells, frame, verdicts)
        sections.append({**summary, **result, **made, "anchor": slug(path.name.removesuffix(SUFFIX))})
    return _ordered(sections)


def _ordered(sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sections in their order, each with its paper and an anchor of its own, and its rows compared with the published values."""
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
        for row in section["rows"]:
            row["comparison"] = NONE if section["no_verdict"] and pandas.notna(row["published"]) else compare(row)
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


def _content(folder: Path) -> dict[str, Any]:
    """Figure, tables and views of an artifact."""
    rows = pandas.read_csv(folder / "table.csv", keep_default_na=False, na_values=[""]).to_dict("records")
    with Image.open(io.BytesIO(read_bytes(folder / "figure.png"))) as figure:
        figure.thumbnail((MAX_WIDTH, 4 * MAX_WIDTH))
        address = data_address(figure.convert("RGB"))
    return {
        "figure": address,
        "views": json.loads((folder / "views.json").read_text(encoding="utf-8")),
        "rows": rows,
        "csv": (folder / "table.csv").read_text(encoding="utf-8"),
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
