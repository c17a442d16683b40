"""Records of messages: one span and its receivers. The other forms (`queue_messages`, `mixed_messages`) start alike.

receivers    4   how many cursors these messages are for
form         1   1: `data` is MQTT PUBLISH packets, all of one length
flags        1   QoS (1, 2), retain (4), MQTT 5 (8), can be sent as it is (16), sent from the retained store (32),
                 retained because of another record that is for other receivers (64)
topic        2   length of the topic name
head         4   bytes before the payload in each packet
id_at        4   where the packet identifier stands in each packet, 0 for QoS 0
stride       4   bytes of each packet
properties   4   length of the properties
publisher    4   number of the session that sent them with QoS 2 and may retransmit them, or 0
expires      8   milliseconds since 1970 when they expire, 0 for never
cursors          4 for each receiver: number of its cursor
offsets          8 for each receiver: offset of the first message in that cursor
identifiers      2 for each receiver: packet identifier of the first message if all were sent at once, or 0
topic, properties (as MQTT 5 encodes them, without their length), data
"""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from heliograph.log.errors import MalformedRecord

_HEAD = struct.Struct("<IBBHIIIIIQ")
_HEAD_FOR_ONE = struct.Struct("<IBBHIIIIIQIQH")
_RECEIVERS = struct.Struct("<I")
_ONE_RECEIVER = struct.Struct("<IQ")
_ONE_OF_ALL = struct.Struct("<IQH")
_OFFSET = struct.Struct("<Q")
_RECEIVER_SIZE = 14
"""Bytes of all columns for one receiver."""
PUBLISH_PACKETS, AMQP_MESSAGES, MIXED_PACKETS = 1, 2, 3
"""Forms: what the data is."""
_RETAIN, _VERSION5, _VERBATIM, _FROM_STORE, _RETOLD = 4, 8, 16, 32, 64


class UniformMessages(NamedTuple):
    """The content of a record of messages, without its receivers."""

    topic: bytes
    data: bytes
    number: int
    head: int
    qos: int
    id_at: int
    version5: bool
    retain: bool
    verbatim: bool
    is_retained: bool
    properties: bytes
    publisher: int
    expires: int
    retold: bool = False
    """Another record with other receivers makes them retained."""

    @property
    def payloads(self) -> list[bytes]:
        """The payloads of all messages."""
        size = len(self.data) // self.number
        if self.number == 1:
            return [self.data[self.head :]]
        return [payload for (payload,) in struct.iter_unpack(f"{self.head}x{size - self.head}s", self.data)]


class Receivers(NamedTuple):
    """The receivers of a record of messages, column by column."""

    cursors: Sequence[int]
    offsets: Sequence[int]
    identifiers: Sequence[int]


def encode_uniform_messages(messages: UniformMessages, receivers: Receivers) -> bytes:
    """The body of a record up to `data`, which follows it."""
    n = len(receivers.cursors)
    topic, properties = messages.topic, messages.properties
    flags = (
        messages.qos
        | messages.retain * _RETAIN
        | messages.version5 * _VERSION5
        | messages.verbatim * _VERBATIM
        | messages.is_retained * _FROM_STORE
        | messages.retold * _RETOLD
    )
    fields = (
        n,
        PUBLISH_PACKETS,
        flags,
        len(topic),
        messages.head,
        messages.id_at,
        len(messages.data) // messages.number,
        len(properties),
        messages.publisher,
        messages.expires,
    )
    columns = *receivers.cursors, *receivers.offsets, *receivers.identifiers
    if n == 1:  # nearly always
        return _HEAD_FOR_ONE.pack(*fields, *columns) + topic + properties
    return b"".join((_HEAD.pack(*fields), struct.pack(f"<{n}I{n}Q{n}H", *columns), topic, properties))


def receivers_of(body: bytes) -> Receivers:
    """The receivers of a record of messages."""
    (n,) = _RECEIVERS.unpack_from(body)
    if n == 1:  # fast path: this is called for every record that is replayed
        cursor, offset, identifier = _ONE_OF_ALL.unpack_from(body, _HEAD.size)
        return Receivers((cursor,), (offset,), (identifier,))
    columns = struct.unpack_from(f"<{n}I{n}Q{n}H", body, _HEAD.size)
    return Receivers(columns[:n], columns[n : 2 * n], columns[2 * n :])


def readdressed(body: bytes, receivers: Receivers) -> bytes:
    """The body of a record, of any form, with other receivers."""
    (before,) = _RECEIVERS.unpack_from(body)
    n = len(receivers.cursors)
    columns = struct.pack(f"<{n}I{n}Q{n}H", *receivers.cursors, *receivers.offsets, *receivers.identifiers)
    front = body[_RECEIVERS.size : _HEAD.size]
    return b"".join((_RECEIVERS.pack(n), front, columns, body[_HEAD.size + _RECEIVER_SIZE * before :]))


def form_of(body: bytes) -> int:
    """What the data of a record is: PUBLISH_PACKETS, AMQP_MESSAGES or MIXED_PACKETS."""
    return body[4]


def qos_and_retain(body: bytes) -> tuple[int, bool]:
    """The QoS, and whether this record makes messages retained, without decoding the rest."""
    return body[5] & 3, body[5] & (_RETAIN | _RETOLD) == _RETAIN


def publisher_of(body: bytes) -> int:
    """Number of the session that may retransmit these messages (QoS 2), or 0."""
    return int.from_bytes(body[24:28], "little")


def offset_for(data: bytes | memoryview, cursor: int, at: int = 0) -> int | None:
    """The offset of the first message in a cursor; None if the messages are not for it. The body starts at `at`."""
    (n,) = _RECEIVERS.unpack_from(data, at)
    columns_at = at + _HEAD.size
    if n == 1:  # fast path: this is called for every record that is read back
        only, offset = _ONE_RECEIVER.unpack_from(data, columns_at)
        return offset if only == cursor else None
    numbers = struct.unpack_from(f"<{n}I", data, columns_at)
    if cursor not in numbers:
        return None
    return int(_OFFSET.unpack_from(data, columns_at + 4 * n + 8 * numbers.index(cursor))[0])


def decode_uniform_messages(body: bytes, count: int) -> UniformMessages:
    """The messages of a record that says it has `count` of them; MalformedRecord if they are of another form."""
    n, form, flags, topic_size, head, id_at, stride, properties_size, publisher, expires = _HEAD.unpack_from(body)
    if form != PUBLISH_PACKETS:
        raise MalformedRecord(f"expected a record of MQTT packets (form {PUBLISH_PACKETS}), found form {form}")
    topic_at = _HEAD.size + _RECEIVER_SIZE * n
    properties_at = topic_at + topic_size
    data_at = properties_at + properties_size
    return UniformMessages(
        body[topic_at:properties_at],
        body[data_at : data_at + count * stride],
        count,
        head,
        flags & 3,
        id_at,
        bool(flags & _VERSION5),
        bool(flags & _RETAIN),
        bool(flags & _VERBATIM),
        bool(flags & _FROM_STORE),
        body[properties_at:data_at],
        publisher,
        expires,
        bool(flags & _RETOLD),
    )
