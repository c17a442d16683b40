"""Exponential backoff: longer and longer pauses between attempts that fail."""

from collections.abc import Callable


def _no_jitter() -> float:
    return 1.0


class Backoff:
    """Pauses, each twice the one before, up to a longest. Whoever uses it does the waiting."""

    def __init__(self, first: float, longest: float, jitter: Callable[[], float] = _no_jitter) -> None:
        """`jitter` gives a factor for each pause, so that not all who failed together come back together."""
        self._first = first
        self._longest = longest
        self._jitter = jitter
        self._next = first

    @property
    def is_first(self) -> bool:
        """Whether there has been no pause since the start, or since the last success."""
        return self._next == self._first

    def pause(self) -> float:
        """How long to wait before the next attempt."""
        pause, self._next = self._next, min(2 * self._next, self._longest)
        return pause * self._jitter()

    def succeeded(self) -> None:
        """Begin with the first pause again."""
        self._next = self._first
