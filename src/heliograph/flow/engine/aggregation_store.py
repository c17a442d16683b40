"""What aggregation nodes remember between messages.

Everything is keyed by identifiers that come out the same if a message is taken again, so that doing a step twice is
doing it once. Commit the store *before* the messages of the same unit of work: if the program dies in between, the
message comes again, and the step finds what it did. That holds for time-outs, too: a message has to be the occasion of
each, which says by its identifier whether it is the one that ended the aggregation, or another about the same.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from heliograph.flow.formats.envelope import Envelope


@dataclass(frozen=True, slots=True)
class CollectedReply:
    """One request of an aggregation, with the reply to it, if one has come."""

    folder: str
    reply: Envelope | None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """All requests of an aggregation, in the order in which they were sent."""

    identifier: bytes
    replies: tuple[CollectedReply, ...]


class Match(Enum):
    """What a reply is to the store."""

    COMPLETES = "completes"
    """The last that was awaited; also if it comes again."""
    WAITS = "waits"
    """Others are still awaited."""
    REPEATED = "repeated"
    """It is recorded already, and the aggregation does not end with it."""
    UNKNOWN = "unknown"
    """Nobody waits for it, or not any more, or not yet."""


@dataclass(frozen=True, slots=True)
class Expired:
    """Something whose time is over."""

    is_aggregate: bool
    """Otherwise it is an unknown reply."""
    key: bytes


class AggregationStore(Protocol):
    """Durable state of aggregations, for one instance of a flow. Times are seconds since 1970."""

    def begin(self, aggregate: bytes, name: str, now: float, timeout: float) -> None:
        """An aggregation of this name begins; a timeout of 0 is never."""

    def request(self, aggregate: bytes, folder: str, message_id: bytes) -> None:
        """A request was sent; replies to it have its identifier as their correlation identifier."""

    def launch(self, aggregate: bytes, launched_by: bytes) -> Aggregate | None:
        """All requests have been recorded. The aggregate, if all replies have overtaken this."""

    def requests(self, aggregate: bytes) -> int:
        """How many requests an aggregation has."""

    def reply(self, name: str, envelope: Envelope) -> tuple[Match, Aggregate | None]:
        """Record a reply; with the aggregate, if it completes it."""

    def keep_unknown(self, name: str, envelope: Envelope, until: float) -> None:
        """Keep a reply that nobody waits for yet."""

    def due(self, name: str, now: float) -> list[Expired]:
        """What has timed out by now, oldest first."""

    def expire(self, aggregate: bytes, occasion: bytes) -> Aggregate | None:
        """End an aggregation as it is; None if it has ended otherwise than on this occasion."""

    def take_unknown(self, key: bytes, occasion: bytes) -> Envelope | None:
        """Take out a reply that was kept; None if it is not there, or was taken out on another occasion."""

    def forget(self, before: float) -> None:
        """Forget aggregations that began before this time and have ended, and unknown replies that were taken out.

        Until then they are remembered, in case what ended them comes again.
        """

    @property
    def changed(self) -> bool:
        """Whether there is something to commit or to roll back."""

    def commit(self) -> None:
        """Make everything since the last commit durable."""

    def rollback(self) -> None:
        """Undo everything since the last commit."""

    def close(self) -> None:
        """Let go of the store; what is not committed is undone."""
