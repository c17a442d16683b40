"""One message in one queue."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heliograph.broker.queues.queue import Queue

PENDING, WAITING, TAKEN, IN_WORK, GONE = range(5)
"""States: not in its place yet (not safe, not committed, or delayed); there for whoever wants it; delivered and not
settled; got in a unit of work; no longer in the queue."""


class Entry:
    """A message in its place. `deliveries` counts failed attempts; `payload` is the whole AMQP message as it came."""

    __slots__ = (
        "_message",
        "barred",
        "deliver_at",
        "deliveries",
        "expires",
        "offset",
        "payload",
        "place",
        "priority",
        "put_at",
        "queue",
        "size",
        "state",
    )

    if TYPE_CHECKING:
        queue: "Queue"
        payload: bytes | None
        """None while it is only in the log. Whoever is handed an entry by `deliver` finds it here."""
        size: int
        priority: int
        expires: int
        """Milliseconds since 1970 when it is no longer worth delivering; 0: never."""
        deliver_at: int
        """Milliseconds since 1970 before which nobody gets it; 0: at once."""
        put_at: int
        """Milliseconds since 1970 when it came."""
        offset: int
        """Its offset in the queue's cursor; -1 if it is not persistent, or not stored yet."""
        place: int
        """Its place among the messages of its priority."""
        deliveries: int
        state: int
        barred: Any

    @property
    def message(self) -> Any:
        """The message as `heliograph.amqp.message.Message`, parsed when first asked for."""

    def outgoing(self, now: int) -> bytes:
        """What a receiver gets at this time (milliseconds since 1970): the header tells of attempts and time left."""
        return b""
