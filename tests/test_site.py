"""The site is built strictly, without network, and everything that its pages load is in its folder."""

import os
import re
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


def test_the_site_is_built_and_stands_alone(tmp_path):
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tmp_path).as_posix(): Loads() for path in tmp_path.rglob("*.html")}
    for name, page in pages.items():
        page.feed((tmp_path / name).read_text())
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
                place = (tmp_path / name).parent / file.partition("?")[0]
                assert place.exists(), (name, target)
            if section and not file:
                assert section in page.names, (name, target)
    text = (tmp_path / "axes/aggregation.html").read_text()
    assert text.count("<math") > 10
    assert "arithmatex" not in text
    api = (tmp_path / "api/distances.html").read_text()
    assert "aswd.distances.build" in api
    assert not re.search(r":(class|math|func):", re.sub(r"<(pre|script).*?</\1>", "", api, flags=re.DOTALL))
