"""The fixed header (MQTT 5, section 2.1): packet types, variable byte integers, and where a packet ends."""

from enum import IntEnum

from heliograph.mqtt.errors import MalformedPacket, ProtocolError
from heliograph.mqtt.reasons import Reason

VARINT_MAX = 268_435_455


class PacketType(IntEnum):
    """The upper four bits of a packet's first byte."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    PUBREC = 5
    PUBREL = 6
    PUBCOMP = 7
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14
    AUTH = 15


def encode_varint(n: int) -> bytes:
    """Encode a variable byte integer (MQTT 5, 1.5.5): seven bits to a byte, least significant first, at most four
    bytes."""
    if not 0 <= n <= VARINT_MAX:
        raise ValueError(f"a variable byte integer holds 0 to {VARINT_MAX}, not {n}")
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def decode_varint(buf: bytes | bytearray | memoryview, pos: int, end: int, version: int = 5) -> tuple[int, int] | None:
    """Read a variable byte integer from buf[pos:end]: its value and the position after it.

    None means that it goes on after `end`. MQTT 5 forbids more bytes than the value needs [MQTT-1.5.5-1]; the older
    versions do not.
    """
    value = 0
    for index in range(min(end - pos, 4)):
        byte = buf[pos + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if byte == 0 and index > 0 and version == 5:
                raise MalformedPacket(f"variable byte integer {value} takes {index + 1} bytes, more than it needs")
            return value, pos + index + 1
    if end - pos >= 4:
        raise MalformedPacket("variable byte integer is longer than four bytes")
    return None


def packet_bounds(
    buf: bytes | bytearray | memoryview, pos: int, limit: int, version: int = 5
) -> tuple[int, int] | None:
    """Bounds of the body of the packet whose fixed header starts at `pos`: (start, end).

    `end` lies beyond the buffer when the packet is not complete yet; None means that even its length is not known.
    A packet that is longer than `limit` bytes, header included, is refused as soon as its length is known.
    """
    header = decode_varint(buf, pos + 1, len(buf), version)
    if header is None:
        return None
    length, start = header
    end = start + length
    if end - pos > limit:
        raise ProtocolError(Reason.PACKET_TOO_LARGE, f"packet of {end - pos} bytes; the limit is {limit}")
    return start, end
