"""Mistakes of the user, which end in one sentence and not in a traceback."""


class UserError(ValueError):
    """Something that was asked for is not there or makes no sense; the message says what, and what is allowed."""
