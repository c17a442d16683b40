"""What became of a span that was published."""

from typing import NamedTuple

from heliograph.mqtt import Reason


class Published(NamedTuple):
    """The answer of everything that publishes."""

    reason: Reason
    """What to tell a publisher that wants to know ..."""
    taken: int
    """... which is true of so many messages, from the front. Those behind them found no room."""
    stored: int = 0
    """How many messages, from the front, are in the log for MQTT, with the identifiers that they came with."""
    put: bool = False
    """Whether a queue keeps some of them in the log."""
