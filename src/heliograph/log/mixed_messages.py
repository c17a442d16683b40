"""Records of messages in their third form: MQTT packets of several topics and lengths, from many devices.

receivers    4   how many cursors these messages are for
form         1   3
flags        1   QoS (1, 2) and MQTT 5 (8), the same for all
columns      2   which of the optional columns are present: publishers (1)
(zero)      28
cursors, offsets, identifiers as in the first form (see `messages`)
sizes            4 for each message: the length of its packet
name_ends        2 for each: where its topic ends in the packet; with QoS 1 and 2 its packet identifier stands there
heads            2 for each: bytes before its payload
publishers       4 for each: number of the session that sent it with QoS 2 and may send it again, or 0
data             the packets, one after the other

The packets are as the server received them, with remaining lengths in their shortest form, and without retain flag,
expiry and topic alias. A packet that does not fit (a header longer than 65535 bytes) is stored in the first form.

Why columns: packing and unpacking them takes one call of `struct` for all messages, where a header per message would
take one each. And a reader finds any message without parsing the packets before it.
"""

import struct
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from heliograph.log.errors import MalformedRecord
from heliograph.log.messages import MIXED_PACKETS, Receivers

_HEAD = struct.Struct("<IBBH28x")
_RECEIVER_SIZE = 14
_VERSION5 = 8
_PUBLISHERS = 1
LONGEST_HEAD = 0xFFFF
"""The most bytes before a payload that fit into the `heads` column."""


class MixedMessages(NamedTuple):
    """The content of a record of messages of several topics, without its receivers."""

    data: bytes
    """The packets, one after the other."""
    sizes: Sequence[int]
    name_ends: Sequence[int]
    heads: Sequence[int]
    qos: int
    version5: bool
    publishers: Sequence[int] = ()

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.sizes)

    def starts(self) -> list[int]:
        """Where each packet starts in `data`, and where the last one ends."""
        return [*accumulate(self.sizes, initial=0)]

    @property
    def packets(self) -> list[bytes]:
        """All packets."""
        data = self.data
        return [data[start:end] for start, end in pairwise(self.starts())]

    @property
    def topics(self) -> list[bytes]:
        """The topic of each message."""
        return [
            packet[topic_start(len(packet)) : end] for packet, end in zip(self.packets, self.name_ends, strict=True)
        ]

    @property
    def payloads(self) -> list[bytes]:
        """The payload of each message."""
        return [packet[head:] for packet, head in zip(self.packets, self.heads, strict=True)]

    @property
    def properties(self) -> list[bytes]:
        """The MQTT 5 properties of each message as on the wire, without their length."""
        if not self.version5:
            return [b""] * self.number
        behind = 2 if self.qos else 0
        return [
            _without_length(packet[end + behind : head])
            for packet, end, head in zip(self.packets, self.name_ends, self.heads, strict=True)
        ]

    def part(self, lo: int, hi: int) -> "MixedMessages":
        """The messages from index `lo` up to `hi`."""
        starts = self.starts()
        return self._replace(
            data=self.data[starts[lo] : starts[hi]],
            sizes=self.sizes[lo:hi],
            name_ends=self.name_ends[lo:hi],
            heads=self.heads[lo:hi],
            publishers=self.publishers[lo:hi],
        )

    def identifiers(self) -> Iterator[tuple[int, int]]:
        """Of messages with QoS 2: the session that sent each, or 0, and the packet identifier with which it came."""
        for packet, end, publisher in zip(self.packets, self.name_ends, self.publishers, strict=False):
            yield publisher, packet[end] << 8 | packet[end + 1]


def topic_start(size: int) -> int:
    """Where the topic name starts in a packet of this size, whose remaining length is in its shortest form."""
    return 4 if size <= 0x7F + 2 else 5 if size <= 0x3FFF + 3 else 6 if size <= 0x1FFFFF + 4 else 7


def _without_length(properties: bytes) -> bytes:
    at = 0
    while properties[at] & 0x80:
        at += 1
    return properties[at + 1 :]


def encode_mixed_messages(messages: MixedMessages, receivers: Receivers) -> bytes:
    """The body of a record up to `data`, which follows it."""
    n, count, publishers = len(receivers.cursors), messages.number, messages.publishers
    return b"".join(
        (
            _HEAD.pack(n, MIXED_PACKETS, messages.qos | messages.version5 * _VERSION5, bool(publishers) * _PUBLISHERS),
            struct.pack(f"<{n}I{n}Q{n}H", *receivers.cursors, *receivers.offsets, *receivers.identifiers),
            struct.pack(
                f"<{count}I{count}H{count}H{len(publishers)}I",
                *messages.sizes,
                *messages.name_ends,
                *messages.heads,
                *publishers,
            ),
        )
    )


def decode_mixed_messages(body: bytes, count: int) -> MixedMessages:
    """The messages of a record that says it has `count` of them; MalformedRecord if they are of another form."""
    n, form, flags, columns = _HEAD.unpack_from(body)
    if form != MIXED_PACKETS:
        raise MalformedRecord(
            f"expected a record of packets of several topics (form {MIXED_PACKETS}), found form {form}"
        )
    publishers = count if columns & _PUBLISHERS else 0
    # One layout for all columns, so that a single call unpacks them.
    layout = struct.Struct(f"<{count}I{count}H{count}H{publishers}I")
    at = _HEAD.size + _RECEIVER_SIZE * n
    found = layout.unpack_from(body, at)
    return MixedMessages(
        body[at + layout.size :],
        found[:count],
        found[count : 2 * count],
        found[2 * count : 3 * count],
        flags & 3,
        bool(flags & _VERSION5),
        found[3 * count :],
    )
