"""Messages to bytes, fast: what is the same for every message of a producer is encoded once.

The sections are laid out by hand because this is done for every message that is sent; everything unusual goes through
the codec.
"""

from functools import lru_cache
from struct import Struct
from typing import Any

from heliograph.amqp.encoding import encode
from heliograph.amqp.values import Byte, Symbol, Timestamp, UByte, UInt, ULong
from heliograph.client.destination import Destination
from heliograph.client.message import Message

MSG_TYPE = Symbol("x-opt-jms-msg-type")
DEST = Symbol("x-opt-jms-dest")
REPLY_TO = Symbol("x-opt-jms-reply-to")
DELIVERY_TIME = Symbol("x-opt-delivery-time")

MESSAGE, OBJECT, MAP, BYTES, STREAM, TEXT = range(6)
"""How JMS numbers the kinds of messages."""

_NULL = b"\x40"
_OCTETS = Symbol("application/octet-stream")
_timestamp = Struct(">Bq").pack
_long_text = Struct(">BI").pack


@lru_cache(1024)
def header_of(durable: bool | None, priority: int | None, ttl: int | None) -> bytes:
    """The header section, with no more fields than needed; empty if all have their defaults.

    What is None is left to the queue.
    """
    fields = [
        _NULL if durable is None else encode(durable),
        _NULL if priority is None else encode(UByte(priority)),
        _NULL if ttl is None else encode(UInt(ttl)),
    ]
    # Somebody who leaves one of them to the queue means the other as it is, even where it is what the standard has.
    unusual = priority is not None and (priority != 4 or durable is None)
    count = 3 if ttl is not None else 2 if unusual else 1 if durable else 0
    return b"\x00\x53\x70" + _list(b"".join(fields[:count]), count) if count else b""


@lru_cache(256)
def _annotations(kind: int, to: int | None, reply_to: int | None) -> bytes:
    return annotations_of(kind, to, reply_to, {})


def annotations_of(kind: int, to: int | None, reply_to: int | None, more: dict[Symbol, Any]) -> bytes:
    """The annotations by which JMS clients know the kinds of a message and of its destinations, and some more."""
    return b"\x00\x53\x72" + encode(_annotation_map(kind, to, reply_to) | more)


def _annotation_map(kind: int, to: int | None, reply_to: int | None) -> dict[Symbol, Any]:
    annotations: dict[Symbol, Any] = {MSG_TYPE: Byte(kind)}
    if to is not None:
        annotations[DEST] = Byte(to)
    if reply_to is not None:
        annotations[REPLY_TO] = Byte(reply_to)
    return annotations


@lru_cache(1024)
def text_of(text: str) -> bytes:
    """A string that comes up again and again: an address, a type."""
    return _text(text)


@lru_cache(1024)
def _symbol(text: str) -> bytes:
    return encode(Symbol(text))


def _text(text: str) -> bytes:
    return text_field(text.encode())


def text_field(data: bytes) -> bytes:
    """A string, of which the bytes in UTF-8 are here."""
    size = len(data)
    return (bytes((0xA1, size)) if size < 256 else _long_text(0xB1, size)) + data


def _list(fields: bytes, count: int) -> bytes:
    size = len(fields) + 1
    if size < 256:
        return bytes((0xC0, size, count)) + fields
    return b"\xd0" + (size + 3).to_bytes(4, "big") + count.to_bytes(4, "big") + fields


def identifier_field(value: Any) -> bytes:
    """A message or correlation id: text, a number, a UUID, bytes or none."""
    if value is None:
        return _NULL
    if type(value) is str:
        return _text(value)
    return encode(ULong(value) if isinstance(value, int) else value)


def _kind_and_body(body: Any) -> tuple[int, bytes]:
    if isinstance(body, str):
        return TEXT, b"\x00\x53\x77" + _text(body)
    if isinstance(body, bytes | bytearray | memoryview):
        return BYTES, b"\x00\x53\x75" + encode(bytes(body))
    if isinstance(body, dict):
        return MAP, b"\x00\x53\x77" + encode(body)
    if isinstance(body, list | tuple):
        return STREAM, b"\x00\x53\x76" + encode(list(body))
    return (MESSAGE if body is None else OBJECT), b"\x00\x53\x77" + encode(body)


def write(message: Message, to: str, reply_to: str | None, header: bytes) -> bytes:
    """The bytes of a message; `to` and `reply_to` are addresses, and `header` is made by `header_of`."""
    kind, body = _kind_and_body(message.body)
    to_kind = _number(message.destination)
    reply_kind = _number(message.reply_to)
    if message.delivery_time is None:
        annotations = _annotations(kind, to_kind, reply_kind)
    else:
        delivery_time = {DELIVERY_TIME: Timestamp(_ms(message.delivery_time))}
        annotations = annotations_of(kind, to_kind, reply_kind, delivery_time)
    content_type = message.content_type
    if content_type is None and kind == BYTES:
        content_type = _OCTETS
    fields = fields_of(
        message.message_id,
        None if message.user_id is None else message.user_id.encode(),
        to,
        message.type,
        reply_to,
        message.correlation_id,
        content_type,
        None if message.expiration is None else _ms(message.expiration),
        None if message.timestamp is None else _ms(message.timestamp),
    )
    fields += group_of(message.group_id, message.group_sequence)
    return b"".join(
        (
            header,
            annotations,
            properties_of(fields),
            b"\x00\x53\x74" + encode(message.properties) if message.properties else b"",
            body,
        )
    )


def fields_of(
    message_id: Any,
    user_id: bytes | None,
    to: str,
    subject: str | None,
    reply_to: str | None,
    correlation_id: Any,
    content_type: str | None,
    expires: int | None,
    created: int | None,
) -> list[bytes]:
    """The first ten properties, each encoded; times are milliseconds."""
    return [
        identifier_field(message_id),
        _NULL if user_id is None else encode(user_id),
        text_of(to),
        _NULL if subject is None else text_of(subject),
        _NULL if reply_to is None else text_of(reply_to),
        identifier_field(correlation_id),
        _NULL if content_type is None else _symbol(content_type),
        _NULL,  # content-encoding
        _NULL if expires is None else _timestamp(0x83, expires),
        _NULL if created is None else _timestamp(0x83, created),
    ]


def group_of(group_id: str | None, group_sequence: int | None) -> list[bytes]:
    """The next two properties, or none if neither is there."""
    if group_id is None and group_sequence is None:
        return []
    return [
        _NULL if group_id is None else text_of(group_id),
        _NULL if group_sequence is None else encode(UInt(group_sequence)),
    ]


def properties_of(fields: list[bytes]) -> bytes:
    """The section of these properties."""
    return b"\x00\x53\x73" + _list(b"".join(fields), len(fields))


def _number(place: Destination | None) -> int | None:
    return None if place is None else place.jms_type


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
