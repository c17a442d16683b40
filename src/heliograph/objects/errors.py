"""What can be wrong with an object that is configured, or with the file that describes it."""

from collections.abc import Iterable

from heliograph.errors import InvalidInput, Problem, StorageError


class ObjectError(Problem):
    """Root of all problems with objects that are configured."""


class InvalidObject(ObjectError, InvalidInput):
    """Attributes that make no sense: all mistakes, one line each."""

    def __init__(self, mistakes: Iterable[tuple[str, str]], what: str = "") -> None:
        """`mistakes` are keys and what is wrong with them; `what` is the object, as in "queue orders"."""
        self.mistakes = tuple(mistakes)
        before = f"{what}, " if what else ""
        super().__init__("\n".join(f"{before}{key}: {mistake}" for key, mistake in self.mistakes))


class UnreadableFile(ObjectError, StorageError):
    """A file with objects cannot be read."""


class MalformedFile(ObjectError, InvalidInput):
    """A file with objects is no TOML; the text has line and column."""
