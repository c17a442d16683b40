"""Internal errors: whose fault they are taken to be, and how many there were.

What a client sends is handled in a turn, and some of the work is done later: at the end of the turn, when something is
safe, when a timer is due. A defect that shows there must not end the service for all. The client on whose account the
work was done is cut off; it has heard nothing of what was not done, and can try again.
"""

from heliograph.broker.core.interfaces import Journal
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.statistics import Statistics


class Defects:
    """`broker.defects`."""

    __slots__ = ("_journal", "_stats", "culprits", "serving")

    def __init__(self, stats: Statistics, journal: Journal) -> None:
        self._stats = stats
        self._journal = journal
        self.serving: Outlet | None = None
        """The client whose bytes are being handled. Work that is left for later is done on its account."""
        self.culprits: list[Outlet] = []
        """Clients that are to be cut off before anything more is written to them; the server takes them out."""

    def note(self, what: str, outlet: Outlet | None = None) -> None:
        """Something unexpected has been raised, and is being handled: count it, tell of it, blame this client."""
        self._stats.internal_errors += 1
        if outlet is not None:
            self.culprits.append(outlet)
        self._journal.failed(what, outlet)
