"""What a broker needs to know of a message, without decoding it."""

from typing import NamedTuple


class Glance(NamedTuple):
    """The broker's view of a message. Times are in milliseconds; 0 means that there is none."""

    durable: bool
    priority: int
    ttl: int  # relative, as in the header
    delivery_count: int
    body_at: int  # where the header section ends
    deliver_at: int  # absolute, from the annotation x-opt-delivery-time
    delay: int  # relative, from the annotation x-opt-delivery-delay
    expires: int  # absolute, from the properties


def glance(payload: bytes) -> Glance:
    """Look at the header, the annotations about delayed delivery and the expiry time. `DecodeError` if it is no message."""


def with_header(payload: bytes, *, delivery_count: int, ttl: int | None = None) -> bytes:
    """The message with another delivery count (and ttl, unless None) in its header, and every other byte the same."""
