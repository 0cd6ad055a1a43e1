"""After Markdown: formulas of the site become MathML, and roles of docstrings become code, formulas and links."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

_DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)
_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_MATH_ROLE = re.compile(r":math:<code>(.*?)</code>", re.DOTALL)
_ROLE = re.compile(r":(?:class|func|meth|attr|mod|data):<code>(~?)([\w.]+)</code>")


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
