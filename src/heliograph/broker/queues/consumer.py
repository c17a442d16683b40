"""Consumers of a queue, and the outcomes with which they settle messages."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from heliograph.broker.errors import Refusal
from heliograph.broker.queues.entry import Entry
from heliograph.broker.queues.message_view import MessageView

Selector = Callable[[MessageView], object]
"""Takes a message; true if it matches."""


class Consumer(Protocol):
    """A receiving link, as a queue sees it. The attributes but `credit` do not change while it is on a queue."""

    @property
    def credit(self) -> int:
        """How many more messages it takes now. Goes down in `deliver`; `Queue.serve` is to be called when it grows."""

    @property
    def selector(self) -> Selector | None:
        """Which messages it accepts; None for all."""

    @property
    def correlation_id(self) -> Any:
        """With a value, only messages with this correlation id are wanted, which an index finds without a search.

        The selector says the same, for deep queues that make no index. Without a selector, an index is always made.
        """

    @property
    def browse(self) -> bool:
        """Whether it gets copies, once each, and the messages stay."""

    def deliver(self, entries: list[Entry]) -> None:
        """Send these, at most `credit` of them; their payloads are in memory. `entry.outgoing(now)` is what to send.

        Each is locked for this consumer until `Queue.settle` is called for it; what a browser gets is not.
        """

    def look_further(self) -> None:
        """There was no time to look at all messages, and now there is: call `Queue.serve`."""

    def failed(self) -> None:
        """`deliver` has raised an unexpected exception. The consumer has been removed from the queue."""

    def ended(self, refusal: Refusal) -> None:
        """The queue was deleted, and the consumer has been removed from it."""


class Outcome(NamedTuple):
    """How a consumer settles a message."""

    accepted: bool = False
    """The message was processed and leaves the queue."""
    rejected: bool = False
    """The message cannot be processed: it becomes a dead letter."""
    failed: bool = False
    """It goes back to its place, and the attempt counts as a failed delivery. If False, the attempt does not count."""
    lost: bool = False
    """The consumer disconnected without settling it, and perhaps others: it is not certain that this one failed."""
    undeliverable_here: bool = False
    """It goes back, but this consumer does not get it again."""
    reason: str = ""
    """Why it was rejected; written on the dead letter."""


ACCEPTED = Outcome(accepted=True)
RELEASED = Outcome()
FAILED = Outcome(failed=True)
LOST = Outcome(failed=True, lost=True)
UNDELIVERABLE_HERE = Outcome(failed=True, undeliverable_here=True)


def rejected(reason: str = "") -> Outcome:
    """The outcome of a message that cannot be processed."""
    return Outcome(rejected=True, reason=reason)
