"""An AMQP message as selectors see it: its sections, each parsed once, on demand."""

from typing import Any

from heliograph.amqp.messages import (
    ABSOLUTE_EXPIRY_TIME,
    CREATION_TIME,
    DELIVERY_COUNT,
    HEADER_DEFAULTS,
    PROPERTY_NAMES,
    TTL,
    UNREADABLE,
    USER_ID,
    read_application_properties,
    read_header,
    read_properties,
)


class MessageView:
    """One message. Several selectors share one view.

    `header` is (durable, priority, ttl, first acquirer, delivery count), `fields` the 13 fields of the properties in
    the order of the standard, `application` the application properties by name. A section that cannot be read is
    empty: such a message matches nothing that asks for it.
    """

    __slots__ = ("_delivery_count", "application", "fields", "header", "payload")

    application: dict[str, Any]
    fields: list[Any]
    header: tuple[Any, ...]

    def __init__(self, payload: bytes, delivery_count: int | None = None) -> None:
        """`delivery_count` replaces the one of the header; None to use the header."""
        self.payload = payload
        self._delivery_count = delivery_count

    def __getattr__(self, name: str) -> Any:
        # Called only for slots that are not set yet, so later accesses cost no call.
        reader, nothing = _READERS[name] if name in _READERS else _no_such(name)
        try:
            found = reader(self.payload)
        except UNREADABLE:
            found = nothing()
        setattr(self, name, found)
        return found

    @property
    def delivery_count(self) -> int:
        """How often the delivery of the message has failed."""
        known = self._delivery_count
        count: int = self.header[DELIVERY_COUNT] if known is None else known
        return count

    @property
    def expiration(self) -> int:
        """When it expires, in milliseconds since 1970; 0 if it does not, or if that cannot be told from the message."""
        expiry, created, ttl = self.fields[ABSOLUTE_EXPIRY_TIME], self.fields[CREATION_TIME], self.header[TTL]
        if expiry is None and created is not None and ttl is not None:
            expiry = created + ttl
        return expiry or 0

    @property
    def user(self) -> str | None:
        """Who sent it."""
        user = self.fields[USER_ID]
        return None if user is None else user.decode(errors="replace")


def _no_such(name: str) -> Any:
    raise AttributeError(name)


_READERS: dict[str, Any] = {
    "application": (read_application_properties, dict),
    "fields": (read_properties, lambda: [None] * len(PROPERTY_NAMES)),
    "header": (read_header, lambda: HEADER_DEFAULTS),
}
