"""One message in one queue."""

from collections.abc import Sequence

from heliograph.amqp import MAX_UINT
from heliograph.amqp.messages import with_header
from heliograph.broker.queues.message_view import MessageView

PENDING, WAITING, TAKEN, IN_WORK, GONE = range(5)
"""States: not visible yet (not safe, not committed, or delayed); waiting in its lane; delivered and not settled;
settled in an open unit of work; no longer in the queue."""

NOT_PERSISTENT, NOT_STORED = -1, -2
"""Offsets of messages that are never stored, and of those that are still to be stored."""


ENTRY_COST = 350
"""Bytes of memory of an entry, without its message."""


def cost_of(entries: "Sequence[Entry]") -> int:
    """Bytes of memory to charge for entries.

    Payloads of persistent messages count elsewhere (`queue_storage.Memory`).
    """
    if len(entries) == 1:  # fast path for single messages
        return ENTRY_COST + entries[0].size if entries[0].offset == NOT_PERSISTENT else ENTRY_COST
    return ENTRY_COST * len(entries) + sum([entry.size for entry in entries if entry.offset == NOT_PERSISTENT])


class Entry:
    """One message in one queue."""

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
        """The encoded AMQP message as it came; None while it is only in the log.

        It is set when `Consumer.deliver` is called.
        """
        self.size = size
        self.priority = priority
        self.expires = expires
        """When it expires, in milliseconds since 1970; 0: never."""
        self.deliver_at = deliver_at
        """Before when it is not delivered, in milliseconds since 1970; 0: at once."""
        self.put_at = put_at
        """Milliseconds since 1970 when it came."""
        self.offset = offset
        """Its offset in the queue's cursor, or NOT_PERSISTENT or NOT_STORED."""
        self.place = -1
        """Its place in its lane."""
        self.deliveries = 0
        """Failed deliveries."""
        self.state = PENDING
        self.barred: set[object] | None = None
        """Consumers that do not get it again."""
        self.parsed: MessageView | None = None

    @property
    def message(self) -> MessageView:
        """The message as selectors see it, parsed on demand. Its payload must be in memory."""
        if self.parsed is None:
            assert self.payload is not None
            self.parsed = MessageView(self.payload, self.deliveries)
        return self.parsed

    def outgoing(self, now: int) -> bytes:
        """The encoded message for a consumer at this time: the header gets the delivery count and the remaining ttl."""
        payload = self.payload
        assert payload is not None
        if self.expires:
            return with_header(payload, delivery_count=self.deliveries, ttl=min(max(1, self.expires - now), MAX_UINT))
        if self.deliveries:
            return with_header(payload, delivery_count=self.deliveries)
        return payload
