"""What all parts of one broker share: limits, clocks, names, what is counted, and work that is left for later."""

from collections.abc import Callable

from heliograph.broker.core.defects import Defects
from heliograph.broker.core.interfaces import Journal
from heliograph.broker.core.limits import Limits
from heliograph.broker.core.memory import Budget
from heliograph.broker.core.slices import Slices
from heliograph.broker.core.statistics import Statistics
from heliograph.broker.core.timers import Timers


class Services:
    """Made by the broker, and handed to its parts, which need nothing else of the broker."""

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
        """Those of this moment: look here each time, for they change when the configuration is read again."""
        self.now = now
        """Seconds since some moment: for what is due, and what has taken long."""
        self.wall = wall
        """Seconds since 1970: for what outlives the process."""
        self.new_identifier = new_identifier
        """Makes names that nobody has: of clients that bring none, and of queues and topics made for one client."""
        self.journal = journal
        self.stats = Statistics()
        self.defects = Defects(self.stats, journal)
        self.memory = Budget(limits.memory)
        """What clients may make the server keep in memory, and who has how much of it."""
        self.timers = Timers(self.defects)
        self.slices = Slices(now, self.defects)
