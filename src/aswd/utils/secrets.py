"""Keys and passwords, which no record, log or report holds."""

from __future__ import annotations

import os
import re
from typing import Any

MASK = "***"
_NAMES = re.compile(r"api_?key|token|passw|secret|credential", re.IGNORECASE)


def mask_options(value: Any) -> Any:
    """Options in plain containers, with a mask for every text whose name says that it is a secret.

    >>> mask_options({"logger": {"mine": {"api_key": "abc", "tokens": 3}}})
    {'logger': {'mine': {'api_key': '***', 'tokens': 3}}}
    """
    if isinstance(value, dict):
        return {k: MASK if isinstance(v, str) and v and _NAMES.search(str(k)) else mask_options(v) for k, v in value.items()}
    return [mask_options(v) for v in value] if isinstance(value, list) else value


def mask_text(text: str) -> str:
    """Text without the values of environment variables whose names say that they are secrets."""
    for name, value in os.environ.items():
        if len(value) >= 8 and _NAMES.search(name):
            text = text.replace(value, MASK)
    return text
