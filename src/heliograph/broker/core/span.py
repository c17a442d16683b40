"""A span: several messages to one topic that are routed, stored, sent and acknowledged together.

This is what makes the broker fast in Python: the cost of routing, windows and log records is paid once per span, not
per message. A client that publishes quickly sends many packets in one read; those with the same topic, properties and
length become one span.
"""

import struct
from copy import copy
from math import ceil
from typing import NamedTuple

from heliograph.broker.core.memory import Account, Hold
from heliograph.mqtt import ID_BYTES, Properties, Reason, decode_varint, encode_properties, encode_varint, write_ids

_EXPIRY_ID = 0x02
_COST = 500
"""Bytes of memory for the objects of a span and its place in a buffer or window."""
LONGEST_LIFE = 2**32 - 1
"""Seconds: the largest expiry interval that MQTT can tell a receiver of."""


class Span:
    """`count` messages with one topic, one set of properties and one payload length.

    They are kept as the PUBLISH packets in which they came, `stride` bytes each, because most receivers get exactly
    those bytes, apart from the packet identifiers.
    """

    __slots__ = (
        "count",
        "data",
        "expires",
        "head",
        "held",
        "hold",
        "id_at",
        "is_retained",
        "properties",
        "qos",
        "retain",
        "retold",
        "stride",
        "topic",
        "verbatim",
        "version5",
    )

    def __init__(
        self,
        topic: bytes,
        data: bytes,
        count: int,
        *,
        head: int,
        qos: int,
        id_at: int,
        version5: bool,
        retain: bool = False,
        verbatim: bool = True,
        properties: bytes = b"",
        expires: float = 0.0,
        is_retained: bool = False,
    ) -> None:
        self.topic = topic
        self.data = data
        self.count = count
        self.stride = len(data) // count
        self.head = head
        """Bytes before the payload in each packet of `data`."""
        self.qos = qos
        self.id_at = id_at
        """Where the packet identifier is in each packet; 0 for QoS 0."""
        self.version5 = version5
        """The packets of `data` are in MQTT 5 form."""
        self.retain = retain
        self.verbatim = verbatim
        """A receiver of the same protocol version, QoS and options can get `data` as it is."""
        self.properties = properties
        """MQTT 5 properties to pass on, encoded without their length; expiry and topic alias are not among them."""
        self.expires = expires
        """When the messages expire, by the broker's clock; 0: never."""
        self.held = 0
        """The number of buffers that it waits in."""
        self.hold: Hold | None = None
        """Its memory charge, once it is kept: to the account of the first that kept it. It is paid only once."""
        self.is_retained = is_retained
        """Retained messages sent because of a new subscription: these go out with the retain flag set."""
        self.retold = False
        """Another span with the same messages has been retained already; this one must not be retained again."""

    @property
    def cost(self) -> int:
        """Bytes of memory that the span takes while it is kept."""
        return _COST + len(self.data) + len(self.topic) + len(self.properties)

    def charge(self, account: Account) -> None:
        """Charge the span to this account, unless it is charged already."""
        if self.hold is None:
            self.hold = Hold(account, _COST + len(self.data) + len(self.topic) + len(self.properties))

    def payloads(self, lo: int, hi: int) -> list[bytes]:
        """The payloads of messages `lo` to `hi`."""
        size = self.stride - self.head
        data = self.data[lo * self.stride : hi * self.stride]
        if hi - lo == 1:
            return [data[self.head :]]
        return [payload for (payload,) in struct.iter_unpack(f"{self.head}x{size}s", data)]

    def part(self, lo: int, hi: int) -> "Span":
        """Messages `lo` to `hi` as a span of their own."""
        if hi - lo == self.count:
            return self
        return Span(
            self.topic,
            self.data[lo * self.stride : hi * self.stride],
            hi - lo,
            head=self.head,
            qos=self.qos,
            id_at=self.id_at,
            version5=self.version5,
            retain=self.retain,
            verbatim=self.verbatim,
            properties=self.properties,
            expires=self.expires,
            is_retained=self.is_retained,
        )

    def for_others(self) -> "Span":
        """A copy for further parts of a wide route, which must not retain the messages again."""
        if not self.retain or self.retold:
            return self
        other = copy(self)
        other.hold, other.held, other.retold = None, 0, True
        return other

    def packets(
        self,
        lo: int,
        hi: int,
        *,
        version5: bool,
        qos: int,
        retain: bool,
        now: float,
        first_id: int = 0,
        dup: bool = False,
        extra: bytes = b"",
        topic: bytes | None = None,
    ) -> bytes:
        """PUBLISH packets for messages `lo` to `hi`, for one kind of receiver.

        `extra` is encoded properties of the receiver's own (subscription identifier, topic alias); `topic` replaces
        the topic name where an alias stands for it. Packet identifiers count up from `first_id`.

        Three ways, fastest first: the bytes as they came; the bytes with new identifiers; new headers before the
        payloads.
        """
        count = hi - lo
        plain = self.verbatim and topic is None and not (extra or retain or self.expires)
        if plain and version5 is self.version5 and qos == self.qos:
            data = self.data if count == self.count else self.data[lo * self.stride : hi * self.stride]
            if not qos:
                return data
            stride, id_at = self.stride, self.id_at
            if count == 1 and not dup:  # for one packet, joining three pieces is faster than a column-wise write
                return data[:id_at] + ID_BYTES[2 * first_id : 2 * first_id + 2] + data[id_at + 2 :]
            run = bytearray(data)
            # Column-wise: one slice assignment sets the first byte of all packets.
            if dup:
                run[0::stride] = bytes((0x38 | qos << 1,)) * count
        else:
            size = self.stride - self.head
            name = self.topic if topic is None else topic
            before = len(name).to_bytes(2, "big") + name
            after = self._properties_now(extra, now) if version5 else b""
            ids = b"\0\0" if qos else b""
            first = 0x30 | dup << 3 | qos << 1 | retain
            fixed = bytes((first,)) + encode_varint(len(before) + len(ids) + len(after) + size)
            header = fixed + before + ids + after
            data = header + header.join(self.payloads(lo, hi))
            if not qos:
                return data
            run, stride, id_at = bytearray(data), len(header) + size, len(fixed) + len(before)
        write_ids(run, id_at, stride, first_id, count)
        return bytes(run)

    def _properties_now(self, extra: bytes, now: float) -> bytes:
        expiry = b""
        if self.expires:
            left = min(max(1, ceil(self.expires - now)), LONGEST_LIFE)
            expiry = bytes((_EXPIRY_ID,)) + left.to_bytes(4, "big")
        encoded = expiry + self.properties + extra
        return encode_varint(len(encoded)) + encoded


def carried_properties(properties: Properties) -> bytes:
    """The properties of a message that are passed on unchanged, encoded without their length."""
    kept = properties.copy()
    for name in ("message_expiry_interval", "topic_alias", "will_delay_interval"):
        kept.pop(name, None)  # type: ignore[misc]
    encoded = encode_properties(kept)
    length = decode_varint(encoded, 0, len(encoded))
    assert length is not None
    return encoded[length[1] :]


def message(
    topic: bytes,
    payload: bytes,
    *,
    qos: int = 0,
    retain: bool = False,
    properties: bytes = b"",
    expires: float = 0.0,
    is_retained: bool = False,
) -> Span:
    """A span of one message that did not come as a packet: a will, a retained message, a statistic of the server."""
    # Only the payload is kept: the header differs for each kind of receiver anyway.
    return Span(
        topic,
        payload or b"",
        1,
        head=0,
        qos=qos,
        id_at=0,
        version5=False,
        retain=retain,
        verbatim=False,
        properties=properties,
        expires=expires,
        is_retained=is_retained,
    )


class Published(NamedTuple):
    """The outcome of publishing a span."""

    reason: Reason
    """The reason code for the publisher ..."""
    taken: int
    """... which holds for so many messages, from the front. There was no room for the rest."""
    stored: int = 0
    """How many messages, from the front, are in the log for MQTT together with their packet identifiers."""
    put: bool = False
    """Whether a queue stores some of them in the log."""
