"""Errors that users see as one sentence, without a traceback."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn


class UserError(ValueError):
    """An option, name or file is missing or not allowed; the message says which, what was given and what is allowed."""


def sentence(error: UserError | str) -> str:
    """What an error says, in one line that is not too long for a terminal."""
    text = " ".join(str(error).split())
    return text if len(text) <= 1200 else f"{text[:1200]} ..."


class Parser(argparse.ArgumentParser):
    """argparse's, whose errors are :class:`UserError`; options must be spelled out."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        message = re.sub(r"^argument (\S+): ", r"\1 ", message)
        raise UserError(f"{message} ({self.prog} --help explains the arguments)")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from aswd.utils.checks import nearest  # with numpy, which takes a moment

            what = (
                f"{action.option_strings[0]} has no choice" if action.option_strings else f"unknown {(action.metavar or 'choice').lower()}"
            )
            raise UserError(f"{what} {value!r}: {nearest(str(value), action.choices)}")

    def unknown(self, arguments: list[str], given: str) -> str:
        """The sentence on an argument that a command, the first of ``arguments``, does not have."""
        from aswd.utils.checks import nearest

        parser = self
        for word in arguments:
            actions = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
            parser = next((action.choices[word] for action in actions if word in action.choices), parser)
        return (
            f"unknown argument {given}: {nearest(given, parser._option_string_actions) if given.startswith('-') else 'write OPTION=VALUE'}"
        )
