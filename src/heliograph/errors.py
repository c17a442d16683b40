"""The one way that user-facing errors travel: raise `Problem`, and `helio` prints it and exits with 1."""


class Problem(Exception):
    """Something the user can mend. The text says what was expected, what came, and where."""
