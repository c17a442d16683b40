"""Internal errors: counting them, and finding the client whose work failed.

What a client sends is handled in a turn, but some of the work is done later: at the end of the turn, when the log is
safe, when a timer is due. An unexpected exception there must not end the service for all clients. The client for which
the work was done is disconnected: its message was not acknowledged, so it can send it again.
"""

from heliograph.broker.core.interfaces import Journal
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.statistics import Statistics


class Defects:
    """Counts and reports internal errors (`broker.defects`)."""

    __slots__ = ("_journal", "_stats", "culprits", "serving")

    def __init__(self, stats: Statistics, journal: Journal) -> None:
        self._stats = stats
        self._journal = journal
        self.serving: Outlet | None = None
        """The client whose bytes are being handled. Work that is put off remembers it, to blame it for errors."""
        self.culprits: list[Outlet] = []
        """Clients to disconnect before anything more is written to them. The server empties this list."""

    def note(self, what: str, outlet: Outlet | None = None) -> None:
        """Count and log the exception that is being handled, and have this client disconnected."""
        self._stats.internal_errors += 1
        if outlet is not None:
            self.culprits.append(outlet)
        self._journal.failed(what, outlet)
