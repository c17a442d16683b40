"""The limits that keep one client from taking everything: each has a default that suits a server on one machine."""

from dataclasses import dataclass
from enum import StrEnum


class WhenFull(StrEnum):
    """What a subscription's buffer does with a message it has no room for."""

    REJECT_NEW = "reject_new"
    DISCARD_OLD = "discard_old"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what one client, or all of them together, may ask of the broker."""

    connections: int = 100_000
    """Network connections at once, over all listeners."""
    connects_per_second: int = 2_000
    """New connections accepted a second, over all listeners; more are refused."""
    packet_size: int = 4 * 1024 * 1024
    """Largest packet accepted, in bytes."""
    subscriptions_per_client: int = 500
    topic_levels: int = 32
    """Most levels (parts between slashes) in a topic name or filter."""
    receive_maximum: int = 2_048
    """QoS 1 and 2 messages that a v5 client may leave unacknowledged; older versions know no such limit."""
    inflight: int = 2_048
    """QoS 1 and 2 messages that the server has unacknowledged towards one client (less if the client asks for less)."""
    topic_alias_maximum: int = 16
    """Topic aliases per connection, each way."""
    keep_alive_max: int = 0
    """Longest keep-alive in seconds a client may choose; 0 leaves the choice to the client."""
    session_expiry_max: int = 0xFFFFFFFF
    """Longest time in seconds that a session outlives its connection; 0xFFFFFFFF means for ever."""
    sessions: int = 1_000_000
    """Sessions kept, connected or not."""
    queues: int = 20_000
    """Queues at once; past that, clients get no new ones, be it for subscriptions. Operators can define more."""
    retained_messages: int = 1_000_000
    retained_bytes: int = 1024 * 1024 * 1024
    """Payload bytes kept in retained messages."""
    max_messages: int = 5_000
    """Messages waiting in one subscription's buffer."""
    max_bytes: int = 128 * 1024 * 1024
    """Bytes waiting in one subscription's buffer; one message finds room in an empty buffer whatever its size."""
    buffered_bytes: int = 1024 * 1024 * 1024
    """Bytes waiting in all buffers together; what waits in several of them counts once."""
    when_full: WhenFull = WhenFull.REJECT_NEW
    """What a full buffer does: reject_new or discard_old."""
    connect_timeout: float = 10.0
    """Seconds a new connection has to complete its CONNECT packet."""
