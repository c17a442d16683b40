"""How fast new clients may come."""


class Pace:
    """A bucket of tokens: `rate` a second on average, and as many at once."""

    __slots__ = ("_last", "_tokens")

    def __init__(self) -> None:
        self._last: float | None = None
        self._tokens = 0.0

    def allows(self, rate: int, now: float) -> bool:
        """Take a token if there is one."""
        if self._last is None:
            self._tokens = float(rate)
        else:
            self._tokens = min(float(rate), self._tokens + (now - self._last) * rate)
        self._last = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
