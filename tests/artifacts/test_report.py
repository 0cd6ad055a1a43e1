"""The report on artifacts."""

import gzip
import json
import re
import shlex
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas
import pytest
from matplotlib.figure import Figure

from aswd.artifacts import views
from aswd.artifacts.claims import claim, registry
from aswd.artifacts.declaration import load
from aswd.artifacts.report import report
from aswd.artifacts.reproduction import DIGESTS, FILES, Reproduction
from aswd.artifacts.results import SUFFIX, Numbers, read_results, write_results
from aswd.cli.main import main
from aswd.utils.errors import UserError
from aswd.utils.files import digests, write_json
from tests.artifacts.browser import BROWSER, Browser
from tests.artifacts.test_declaration import MINIMAL, declare
from tests.artifacts.test_reproduce import reproduce


class ParsedPage(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.images, self.links, self.anchors = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "img":
            self.images.append(attributes["src"])
        if tag == "a":
            self.links.append(attributes["href"])
        if "id" in attributes:
            self.anchors.append(attributes["id"])


def reproduce_small_flow(folder, *arguments):
    """The main figure with one target and three distances."""
    text = "like: flow_main\ndata: [knot]\nseries:\n"
    text += "".join(f"  - {{label: {name.upper()}, distance: {name}}}\n" for name in ("aswd", "swd", "dswd"))
    assert reproduce(folder, "small_flow", "--config-dir", *declare(folder, text, "small_flow"), *arguments) == 0


@pytest.fixture(scope="module")
def report_page(tmp_path_factory):
    """The report of one figure in two readings."""
    folder = tmp_path_factory.mktemp("report")
    reproduce_small_flow(folder)
    reproduce_small_flow(folder, "--reading", "paper")
    assert main(["report", f"paths.output_dir={folder}"]) == 0
    return folder / "report" / "index.html"


@pytest.mark.slow
def test_the_report_is_one_page_that_needs_nothing(report_page):
    page = ParsedPage(report_page.read_text())
    assert len(page.images) == 2
    assert all(source.startswith("data:image/webp;base64,") for source in page.images)
    assert page.links
    assert all(link.removeprefix("#") in page.anchors for link in page.links)
    assert not re.search(r"https?://", report_page.read_text())
    assert report_page.with_name("report.md").read_text().count("## Figure 2") == 2
    assert report_page.with_name("tables.tex").read_text().count(r"\toprule") == 2


OUR_SCRIPTS = 2  # the page's own and the packed library; every artifact adds one with its data
EVIL = '<script>alert(1)</script>"&|[x](javascript:alert(2)) `\n\n# no\n'
FACTS = {"wall_time": 60.0, "devices": [EVIL], "revisions": [EVIL], "versions": {EVIL: EVIL}, "settings": {EVIL: EVIL}}


def write(folder, name, text=MINIMAL, label="A", claims=(), scale="tiny", views=(), folders=None):
    """An artifact of made-up numbers; declared here unless it is in ``folders``."""
    folders = folders or declare(folder, text + f"claims: {json.dumps(list(claims))}\n", name)
    reproduction = Reproduction(load(name, folders), scale, "reference", [f"paths.output_dir={folder}"], folders)
    cells = [Numbers("knot", label, list(range(6)), {"w2": dict.fromkeys(range(5), 0.5)}, failed=[5])]
    reproduction.write(Figure(), pandas.DataFrame(), list(views), cells, FACTS)
    return reproduction


@pytest.fixture
def known(monkeypatch):
    """Claims of this test alone."""
    monkeypatch.setattr(registry, "CLAIMS", dict(registry.CLAIMS))
    return claim


def test_nothing_from_a_label_a_claim_or_a_title_is_markup(tmp_path, known):
    quoted = json.dumps(EVIL)
    text = f"# {EVIL}\ntitle: {quoted}\nnumber: {quoted}\n" + MINIMAL.replace("label: A", f"label: {quoted}")
    known(EVIL, EVIL)(lambda evidence: (True, EVIL))
    series = [views.curve(EVIL, np.arange(2), np.ones((2, 1)), [0])]
    write(tmp_path, "mine", text, EVIL, claims=[EVIL], views=views.curves(EVIL, [views.panel(EVIL, EVIL, EVIL, series)]))
    page = report(tmp_path)
    assert page.read_text().lower().count("<script") == OUR_SCRIPTS + 1
    assert "&lt;script&gt;alert(1)" in page.read_text()
    classes = re.findall(r'class="verdict ([^"]*)"', page.read_text())
    assert classes == ["holds"] * 2
    (content,) = re.findall(r'<script type="application/json" class="content">(.*?)</script>', page.read_text())
    assert json.loads(content)["views"][0]["panels"][0]["series"][0]["label"] == EVIL
    parsed = ParsedPage(page.read_text())
    assert parsed.links == ["#main", "#mine-reference-tiny"]
    assert parsed.links[1][1:] in parsed.anchors
    markdown = page.with_name("report.md").read_text()
    (command,) = [line for line in markdown.splitlines() if line.startswith("`")]
    assert shlex.split(command.strip("` "))[:3] == ["aswd", "reproduce", "mine"]
    outside_code = markdown.replace(command, "")
    assert "<script" not in outside_code
    assert r"\|" in outside_code
    assert "[x](" not in outside_code.replace(r"\[", "").replace(r"\]", "")
    assert [line for line in outside_code.splitlines() if line.startswith("#")] == [
        "# Reproduced figures and tables",
        next(line for line in outside_code.splitlines() if line.startswith("## ")),
    ]
    assert re.findall(r"(?<!\\)`", outside_code) == []


def test_ids_and_classes_of_files_that_others_wrote_are_escaped(tmp_path, known):
    """The digests are right, but a summary and the name of its folder are hostile."""
    known("Q", "x")(lambda evidence: (True, "z"))
    reproduction = write(tmp_path, "mine", claims=["Q"])
    folder = reproduction.folder.rename(reproduction.folder.with_name('x" onclick="alert(1)'))
    summary = json.loads((folder / "summary.json").read_text())
    summary["verdicts"][0]["verdict"] = EVIL
    (folder / "summary.json").write_text(json.dumps({**summary, "scale": EVIL, "reading": EVIL, "changes": {EVIL: EVIL}}))
    write_json(folder / DIGESTS, digests(folder, FILES))
    text = report(tmp_path).read_text()
    assert [anchor for anchor in ParsedPage(text).anchors if "mine" in anchor] == ["mine-x-onclick-alert-1", "mine-x-onclick-alert-1-title"]
    assert "onclick=" not in text
    assert text.count("<script") == OUR_SCRIPTS + 1
    assert set(re.findall(r'class="verdict ([^"]*)"', text)) == {"script-alert-1-script-x-javascript-alert-2-no"}


def test_sections_come_ours_first_and_have_all_that_was_written(tmp_path, known):
    known("Q1", "It works.")(lambda evidence: (True, "3 of 3"))
    write(tmp_path, "aaa", f"title: Mine\nnumber: Figure 1\n{MINIMAL}", claims=["Q1"])
    reproduce_summary(tmp_path, "flow_full")
    reproduce_summary(tmp_path, "flow_main")
    text = report(tmp_path).read_text()
    titles = re.findall(r"<h2 [^>]*>([^<]*)</h2>", text)
    assert titles == [
        "Claims",
        "Figure 2: Sliced Wasserstein flow",
        "Figure 4: Sliced Wasserstein flow, all targets and distances",
        "Figure 1: Mine",
    ]
    for part in (
        '<td class="verdict holds">holds</td>',
        "It works.",
        "3 of 3",
        "5 of 6, 1 failed",
        '<td class="number">0.50</td>',
        "1 minutes",
        "aswd reproduce aaa",
    ):
        assert part in text
    assert "90 % intervals" in text


def reproduce_summary(folder, name):
    """An artifact of ours, of which only what the report needs is written."""
    source = folder / "artifacts" / "aaa" / "reference-tiny"
    target = folder / "artifacts" / name / "reference-smoke"
    shutil.copytree(source, target)
    artifact = load(name)
    summary = json.loads((source / "summary.json").read_text())
    summary |= {"artifact": name, "number": artifact.number, "caption": artifact.caption, "scale": "smoke", "verdicts": []}
    (target / "summary.json").write_text(json.dumps(summary))
    write_json(target / DIGESTS, digests(target, FILES))


def test_what_is_damaged_is_left_out_with_a_sentence(tmp_path, capsys):
    whole, broken, empty, edited = (write(tmp_path, name) for name in ("whole", "broken", "empty", "edited"))
    path = edited.folder / "table.csv"
    path.write_text(path.read_text().replace("0.5", "-99"))
    (broken.folder / "summary.json").write_text("{}")
    (empty.folder / "table.csv").unlink()
    text = report(tmp_path).read_text()
    assert text.count("<article") == 1
    assert whole.command in text
    err = capsys.readouterr().err
    assert f"{broken.folder} is left out: artifact is missing" in err
    assert f"{empty.folder} is left out: table.csv is missing" in err
    assert f"{edited.folder} is left out: table.csv has changed since it was written" in err
    assert "-99" not in text
    with pytest.raises(UserError, match=r"there is no artifact in .* yet"):
        report(tmp_path / "nowhere")


def test_the_published_page_is_made_from_the_results_that_are_kept(tmp_path):
    kept = Path(__file__).parents[2] / "docs" / "results"
    assert main(["report", "--from", str(kept), f"paths.output_dir={tmp_path}"]) == 0
    page = (tmp_path / "report" / "report.md").read_text()
    names = {path.name.partition(".")[0] for path in kept.glob("*.csv.gz")}
    assert len(names) > 4
    assert all(f"aswd reproduce {name.partition('_paper')[0]} " in page for name in names)


def test_the_report_from_files_of_results_is_the_one_from_the_runs(tmp_path, known):
    """Through the commands, on real runs of the flow: the same verdicts, numbers and tables, without the store."""
    text = MINIMAL.replace("metric: w2", "metric: log10_w2\nalso: [learned_norm]")
    text = text.replace("seeds: 1", "seeds: 6, num_projections: 5, overrides: [task.iterations=20, data.num_samples=20]")
    text = text.replace("[{label: A, distance: swd}]", "[{label: ASWD, distance: aswd}, {label: 'B, \"2\"', distance: dswd}]")
    folders = declare(tmp_path, text + "claims: [F0, F2]\n")
    command = ["reproduce", "mine", "--scale", "tiny", "--config-dir", *folders, f"paths.output_dir={tmp_path / 'store'}"]
    command += ["trainer.enable_progress_bar=false"]
    assert main(command) == 0
    (made,) = (tmp_path / "store" / "artifacts" / "mine").iterdir()
    page = report(tmp_path / "store")
    kept = tmp_path / "kept"
    kept.mkdir()
    shutil.copy(made / f"results{SUFFIX}", kept / f"mine{SUFFIX}")
    shutil.rmtree(tmp_path / "store" / "runs")
    arguments = ["report", "--from", str(kept), "--config-dir", *folders, f"paths.output_dir={tmp_path / 'elsewhere'}"]
    assert main(arguments) == 0
    again = tmp_path / "elsewhere" / "report" / "index.html"
    command_line = re.compile(r" paths\.output_dir=\S+?(?=<|`|$)", re.MULTILINE)
    for name in ("report.md", "tables.tex"):
        first, second = (command_line.sub("", path.with_name(name).read_text()) for path in (page, again))
        assert first == second
    assert first.count("(n=6") == 4
    rows = [re.findall(r"<tr><td>.*?</tr>", path.read_text().split("<details><summary>Config")[0]) for path in (page, again)]
    assert [row.replace("mine-reference-tiny", "mine") for row in rows[0]] == [
        row.replace("mine-reference-tiny", "mine") for row in rows[1]
    ]
    assert any("F2" in row and "not decided" in row for row in rows[1])
    content = gzip.decompress((kept / f"mine{SUFFIX}").read_bytes()).decode()
    assert str(tmp_path / "store") not in content
    summary, cells = read_results(kept / f"mine{SUFFIX}")
    assert (summary["artifact"], [cell.label for cell in cells]) == ("mine", ["ASWD", 'B, "2"'])
    assert {"log10_w2", "growth(learned_norm)", "first(log10_w2, -2)", "last_step(log10_w2)"} <= set(cells[0].table)

    # The same from two files with some of the seeds each, as from two machines; and one that contradicts them.
    (kept / f"mine{SUFFIX}").unlink()
    for part, seeds in enumerate([[0, 1, 2, 3], [3, 4, 5]]):
        some = [replace(c, seeds=seeds, table={q: {s: v[s] for s in seeds if s in v} for q, v in c.table.items()}) for c in cells]
        write_results(kept / f"mine-{part}{SUFFIX}", summary, some)
    assert main(arguments) == 0
    assert command_line.sub("", again.with_name("tables.tex").read_text()) == second
    for changed, words in (
        (
            (summary, [replace(some[0], table={"log10_w2": {3: 7.0}})]),
            "different log10_w2 of ASWD on .* with seed 3: leave one of them out",
        ),
        (({**summary, "settings": {"ASWD": "another"}}, some), "must be made with the options of .*mine-0.*; ASWD has others"),
    ):
        write_results(kept / f"mine-1{SUFFIX}", *changed)
        with pytest.raises(UserError, match=words):
            report(tmp_path, kept, config_dirs=folders[-1:])


def test_files_that_are_no_results_are_sentences(tmp_path):
    with pytest.raises(UserError, match=r"--from must be a folder with files of results of aswd reproduce \(\*\.csv\.gz\)"):
        report(tmp_path, tmp_path / "nothing")
    for content in (b"", b"no gzip", gzip.compress(b"[]\n"), gzip.compress(b'{"cells": [["a", "b"]]}\nx\n1\n')):
        (tmp_path / "bad.csv.gz").write_bytes(content)
        with pytest.raises(UserError, match=r"bad\.csv\.gz is not a file of results of aswd reproduce"):
            report(tmp_path, tmp_path)


def played_with(folder):
    """A report with every kind of view, of real runs and of made-up arrays."""
    rng = np.random.default_rng(0)
    classes = {"prior": (rng.normal(size=(50, 2)), None), "ASWD": (rng.normal(size=(50, 2)), np.arange(50) % 3)}
    shown = views.images("Images", {"first": np.full((40, 60, 3), 90, np.uint8), "second": np.zeros((30, 30), np.uint8)})
    text = MINIMAL.replace("data: [knot]", "data: [knot]\npublished: {knot: {A: 0.7}}")
    write(folder, "pictures", text, claims=["Q1"], views=[*shown, *views.clouds("Codes", classes)])
    reproduce_small_flow(folder)
    return report(folder)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine to open the page with")
def test_people_play_with_the_page_in_a_real_browser(tmp_path, known):
    known("Q1", "It works.")(lambda evidence: (True, "3 of 3"))
    page = played_with(tmp_path)
    with Browser(tmp_path / "browser") as browser:
        browser.open(page.as_uri())
        browser.wait("document.querySelector('article .views h3')")
        _filter_and_sort(browser)
        _curves(browser)
        _particles(browser)
        _pictures(browser)
        for width, dark in ((1280, True), (390, False)):  # dark, and a phone, on which nothing is wider than the screen
            browser.open(page.as_uri(), width=width, dark=dark)
            browser.wait("document.querySelector('article .views h3')")
            red = browser.evaluate("parseInt(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])")
            assert (red < 60) == dark
            assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert browser.errors == []
        assert {address.partition(":")[0] for address in browser.requests} <= {"file", "data", "blob"}


SECTION = "[...document.querySelectorAll('article section')].find(s => s.querySelector('h3').textContent === '{}')"


def _filter_and_sort(browser):
    browser.evaluate(
        "(() => {const s = document.querySelector('select[name=verdict]'); s.value = 'holds'; "
        "s.dispatchEvent(new Event('change', {bubbles: true}))})()"
    )
    assert browser.evaluate("document.getElementById('shown').textContent") == "1 of 2 figures and tables"
    assert browser.evaluate("[...document.querySelectorAll('article')].filter(a => a.checkVisibility()).map(a => a.id)") == [
        "pictures-reference-tiny"
    ]
    assert browser.evaluate("document.querySelectorAll('#claims tbody tr:not([hidden])').length") == 1
    browser.evaluate(
        "(() => {const s = document.querySelector('select[name=verdict]'); s.value = ''; "
        "s.dispatchEvent(new Event('change', {bubbles: true}))})()"
    )
    # The row: published value, ours, interval, n and verdict.
    row = browser.evaluate("[...document.querySelectorAll('#pictures-reference-tiny .numbers tbody td')].map(cell => cell.textContent)")
    assert row == ["knot", "A", "w2", "0.70", "0.50", "0.50 to 0.50", "0.00", "5 of 6, 1 failed", "ours is lower"]
    browser.evaluate("document.querySelector('#claims th button').focus()")
    for order in ("ascending", "descending"):
        browser.press("Enter")
        first = browser.evaluate("[...document.querySelectorAll('#claims tbody tr')].map(row => row.cells[0].textContent)")
        assert first == sorted(first, reverse=order == "descending")
        assert browser.evaluate("document.querySelector('#claims th').getAttribute('aria-sort')") == order


def _curves(browser):
    browser.evaluate(f"window.curves = {SECTION.format('Curves')}; curves.scrollIntoView()")
    browser.wait("curves.querySelector('.plot .scatterlayer .trace')")
    plot = "curves.querySelector('.plot')"
    lines = f"{plot}.querySelectorAll('.scatterlayer .trace').length"
    assert browser.evaluate(lines) == 6  # three distances, two seeds each: too few for a mean
    assert browser.evaluate(f"{plot}._fullLayout.yaxis.type") == "log"
    point = "[r.x + plot._fullLayout.xaxis.d2p(plot.data[0].x[1]), r.y + plot._fullLayout.yaxis.d2p(plot.data[0].y[1])]"
    x, y = browser.evaluate(f"(plot => {{const r = plot.querySelector('.nsewdrag').getBoundingClientRect(); return {point}}})({plot})")
    browser.hover(x - 5, y)
    browser.hover(x, y)
    browser.wait(f"{plot}.querySelector('.hoverlayer .hovertext')")
    # By the keyboard alone: hide a series, average, change an axis.
    browser.evaluate("curves.querySelector('.chip').focus()")
    browser.press(" ")
    browser.wait(f"{lines} === 4")
    assert browser.evaluate("document.activeElement.getAttribute('aria-pressed')") == "false"
    browser.evaluate("curves.querySelector('[data-name=average]').focus()")
    browser.press("Enter")
    browser.wait(f"{lines} === 2")
    browser.evaluate("curves.querySelector('[aria-label=\"y axis\"] [data-name=linear]').click()")
    browser.wait(f"{plot}._fullLayout.yaxis.type === 'linear'")
    means = browser.evaluate("curves.querySelector('.plot').data.map(trace => trace.y.at(-1))")
    assert all(0 < mean < 10 for mean in means)  # W2 itself, not its logarithm
    labels = "[...document.querySelectorAll('.plot')].every(plot => plot.getAttribute('role') === 'img' && plot.getAttribute('aria-label'))"
    assert browser.evaluate(labels)
    unnamed = (
        "[...document.querySelectorAll('button, input, select')].filter(e => !(e.ariaLabel || e.textContent.trim() || e.labels?.length))"
    )
    assert browser.evaluate(f"{unnamed}.length") == 0


def _particles(browser):
    browser.evaluate(f"window.particles = {SECTION.format('Particles')}; particles.scrollIntoView()")
    browser.wait("[...particles.querySelectorAll('.plot')].filter(plot => plot.querySelector('.points path')).length === 3")
    places = "[...particles.querySelectorAll('.plot')].map(plot => plot.data.at(-1).x.slice(0, 5).join())"
    before = browser.evaluate(places)
    browser.evaluate("particles.querySelector('input[type=range]').focus()")
    browser.press("ArrowRight")
    browser.wait(f"{places}.every((place, i) => place !== {json.dumps(before)}[i])")  # all distances with one slider
    assert browser.evaluate("particles.querySelector('input[type=range]').getAttribute('aria-valuetext')") == "iteration 1"
    browser.evaluate("particles.querySelector('.bar button').click()")
    browser.evaluate("[...particles.querySelectorAll('button')].find(b => b.textContent.includes('Play')).click()")
    browser.wait("particles.querySelector('input[type=range]').value === particles.querySelector('input[type=range]').max")


def _pictures(browser):
    browser.evaluate("document.querySelector('.thumb').scrollIntoView(); document.querySelector('.thumb').focus()")
    browser.press("Enter")
    browser.wait("document.querySelector('#viewer[open] img')?.naturalWidth === 60")
    browser.press("ArrowRight")
    browser.wait("document.querySelector('#viewer[open] img')?.naturalWidth === 30")
    browser.press("Escape")
    browser.wait("!document.querySelector('#viewer[open]')")
    assert browser.evaluate("document.activeElement.className") == "thumb"
    browser.evaluate(f"window.codes = {SECTION.format('Codes')}; codes.scrollIntoView()")
    browser.wait("codes.querySelectorAll('.plot')[1].data?.length === 3")
    browser.evaluate("codes.querySelector('.enlarge').click()")
    browser.wait("document.querySelector('#viewer[open] .scatterlayer .trace')")
    browser.press("Escape")
