"""The Python examples of README.md and docs/ run as they stand, their commands are what they say, and their links lead somewhere."""

import json
import re
import subprocess
import sys

import pytest

from tests.documentation import PAGES, ROOT


@pytest.mark.parametrize("what", ["blocks", "commands"])
def test_what_the_pages_show_can_be_run(what, tmp_path):
    command = [sys.executable, "-m", "tests.documentation", what, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    failures = json.loads(done.stdout)
    assert not failures, "\n".join(f"{name}: {text}" for name, text in failures.items())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links(page):
    text = re.sub(r"^( *)```.*?^\1```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("http"):
            continue
        file, _, section = target.partition("#")
        assert (page.parent / file).exists(), target
        if section:
            headings = re.findall(r"^#+ (.+)$", (page.parent / file if file else page).read_text(), re.MULTILINE)
            assert section in [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings], target


def test_the_readme_can_be_read():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 150
    assert [line for line in lines if len(line) > 120] == []
    assert (ROOT / "docs/figures/flow.gif").stat().st_size < 1_500_000


def test_every_distance_is_in_the_tables_and_on_the_page_of_an_axis():
    from aswd.distances import available

    axes = "".join(page.read_text() for page in sorted((ROOT / "docs/axes").glob("*.md")))
    for text in ((ROOT / "README.md").read_text(), (ROOT / "docs/distances.md").read_text(), axes):
        assert [name for name in available() if f"`{name}`" not in text] == []


def test_every_task_is_described():
    from aswd.tasks.registry import TASKS

    for page in ("README.md", "docs/tasks/index.md"):
        assert [name for name in TASKS if f"`{name}`" not in (ROOT / page).read_text()] == []
    assert [name for name in TASKS if not (ROOT / f"docs/tasks/{name}.md").exists()] == []
