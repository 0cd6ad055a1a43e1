"""Errors that users see as one sentence, without a traceback."""


class UserError(ValueError):
    """An option, name or file is missing or not allowed; the message says which, what was given and what is allowed."""
