"""The Python examples of README.md and docs/ run as they stand, and their links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_block(block, tmp_path):
    (tmp_path / "example.py").write_text(block)
    result = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("http"):
            continue
        file, _, section = target.partition("#")
        assert (page.parent / file).exists(), target
        if section:
            headings = re.findall(r"^#+ (.+)$", (page.parent / file).read_text(), re.MULTILINE)
            assert section in [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings], target


@pytest.mark.parametrize("page", ["README.md", "docs/distances.md"])
def test_every_distance_is_in_the_table(page):
    from aswd.distances import available

    text = (ROOT / page).read_text()
    assert [name for name in available() if f"`{name}`" not in text] == []


@pytest.mark.parametrize("page", ["README.md", "docs/experiments.md"])
def test_every_task_is_described(page):
    from aswd.tasks.registry import TASKS

    text = (ROOT / page).read_text()
    assert [name for name in TASKS if f"`{name}`" not in text and f"**{name}.**" not in text] == []
