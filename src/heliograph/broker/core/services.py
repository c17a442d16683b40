"""Services that all parts of one broker share: limits, clocks, identifiers, statistics, timers and slices."""

from collections.abc import Callable

from heliograph.broker.core.defects import Defects
from heliograph.broker.core.interfaces import Journal
from heliograph.broker.core.limits import Limits
from heliograph.broker.core.memory import Budget
from heliograph.broker.core.slices import Slices
from heliograph.broker.core.statistics import Statistics
from heliograph.broker.core.timers import Timers


class Services:
    """Made by the broker and handed to its parts, so that they need not know the broker."""

    __slots__ = (
        "defects",
        "journal",
        "limits",
        "memory",
        "new_identifier",
        "now",
        "slices",
        "stats",
        "timers",
        "wall",
    )

    def __init__(
        self,
        limits: Limits,
        now: Callable[[], float],
        wall: Callable[[], float],
        new_identifier: Callable[[], str],
        journal: Journal,
    ) -> None:
        self.limits = limits
        """The present limits. Do not keep a copy: they change when the configuration is read again."""
        self.now = now
        """A monotonic clock in seconds, for timers and durations."""
        self.wall = wall
        """Seconds since 1970, for times that outlive the process."""
        self.new_identifier = new_identifier
        """Makes unique names, for clients without an identifier and for dynamic queues and topics."""
        self.journal = journal
        self.stats = Statistics()
        self.defects = Defects(self.stats, journal)
        self.memory = Budget(limits.memory)
        """The memory budget for everything that clients make the server keep."""
        self.timers = Timers(self.defects)
        self.slices = Slices(now, self.defects)
