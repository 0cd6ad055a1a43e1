"""Hooks of MkDocs: formulas become MathML, roles of docstrings links, and links to what is not on the site their text."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#:]+)(#[^)\s]*)?\)")
_DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)
_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_MATH_ROLE = re.compile(r":math:<code>(.*?)</code>", re.DOTALL)
_ROLE = re.compile(r":(?:class|func|meth|attr|mod|data):<code>(~?)([\w.]+)</code>")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: object) -> str:
    """Called by MkDocs with the text of each page."""
    folder, site = Path(page.file.abs_src_path).parent, Path(config.docs_dir).resolve()

    def link(match: re.Match[str]) -> str:
        target = (folder / match[2]).resolve()
        return match[0] if target.is_relative_to(site) and not target.is_dir() else match[1]

    return _LINK.sub(link, markdown)


def on_page_content(content: str, **_: object) -> str:
    """Called by MkDocs with the HTML of each page."""
    content = _DISPLAY.sub(lambda match: _mathml(match[1], "block"), content)
    for pattern in (_INLINE, _MATH_ROLE):
        content = pattern.sub(lambda match: _mathml(match[1], "inline"), content)
    return _ROLE.sub(_reference, content)


def _mathml(formula: str, display: str) -> str:
    return convert(html.unescape(formula).strip(), display=display)


def _reference(match: re.Match[str]) -> str:
    """A link to the object, which mkdocs-autorefs resolves where the site documents it."""
    name = match[2].rpartition(".")[2] if match[1] else match[2]
    return f'<autoref optional identifier="{match[2]}"><code>{name}</code></autoref>'
