"""The report on artifacts."""

import gzip
import json
import re
import shlex
import shutil
import subprocess
from html.parser import HTMLParser

import pandas
import pytest
from matplotlib.figure import Figure

from aswd.artifacts.claims import claim, registry
from aswd.artifacts.declaration import load
from aswd.artifacts.report import report
from aswd.artifacts.reproduction import DIGESTS, FILES, Reproduction
from aswd.artifacts.results import SUFFIX, Numbers, read_results
from aswd.cli.main import main
from aswd.utils.errors import UserError
from aswd.utils.files import digests, write_json
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


PROBE = """<script>window.onload = () => { document.body.dataset.found = JSON.stringify({
  images: [...document.images].filter(i => i.complete && i.naturalWidth > 0).length,
  broken: [...document.links].filter(a => !document.getElementById(decodeURIComponent(a.hash.slice(1)))).length}); };</script></body>"""


@pytest.fixture(scope="module")
def report_page(tmp_path_factory):
    """The report of one figure in two readings."""
    folder = tmp_path_factory.mktemp("report")
    assert reproduce(folder, "flow_main") == 0
    assert reproduce(folder, "flow_main", "--reading", "paper") == 0
    assert main(["report", f"paths.output_dir={folder}"]) == 0
    return folder / "report" / "index.html"


@pytest.mark.slow
def test_the_report_is_one_page_that_needs_nothing(report_page):
    page = ParsedPage(report_page.read_text())
    assert len(page.images) == 2
    assert all(source.startswith("data:image/png;base64,") for source in page.images)
    assert page.links
    assert all(link.removeprefix("#") in page.anchors for link in page.links)
    assert not re.search(r"https?://", report_page.read_text())
    assert report_page.with_name("report.md").read_text().count("## Figure 2") == 2
    assert report_page.with_name("tables.tex").read_text().count(r"\toprule") == 2


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine to open the page with")
def test_a_real_browser_opens_the_report(report_page, tmp_path):
    probe = tmp_path / "probe.html"
    probe.write_text(report_page.read_text().replace("</body>", PROBE))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={tmp_path / 'browser'}"]
    done = subprocess.run([*command, "--dump-dom", probe.as_uri()], capture_output=True, text=True, timeout=120)
    assert "&quot;images&quot;:2,&quot;broken&quot;:0" in done.stdout
    assert "CONSOLE" not in done.stderr


EVIL = '<script>alert(1)</script>"&|[x](javascript:alert(2)) `\n\n# no\n'
FACTS = {"wall_time": 60.0, "devices": [EVIL], "revisions": [EVIL], "versions": {EVIL: EVIL}, "settings": {EVIL: EVIL}}


def write(folder, name, text=MINIMAL, label="A", claims=(), scale="tiny", folders=None):
    """An artifact of made-up numbers; declared here unless it is in ``folders``."""
    folders = folders or declare(folder, text + f"claims: {json.dumps(list(claims))}\n", name)
    reproduction = Reproduction(load(name, folders), scale, "reference", [f"paths.output_dir={folder}"], folders)
    cells = [Numbers("knot", label, list(range(6)), {"w2": dict.fromkeys(range(5), 0.5)}, failed=[5])]
    reproduction.write(Figure(), pandas.DataFrame(), cells, FACTS)
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
    write(tmp_path, "mine", text, EVIL, claims=[EVIL])
    page = report(tmp_path)
    assert "<script" not in page.read_text().lower()
    assert "&lt;script&gt;alert(1)" in page.read_text()
    classes = re.findall(r'class="verdict ([^"]*)"', page.read_text())
    assert classes == ["holds"] * 2
    parsed = ParsedPage(page.read_text())
    assert parsed.links == ["#mine-reference-tiny"]
    assert parsed.links[0][1:] in parsed.anchors
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
    assert ParsedPage(text).anchors == ["claims", "mine-x-onclick-alert-1"]
    assert "onclick=" not in text
    assert "<script" not in text
    assert set(re.findall(r'class="verdict ([^"]*)"', text)) == {"script-alert-1-script-x-javascript-alert-2-no"}


def test_sections_come_ours_first_and_have_all_that_was_written(tmp_path, known):
    known("Q1", "It works.")(lambda evidence: (True, "3 of 3"))
    write(tmp_path, "aaa", f"title: Mine\nnumber: Figure 1\n{MINIMAL}", claims=["Q1"])
    reproduce_summary(tmp_path, "flow_full")
    reproduce_summary(tmp_path, "flow_main")
    text = report(tmp_path).read_text()
    titles = re.findall(r"<h2 [^>]*>([^<]*)</h2>", text)
    assert titles == ["Figure 2: Sliced Wasserstein flow", "Figure 4: Sliced Wasserstein flow, all targets and distances", "Figure 1: Mine"]
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
    assert text.count("<h2") == 1
    assert whole.command in text
    err = capsys.readouterr().err
    assert f"{broken.folder} is left out: artifact is missing" in err
    assert f"{empty.folder} is left out: table.csv is missing" in err
    assert f"{edited.folder} is left out: table.csv has changed since it was written" in err
    assert "-99" not in text
    with pytest.raises(UserError, match=r"there is no artifact in .* yet"):
        report(tmp_path / "nowhere")


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


def test_files_that_are_no_results_are_sentences(tmp_path):
    with pytest.raises(UserError, match=r"--from must be a folder with files of results of aswd reproduce \(\*\.csv\.gz\)"):
        report(tmp_path, tmp_path / "nothing")
    for content in (b"", b"no gzip", gzip.compress(b"[]\n"), gzip.compress(b'{"cells": [["a", "b"]]}\nx\n1\n')):
        (tmp_path / "bad.csv.gz").write_bytes(content)
        with pytest.raises(UserError, match=r"bad\.csv\.gz is not a file of results of aswd reproduce"):
            report(tmp_path, tmp_path)
