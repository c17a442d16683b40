"""The limits that keep one client from using up the server. Each has a default that suits a server on one machine."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from heliograph.broker.core.names import MOST_LEVELS
from heliograph.objects import About, Range

_SIXTEEN_BITS = 0xFFFF
_LONGEST_PACKET = 268_435_455 + 5
"""The largest remaining length that MQTT can encode, and the fixed header before it."""


class WhenFull(StrEnum):
    """What a subscription's buffer does with a message it has no room for."""

    REJECT_NEW = "reject_new"
    DISCARD_OLD = "discard_old"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what one client, or all of them together, may ask of the broker."""

    connections: Annotated[
        int,
        About(
            "Network connections at once, over all listeners and the pages. Fewer if there are not enough file "
            "descriptors.",
            range=Range(1),
        ),
    ] = 100_000
    connects_per_second: Annotated[
        int,
        About(
            "New connections accepted in a second, over all listeners; more are refused.",
            range=Range(1),
        ),
    ] = 2_000
    packet_size: Annotated[int, About("Largest packet accepted.", unit="bytes", range=Range(256, _LONGEST_PACKET))] = (
        4 * 1024 * 1024
    )
    subscriptions_per_client: Annotated[int, About("Subscriptions that one client may hold.")] = 500
    topic_levels: Annotated[
        int,
        About("Most levels (parts between slashes) in a topic name or filter.", range=Range(8, MOST_LEVELS)),
    ] = 32
    receive_maximum: Annotated[
        int,
        About(
            "QoS 1 and 2 messages that an MQTT 5 client may leave unacknowledged; older versions know no such limit.",
            range=Range(1, _SIXTEEN_BITS),
        ),
    ] = 2_048
    inflight: Annotated[
        int,
        About(
            "QoS 1 and 2 messages that the server has unacknowledged towards one client; less if the client asks for "
            "less.",
            range=Range(1, _SIXTEEN_BITS),
        ),
    ] = 2_048
    topic_alias_maximum: Annotated[
        int, About("Topic aliases per connection, each way.", range=Range(0, _SIXTEEN_BITS))
    ] = 16
    keep_alive_max: Annotated[
        int,
        About(
            "Longest keep-alive that a client may choose; 0 leaves the choice to the client.",
            unit="seconds",
            range=Range(0, _SIXTEEN_BITS),
        ),
    ] = 0
    session_expiry_max: Annotated[
        int,
        About(
            "Longest time that a session outlives its connection; 4294967295 means for ever.",
            unit="seconds",
            range=Range(0, 0xFFFFFFFF),
        ),
    ] = 0xFFFFFFFF
    sessions: Annotated[int, About("Sessions kept, connected or not.", range=Range(1))] = 1_000_000
    queues: Annotated[
        int,
        About(
            "Queues at once; past that, clients get no new ones, be it for subscriptions. Operators can define more.",
            range=Range(1),
        ),
    ] = 20_000
    memory: Annotated[
        int,
        About(
            "Memory for all that clients make the server keep; 0 is half of what the machine (or the control group) "
            "has, and at least 64 MiB.",
            unit="bytes",
        ),
    ] = 0
    retained_messages: Annotated[int, About("Retained messages kept.")] = 1_000_000
    retained_bytes: Annotated[
        int,
        About(
            "Memory for retained messages: topics, properties, payloads, and about 500 bytes for each.", unit="bytes"
        ),
    ] = 1024 * 1024 * 1024
    max_messages: Annotated[int, About("Messages waiting in one subscription's buffer.", range=Range(1))] = 5_000
    max_bytes: Annotated[
        int,
        About(
            "Bytes waiting in one subscription's buffer; one message finds room in an empty buffer whatever its size.",
            unit="bytes",
            range=Range(1),
        ),
    ] = 128 * 1024 * 1024
    buffered_bytes: Annotated[
        int,
        About(
            "Bytes waiting in all buffers together; what waits in several of them counts once.",
            unit="bytes",
            range=Range(1),
        ),
    ] = 1024 * 1024 * 1024
    when_full: Annotated[
        WhenFull,
        About(
            "What a full buffer does with another message: `reject_new` leaves it out, `discard_old` drops the "
            "oldest one for it."
        ),
    ] = WhenFull.REJECT_NEW
    connect_timeout: Annotated[
        float, About("Time that a new connection has to complete its CONNECT packet.", unit="seconds", range=Range(0.1))
    ] = 10.0


class Pace:
    """A token bucket for new connections: `rate` per second on average, and as many at once."""

    __slots__ = ("_last", "_tokens")

    def __init__(self) -> None:
        self._last: float | None = None
        self._tokens = 0.0

    def allows(self, rate: int, now: float) -> bool:
        """Take a token; False if there is none."""
        if self._last is None:
            self._tokens = float(rate)
        else:
            self._tokens = min(float(rate), self._tokens + (now - self._last) * rate)
        self._last = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
