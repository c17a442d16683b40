"""The root of all exceptions that heliograph raises on purpose. `docs/reference/errors.md` shows all of them.

Each room has an `errors.py` with a root of its own below `HeliographError` or `Problem`. Where one of the four kinds of
`Problem` below fits, an exception of a room inherits from that kind as well:

    class UnknownStream(LogError, InvalidInput): ...

`helio` prints a `Problem` and exits with status 1. Anything that is not a `HeliographError` is a defect.
"""


class HeliographError(Exception):
    """Anything that heliograph raises on purpose."""


class Problem(HeliographError):
    """Something that a person can mend. The text says what was expected, what was found, and where."""


class InvalidInput(Problem):
    """What somebody wrote is wrong: an option, a file, a name, a message. The same input fails again."""


class StorageError(Problem):
    """A disk is full, a file cannot be read or written, or what is in it is damaged."""


class Unreachable(Problem):
    """Another process or machine does not answer, or has gone. The same attempt may succeed later."""


class NotInstalled(Problem):
    """A package or program that this needs is not installed; the text says how to get it."""
