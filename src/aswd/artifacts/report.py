"""``aswd report``: one page that says what holds, with every artifact that was made."""

from __future__ import annotations

import base64
import json
import sys
from html import escape
from pathlib import Path

import pandas

from aswd.artifacts.declaration import SCALES, artifact_names
from aswd.utils.errors import UserError
from aswd.utils.files import read_json, write_text

NEEDED = (
    "artifact",
    "title",
    "number",
    "about",
    "metric",
    "reading",
    "scale",
    "changes",
    "command",
    "verdicts",
    "runs",
    "of",
    "wall_time",
    "versions",
)
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --good: #1a7f37; --bad: #cf222e; --open: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --good: #3fb950; --bad: #f85149; --open: #d29922; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 0 auto; padding: 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.5rem; }
figure { margin: 1rem 0; background: white; border-radius: 6px; padding: .5rem; } img { width: 100%; height: auto; display: block; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { background: var(--soft); padding: .1rem .3rem; border-radius: 4px; overflow-wrap: anywhere; }
details { margin: .5rem 0; } pre { overflow-x: auto; background: var(--soft); padding: .6rem; border-radius: 6px; font-size: .8rem; }
.holds { color: var(--good); } .does-not-hold { color: var(--bad); } .not-decided { color: var(--open); }
.verdict { font-weight: 600; white-space: nowrap; }
"""


def report(output_dir: Path) -> Path:
    """Write ``report/index.html``, ``report.md`` and ``tables.tex`` from the artifacts in ``output_dir``.

    Raises:
        UserError: there are none yet.
    """
    found = _outcomes(Path(output_dir, "artifacts"))
    if not found:
        raise UserError(f"no artifact was made in {output_dir} yet: aswd reproduce flow_main --scale smoke makes one")
    folder = Path(output_dir, "report")
    write_text(folder / "index.html", _page(found))
    write_text(folder / "report.md", _markdown(found))
    write_text(folder / "tables.tex", "\n".join((place / "table.tex").read_text(encoding="utf-8") for place, _ in found))
    return folder / "index.html"


def _outcomes(folder: Path) -> list[tuple[Path, dict]]:
    """Folders of the artifacts with what they came to, in the order of the paper, the larger scale first."""
    found = []
    for path in sorted(folder.glob("*/*/outcome.json")):
        outcome = read_json(path)
        missing = [name for name in NEEDED if name not in (outcome or {})]
        if missing:
            print(f"aswd: {path} is damaged or of another version (no {missing[0]}): aswd reproduce makes it again", file=sys.stderr)
        else:
            found.append((path.parent, outcome))
    order = {name: place for place, name in enumerate(artifact_names())}
    scale = {name: -place for place, name in enumerate(SCALES)}
    return sorted(found, key=lambda one: (order.get(one[1]["artifact"], len(order)), scale.get(one[1]["scale"], 1), one[1]["reading"]))


def _page(found: list[tuple[Path, dict]]) -> str:
    body = "".join(_section(place, outcome) for place, outcome in found)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>ASWD: what was reproduced</title><style>{_STYLE}</style></head><body>'
        "<h1>Augmented Sliced Wasserstein Distances: what was reproduced</h1>"
        "<p>Each claim by the runs of one artifact, at one scale and reading; paired by seed, 95 % intervals, never on a single seed.</p>"
        f"{_summary(found)}{body}</body></html>\n"
    )


def _summary(found: list[tuple[Path, dict]]) -> str:
    rows = []
    for _, outcome in found:
        for verdict in outcome["verdicts"]:
            where = (
                f'<a href="#{_anchor(outcome)}">{escape(outcome["number"])}</a>, {escape(outcome["reading"])}, {escape(outcome["scale"])}'
            )
            rows.append(
                f"<tr><td>{escape(verdict['claim'])}</td><td>{escape(verdict['text'])}</td><td>{where}</td>{_verdict(verdict)}</tr>"
            )
    head = "<tr><th>claim</th><th>in words</th><th>by</th><th>verdict</th></tr>"
    return f'<div class="wide"><table id="claims"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'


def _verdict(verdict: dict) -> str:
    kind = verdict["verdict"].replace(" ", "-")
    return f'<td class="verdict {kind}">{escape(verdict["verdict"])}</td>'


def _section(place: Path, outcome: dict) -> str:
    frame = pandas.read_csv(place / "table.csv")
    picture = base64.b64encode((place / "figure.png").read_bytes()).decode()
    title = f"{outcome['number']}: {outcome['title']}"
    verdicts = "".join(
        f"<tr><td>{escape(v['claim'])}</td><td>{escape(v['text'])}</td>{_verdict(v)}<td>{escape(v['numbers'])}</td></tr>"
        for v in outcome["verdicts"]
    )
    versions = ", ".join(f"{name} {version}" for name, version in sorted(outcome["versions"].items()))
    facts = (
        f"{outcome['runs']} of {outcome['of']} runs, {outcome['wall_time'] / 60:.0f} minutes of training on "
        f"{', '.join(outcome['devices'])}; revision {', '.join(outcome['revisions'])}; {versions}"
    )
    return (
        f'<h2 id="{_anchor(outcome)}">{escape(title)}</h2><p>{escape(outcome["about"])} Reading <b>{escape(outcome["reading"])}</b>, '
        f"scale <b>{escape(outcome['scale'])}</b>{escape(''.join(f', {one}' for one in outcome['changes']))}.</p>"
        f'<figure><img alt="{escape(title)}" src="data:image/png;base64,{picture}"></figure>'
        f'<div class="wide"><table><tbody>{verdicts}</tbody></table></div>'
        f"<details><summary>Numbers: {escape(outcome['metric'])}, ours and published</summary>{_numbers(frame)}</details>"
        f"<p>Made by <code>{escape(outcome['command'])}</code>. {escape(facts)}.</p>"
        f"<details><summary>Configuration</summary><pre>{escape(json.dumps(outcome['settings'], indent=1))}</pre></details>"
    )


def _numbers(frame: pandas.DataFrame) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("data", "series", "metric", "n", "ours", "standard error", "published", "difference"))
    rows = []
    for row in frame.itertuples():
        seeds = f"{row.n} of {row.of}" + (f", {row.failed} failed" if row.failed else "")
        cells = [seeds, *(_shown(value) for value in (row.mean, row.standard_error, row.published, row.difference))]
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        rows.append(f"<tr><td>{escape(row.data)}</td><td>{escape(row.label)}</td><td>{escape(row.metric)}</td>{numbers}</tr>")
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _shown(value: float) -> str:
    return "" if pandas.isna(value) else f"{value:.2f}"


def _anchor(outcome: dict) -> str:
    return "-".join([outcome["artifact"], outcome["reading"], outcome["scale"], *outcome["changes"]])


def _markdown(found: list[tuple[Path, dict]]) -> str:
    parts = ["# What was reproduced\n"]
    for place, outcome in found:
        parts.append(f"## {outcome['number']}: {outcome['title']} (reading {outcome['reading']}, scale {outcome['scale']})\n")
        parts.append(f"`{outcome['command']}`\n")
        parts += ["\n".join(f"- **{v['claim']}** {v['text']} **{v['verdict']}**: {v['numbers']}" for v in outcome["verdicts"]) + "\n"]
        parts.append(f"{outcome['metric']}: mean ± standard error (n) [published]\n\n" + (place / "table.md").read_text(encoding="utf-8"))
    return "\n".join(parts)
