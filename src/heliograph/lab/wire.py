"""The few MQTT packets a load generator needs, built once as bytes and read as runs.

A generator that costs more than the broker measures itself, so nothing here is meant to be called per message
while a load runs, except `packets` and `read_publish`: they are for deliveries that are not what was expected.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

V3 = 4  # protocol level of MQTT 3.1.1
V5 = 5

CONNACK, SUBACK = 0x20, 0x90
PUBACK, PUBREC, PUBREL, PUBCOMP = 0x40, 0x50, 0x62, 0x70
DISCONNECT = b"\xe0\x00"
CLEAN = 0x02  # flag of CONNECT

# Who sent a message and which of its messages it is; every payload starts with these.
MARK = struct.Struct(">II")


def varint(number: int) -> bytes:
    """MQTT's variable byte integer."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def text(value: str) -> bytes:
    """A UTF-8 string with its two-byte length."""
    raw = value.encode()
    return len(raw).to_bytes(2, "big") + raw


def _packet(first: int, body: bytes) -> bytes:
    return bytes([first]) + varint(len(body)) + body


def connect(client: str, version: int = V3, *, durable: bool = False) -> bytes:
    """A CONNECT without keep-alive: a broker has no reason to wake up for an idle connection.

    It starts a clean session, or opens one that outlives its connections: 3.1.1's clean session 0. MQTT 5 would have
    to name an expiry for that, which no load needs.
    """
    properties = b"\x00" if version == V5 else b""
    flags = 0 if durable else CLEAN
    return _packet(0x10, text("MQTT") + bytes([version, flags, 0, 0]) + properties + text(client))


def subscribe(topic_filter: str, qos: int, version: int = V3) -> bytes:
    """A SUBSCRIBE with packet identifier 1."""
    return subscribe_all([topic_filter], qos, version)


def subscribe_all(filters: Sequence[str], qos: int, version: int = V3) -> bytes:
    """The same for several filters."""
    properties = b"\x00" if version == V5 else b""
    asked = b"".join(text(one) + bytes([qos]) for one in filters)
    return _packet(0x82, b"\x00\x01" + properties + asked)


def user_properties(pairs: Sequence[tuple[str, str]]) -> bytes:
    """The properties of an MQTT 5 PUBLISH: these user properties and nothing else."""
    return b"".join(b"\x26" + text(name) + text(value) for name, value in pairs)


@dataclass(frozen=True)
class Shape:
    """How a publisher's messages are framed, apart from topic and payload."""

    version: int = V3
    qos: int = 0
    properties: bytes = b""
    retain: bool = False

    def publish(self, topic: str, payload: bytes, packet_id: int = 0) -> bytes:
        """One PUBLISH of this shape."""
        identifier = packet_id.to_bytes(2, "big") if self.qos else b""
        properties = varint(len(self.properties)) + self.properties if self.version == V5 else b""
        return _packet(0x30 | self.qos << 1 | self.retain, text(topic) + identifier + properties + payload)


def payload(publisher: int, sequence: int, size: int) -> bytes:
    """A payload of this size that says who sent it and which message it is."""
    return MARK.pack(publisher, sequence).ljust(size, b".")


def ack_run(kind: int, high: bytes, low: bytes) -> bytes:
    """Acknowledgements of one kind for packet identifiers given as a column of high and a column of low bytes."""
    run = bytearray(bytes([kind, 2, 0, 0]) * len(high))
    run[2::4] = high
    run[3::4] = low
    return bytes(run)


def answer_run(kind: int, run: bytes) -> bytes:
    """The same identifiers as in this run of four-byte acknowledgements, acknowledged by another kind."""
    answer = bytearray(run)
    answer[0::4] = bytes([kind]) * (len(run) // 4)
    return bytes(answer)


def acks(kind: int, count: int) -> list[bytes]:
    """One acknowledgement of this kind for each packet identifier from 1 to `count`."""
    return [bytes([kind, 2]) + number.to_bytes(2, "big") for number in range(1, count + 1)]


def packets(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Where each whole packet of `data` starts, where its body starts, and where it ends."""
    at, size = 0, len(data)
    while at + 2 <= size:
        length, shift, body = 0, 0, at + 1
        while body < size:
            byte = data[body]
            body += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        else:
            return
        if body + length > size:
            return
        yield at, body, body + length
        at = body + length


@dataclass(frozen=True)
class Delivery:
    """What one PUBLISH that reached a subscriber says."""

    qos: int
    packet_id: bytes
    publisher: int
    sequence: int


def read_publish(packet: bytes, body: int, version: int) -> Delivery | None:
    """Read one whole PUBLISH whose body starts at `body`; None for any other packet or a payload that is not ours."""
    if packet[0] >> 4 != 3:
        return None
    qos = packet[0] >> 1 & 3
    at = body + 2 + int.from_bytes(packet[body : body + 2], "big")
    packet_id = packet[at : at + 2] if qos else b""
    at += len(packet_id)
    if version == V5:
        length, shift = 0, 0
        while True:
            byte = packet[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        at += length
    if len(packet) - at < MARK.size:
        return None
    return Delivery(qos, packet_id, *MARK.unpack_from(packet, at))
