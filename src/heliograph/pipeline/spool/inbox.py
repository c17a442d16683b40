"""What a broker sends, understood: messages to be kept, and the answers that may be sent when they are.

No sockets and no files: bytes and times come in, rows and answers go out. A message of QoS 2 is known by its packet
identifier from its first arrival to its release. These identifiers are part of what is to be kept: then nothing is
taken twice, whatever is interrupted and begun anew.
"""

from collections.abc import Iterable
from typing import NamedTuple

from heliograph.mqtt import (
    ConnAck,
    MalformedPacket,
    Packet,
    PacketType,
    check_topic_name,
    decode,
    decode_varint,
    packet_bounds,
)
from heliograph.mqtt.runs import PUBACKS, PUBCOMPS, PUBRECS
from heliograph.mqtt.strings import decode_utf8
from heliograph.pipeline.source.message_properties import NO_PROPERTIES, MessageProperties, message_properties
from heliograph.pipeline.spool.rows import Rows

_LARGEST = 5 + 268_435_455
_PUBLISH, _PUBREL = PacketType.PUBLISH << 4, PacketType.PUBREL << 4 | 2
_MOST_TOPICS = 10_000


class Gathered(NamedTuple):
    """What came since the last time."""

    rows: Rows
    answers: bytes
    """To be sent when the rows and the identifiers are safe."""
    held: frozenset[int]
    """Packet identifiers of messages of QoS 2 that were taken and are not released."""
    changed: bool
    """Whether there is anything new to be kept."""


class Inbox:
    """Takes what one connection brings."""

    def __init__(self, version: int, held: Iterable[int] = ()) -> None:
        self._version = version
        self._held = set(held)
        self._changed = False
        self._data = b""
        self._rows = Rows()
        self._answers: list[bytes] = []
        self._topics: set[bytes] = set()
        """Topics that are known to be good."""
        self.others: list[Packet] = []
        """Packets that are about the connection itself; whoever takes them removes them."""

    @property
    def waiting(self) -> int:
        """About how many bytes have gathered."""
        return self._rows.size

    @property
    def answers_wait(self) -> bool:
        """Whether the broker waits for an answer."""
        return bool(self._answers)

    @property
    def has_gathered(self) -> bool:
        """Whether anything is to be kept or to be answered."""
        return bool(self._answers) or bool(len(self._rows))

    def take(self) -> Gathered:
        """All that has gathered."""
        gathered = Gathered(
            self._rows, b"".join(self._answers), frozenset(self._held), self._changed or len(self._rows) > 0
        )
        self._rows, self._answers, self._changed = Rows(), [], False
        return gathered

    def receive(self, data: bytes, time: int) -> None:
        """Bytes have come, at a time in microseconds since 1970; ProtocolError if they are not MQTT."""
        data = self._data + data if self._data else data
        pos, end = 0, len(data)
        while pos < end:
            bounds = packet_bounds(data, pos, _LARGEST, self._version)
            if bounds is None or bounds[1] > end:
                break
            first = data[pos]
            if first & 0xF0 == _PUBLISH:
                self._publish(data, first & 0x0F, *bounds, time)
            elif first == _PUBREL:
                self._release(data, *bounds)
            else:
                self._other(decode(first, data[bounds[0] : bounds[1]], self._version))
            pos = bounds[1]
        self._data = data[pos:] if pos else data

    def _other(self, packet: Packet) -> None:
        if isinstance(packet, ConnAck) and not packet.session_present and self._held:
            self._held.clear()  # the broker has forgotten everything, so these numbers mean something else now
            self._changed = True
        self.others.append(packet)

    def _publish(self, data: bytes, flags: int, at: int, end: int, time: int) -> None:
        # By hand, because this is done for every message: `decode` would make an object of each.
        qos = flags >> 1 & 3
        topic_at = at + 2
        at = topic_at + int.from_bytes(data[at:topic_at], "big")
        topic = data[topic_at:at]
        if qos:
            number = int.from_bytes(data[at : at + 2], "big")
            at += 2
        if at > end or qos == 3 or (qos and not number):
            raise MalformedPacket("a PUBLISH that is cut off, or has QoS 3 or the packet identifier 0")
        properties = NO_PROPERTIES
        if self._version == 5:
            properties, at = self._properties(data, at, end)
        if qos == 1:
            self._answers.append(PUBACKS[4 * number : 4 * number + 4])
        elif qos:
            self._answers.append(PUBRECS[4 * number : 4 * number + 4])
            if number in self._held:
                return  # it was taken before, and our answer was lost
            self._held.add(number)
            self._changed = True
        if topic not in self._topics:
            self._learn(topic)
        self._rows.add(time, topic, data[at:end], flags, properties)

    def _properties(self, data: bytes, at: int, end: int) -> tuple[MessageProperties, int]:
        """What the properties say, and where the payload begins."""
        if at < end and not data[at]:
            return NO_PROPERTIES, at + 1
        found = decode_varint(data, at, end)
        if found is None or found[0] + found[1] > end:
            raise MalformedPacket("a PUBLISH whose properties are cut off")
        length, start = found
        return message_properties(data[start : start + length]), start + length

    def _learn(self, topic: bytes) -> None:
        """Check a topic that comes for the first time."""
        check_topic_name(decode_utf8(topic))
        if len(self._topics) >= _MOST_TOPICS:
            self._topics.clear()
        self._topics.add(topic)

    def _release(self, data: bytes, at: int, end: int) -> None:
        if end - at < 2:
            raise MalformedPacket("a PUBREL without a packet identifier")
        number = data[at] << 8 | data[at + 1]
        self._answers.append(PUBCOMPS[4 * number : 4 * number + 4])
        if number in self._held:
            self._held.remove(number)
            self._changed = True
