"""A queue."""

from collections.abc import Iterator, Sequence
from typing import Any

from heliograph.broker.queues.consumer import Consumer, Selector
from heliograph.broker.queues.definition import QueueDefinition
from heliograph.broker.queues.entry import Entry
from heliograph.broker.queues.outcome import Outcome
from heliograph.broker.queues.refusal import Put, Refusal
from heliograph.broker.queues.work import Work


class Queue:
    """Messages in order, and those who want them. Found or made by `Queues`.

    Everything takes runs. What was put is handed to consumers at the end of the turn (`Queues.end_turn`).
    """

    definition: QueueDefinition
    depth: int
    """Messages in the queue, whoever has them, and those of units of work that are not committed."""
    in_flight: int
    deleted: bool
    creator: object
    """Of a temporary queue: who made it, and takes it along."""

    def put(self, messages: Sequence[bytes], *, work: Work | None = None) -> Put:
        """Put encoded messages; which of them were refused, and whether the sender is to be told only when it is safe.

        In a unit of work nobody sees them, and nothing is stored, before it is committed.
        """

    def add_consumer(self, consumer: Consumer) -> Refusal | None:
        """From now on a consumer gets messages, in turn with the others; why not, otherwise."""

    def remove_consumer(self, consumer: Consumer) -> None:
        """It gets nothing more. What it has not settled has to be settled by whoever removes it."""

    def serve(self, consumer: Consumer) -> None:
        """Its credit has grown: give it what there is, now. Afterwards a drained link has used up what it can."""

    def settle(
        self, entries: Sequence[Entry], outcome: Outcome, *, work: Work | None = None, consumer: Consumer | None = None
    ) -> None:
        """What a consumer says of messages that it was given. In a unit of work it counts from the commit on.

        Entries may be of several queues? No: of this one. Those that are settled already are left alone.
        """

    def get_by_correlation(self, correlation_id: Any) -> Entry | None:
        """Take the first message with this correlation id, as if it had been delivered; None if there is none."""

    def browse(self, selector: Selector | None = None) -> Iterator[Entry]:
        """All messages that a consumer could get, in order, as they are now; they stay."""

    def peek(self) -> Entry | None:
        """The message that a consumer would get next; it stays."""

    def purge(self) -> int:
        """Forget all messages that nobody has; how many that were."""

    def redrive(self, most: int = 0, origin: str = "") -> "Any":
        """Send dead letters back to the queues they came from; see `dead_letters.Redriven`."""

    def statistics(self) -> "Any":
        """Figures; see `statistics.QueueStatistics`."""
