"""The site is built strictly, without network, and everything that its pages load is in its folder."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the extra docs is not installed: make docs installs it")
pytest.importorskip("material", reason="the extra docs is not installed: make docs installs it")

ROOT = Path(__file__).parents[1]


class Loads(HTMLParser):
    """What a page loads by itself, and where its links lead."""

    def __init__(self):
        super().__init__()
        self.loaded, self.links, self.names = [], [], set()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.names.add(values.get("id"))
        if tag in ("script", "img", "iframe") and values.get("src"):
            self.loaded.append(values["src"])
        if tag == "link" and values.get("rel") in ("stylesheet", "preconnect", "icon"):
            self.loaded.append(values["href"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_stands_alone(site):
    pages = {path.relative_to(site).as_posix(): Loads() for path in site.rglob("*.html")}
    for name, page in pages.items():
        page.feed((site / name).read_text())
    assert len(pages) > 25
    assert "Forward" in pages["index.html"].names or pages["index.html"].links
    for name, page in pages.items():
        if name == "404.html":
            continue  # whose addresses are those of a server
        for target in page.loaded:
            assert not target.startswith(("http", "//")), (name, target)
        for target in [*page.loaded, *page.links]:
            file, _, section = target.partition("#")
            if not file.startswith(("http", "mailto:")) and file:
                place = (site / name).parent / file.partition("?")[0]
                assert place.exists(), (name, target)
            if section and not file:
                assert section in page.names, (name, target)
    text = (site / "axes/aggregation.html").read_text()
    assert text.count("<math") > 10
    assert "arithmatex" not in text
    api = (site / "api/distances.html").read_text()
    assert "aswd.distances.build" in api
    assert not re.search(r":(class|math|func):", re.sub(r"<(pre|script).*?</\1>", "", api, flags=re.DOTALL))


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium to search the site in")
def test_the_search_works_in_pages_opened_from_files(site, tmp_path):
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={tmp_path}"]
    address = f"file://{site}/index.html?q=scrambling"
    command = ["chromium", *options, "--virtual-time-budget=10000", "--dump-dom", address]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    (found,) = re.findall(r'md-search-result__meta">([^<]*)', shown)
    assert re.fullmatch(r"\d+ matching documents?", found.strip()), found
