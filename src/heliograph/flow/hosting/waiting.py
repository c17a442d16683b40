"""Waiting for a database that cannot be reached."""

from collections.abc import Sequence

from heliograph.common.backoff import Backoff
from heliograph.flow.engine.database.connection import LOST
from heliograph.flow.engine.outcome import Outcome
from heliograph.flow.errors import DatabaseError

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between attempts: each pause is twice the one before."""


def is_lost(error: DatabaseError) -> bool:
    """Whether the database cannot be reached, or is shutting down."""
    return error.state.startswith(LOST)


def unreachable(outcomes: Sequence[Outcome]) -> str:
    """What is said of a database that could not be reached, if that is why one of these failed."""
    for outcome in outcomes:
        for record in outcome.exception.chain() if outcome.exception is not None else ():
            if record.kind == "DatabaseException" and record.inserts and str(record.inserts[0]).startswith(LOST):
                return record.text
    return ""


class Waiting:
    """How long to wait before the next attempt, and when to give up."""

    def __init__(self, patience: float | None = None) -> None:
        """`patience` is how many seconds after the first failure there are attempts; None: for ever."""
        self._patience = patience
        self._since = 0.0
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)

    @property
    def has_begun(self) -> bool:
        """Whether the last attempt failed, too."""
        return not self._backoff.is_first

    def pause(self, now: float) -> float | None:
        """An attempt has failed now: seconds until the next; None if there is no patience left."""
        if self._backoff.is_first:
            self._since = now
        elif self._patience is not None and now - self._since > self._patience:
            return None
        return self._backoff.pause()

    def over(self) -> None:
        """An attempt succeeded."""
        self._backoff.succeeded()
