"""Who gets messages from a queue."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from heliograph.broker.errors import Refusal
from heliograph.broker.queues.entry import Entry
from heliograph.broker.queues.message_view import MessageView

Selector = Callable[[MessageView], object]
"""Takes a message; true if it is wanted."""


class Consumer(Protocol):
    """A receiving link, as a queue sees it. The attributes but `credit` do not change while it is on a queue."""

    @property
    def credit(self) -> int:
        """How many more messages it takes now. Goes down in `deliver`; `Queue.serve` is to be called when it grows."""

    @property
    def selector(self) -> Selector | None:
        """Which messages it wants; None for all."""

    @property
    def correlation_id(self) -> Any:
        """With a value it wants the messages with just this correlation id, which can be found without a search.

        The selector says the same, for queues in which they cannot. Without one, they have to be.
        """

    @property
    def browse(self) -> bool:
        """Whether it gets copies, once each, and the messages stay."""

    def deliver(self, entries: list[Entry]) -> None:
        """Send these, at most `credit` of them; their payloads are in memory. `entry.outgoing(now)` is what to send.

        Each is locked for this consumer until `Queue.settle` is called for it; what a browser gets is not.
        """

    def look_further(self) -> None:
        """There was no time to look at all messages, and now there is: `Queue.serve` is to be called."""

    def failed(self) -> None:
        """`deliver` has raised something unexpected, which is being handled: the consumer is no longer on the queue."""

    def ended(self, refusal: Refusal) -> None:
        """The queue is gone, and the consumer is no longer on it."""


class Outcome(NamedTuple):
    """The consumer's word on a message."""

    accepted: bool = False
    """It has done its duty and goes."""
    rejected: bool = False
    """It cannot be used: it becomes a dead letter."""
    failed: bool = False
    """It goes back to its place, and the attempt counts; otherwise it is as if it had not been delivered."""
    lost: bool = False
    """The consumer left without a word on it, and perhaps on others that it had in hand: so nobody is sure that it
    failed."""
    undeliverable_here: bool = False
    """It goes back, but this consumer does not get it again."""
    reason: str = ""
    """Of what is rejected: why, for those who look at dead letters."""


ACCEPTED = Outcome(accepted=True)
RELEASED = Outcome()
FAILED = Outcome(failed=True)
LOST = Outcome(failed=True, lost=True)
UNDELIVERABLE_HERE = Outcome(failed=True, undeliverable_here=True)


def rejected(reason: str = "") -> Outcome:
    """The outcome of a message that cannot be used."""
    return Outcome(rejected=True, reason=reason)
