"""One message in one queue."""

from collections.abc import Sequence

from heliograph.amqp import MAX_UINT
from heliograph.amqp.messages import with_header
from heliograph.broker.queues.message_view import MessageView

PENDING, WAITING, TAKEN, IN_WORK, GONE = range(5)
"""States: not in its place yet (not safe, not committed, or delayed); there for whoever wants it; delivered and not
settled; settled in a unit of work; no longer in the queue."""

NOT_PERSISTENT, NOT_STORED = -1, -2
"""Offsets of messages that are never stored, and of those that will be."""


ENTRY_COST = 350
"""Bytes of memory that a message takes in its queue beside its own."""


def cost_of(entries: "Sequence[Entry]") -> int:
    """Bytes of memory that these take, less the payloads of persistent messages, which need not stay in memory."""
    if len(entries) == 1:  # as with each message that comes on its own
        return ENTRY_COST + entries[0].size if entries[0].offset == NOT_PERSISTENT else ENTRY_COST
    return ENTRY_COST * len(entries) + sum([entry.size for entry in entries if entry.offset == NOT_PERSISTENT])


class Entry:
    """A message in its place."""

    __slots__ = (
        "barred",
        "deliver_at",
        "deliveries",
        "expires",
        "offset",
        "parsed",
        "payload",
        "place",
        "priority",
        "put_at",
        "size",
        "state",
    )

    def __init__(
        self,
        payload: bytes | None,
        size: int,
        priority: int,
        expires: int,
        deliver_at: int,
        put_at: int,
        offset: int,
    ) -> None:
        self.payload = payload
        """The whole AMQP message as it came; None while it is only in the log. `Consumer.deliver` finds it here."""
        self.size = size
        self.priority = priority
        self.expires = expires
        """Milliseconds since 1970 when it is no longer worth delivering; 0: never."""
        self.deliver_at = deliver_at
        """Milliseconds since 1970 before which nobody gets it; 0: at once."""
        self.put_at = put_at
        """Milliseconds since 1970 when it came."""
        self.offset = offset
        """Its offset in the queue's cursor, or NOT_PERSISTENT or NOT_STORED."""
        self.place = -1
        """Its place in its lane."""
        self.deliveries = 0
        """Attempts to deliver it that failed."""
        self.state = PENDING
        self.barred: set[object] | None = None
        """Consumers that do not get it again."""
        self.parsed: MessageView | None = None

    @property
    def message(self) -> MessageView:
        """The message as selectors see it, read as far as they ask. Its payload has to be in memory."""
        if self.parsed is None:
            assert self.payload is not None
            self.parsed = MessageView(self.payload, self.deliveries)
        return self.parsed

    def outgoing(self, now: int) -> bytes:
        """What a receiver gets at this time (milliseconds since 1970): the header tells of attempts and time left."""
        payload = self.payload
        assert payload is not None
        if self.expires:
            return with_header(payload, delivery_count=self.deliveries, ttl=min(max(1, self.expires - now), MAX_UINT))
        if self.deliveries:
            return with_header(payload, delivery_count=self.deliveries)
        return payload
