"""Encodes sections quickly: parts that are equal in all messages of a producer are encoded once.

The bytes are put together by hand because this runs for every message that is sent; unusual values go through the
codec.
"""

from collections.abc import Mapping
from functools import lru_cache
from struct import Struct
from typing import Any

from heliograph.amqp.codec.encoding import NULL, encode
from heliograph.amqp.codec.values import Byte, Symbol, UByte, UInt, ULong
from heliograph.amqp.messages.annotations import JMS_DESTINATION_KIND, JMS_MESSAGE_KIND, JMS_REPLY_KIND
from heliograph.amqp.messages.sections import (
    DATA_START,
    DEFAULT_PRIORITY,
    HEADER_START,
    MESSAGE_ANNOTATIONS_START,
    PROPERTIES_START,
    VALUE_START,
)

_timestamp = Struct(">Bq").pack
_SHORT_TEXTS = [VALUE_START + bytes((0xA1, size)) for size in range(256)]
_SHORT_DATA = [DATA_START + bytes((0xA0, size)) for size in range(256)]
_long_text = Struct(">BI").pack


@lru_cache(1024)
def header_section(durable: bool | None, priority: int | None, ttl: int | None) -> bytes:
    """The header section, with no more fields than needed; empty if all have their defaults.

    What is None is left to the queue.
    """
    fields = [
        NULL if durable is None else encode(durable),
        NULL if priority is None else encode(UByte(priority)),
        NULL if ttl is None else encode(UInt(ttl)),
    ]
    # If one of the two is left to the queue, the other is written even if it has the standard's default: otherwise the
    # queue would replace it, too.
    unusual = priority is not None and (priority != DEFAULT_PRIORITY or durable is None)
    count = 3 if ttl is not None else 2 if unusual else 1 if durable else 0
    return HEADER_START + _list(b"".join(fields[:count]), count) if count else b""


@lru_cache(1024)
def kinds_section(kind: int, to: int | None, reply_to: int | None) -> bytes:
    """The annotations that most messages have and no others."""
    return annotations_section(kind, to, reply_to, {})


def annotations_section(kind: int, to: int | None, reply_to: int | None, more: Mapping[Symbol, Any]) -> bytes:
    """The annotations by which JMS clients know the kinds of a message and of its destinations, and some more."""
    annotations: dict[Symbol, Any] = {JMS_MESSAGE_KIND: Byte(kind)}
    if to is not None:
        annotations[JMS_DESTINATION_KIND] = Byte(to)
    if reply_to is not None:
        annotations[JMS_REPLY_KIND] = Byte(reply_to)
    return MESSAGE_ANNOTATIONS_START + encode({**annotations, **more})


@lru_cache(1024)
def text_of(text: str) -> bytes:
    """A string that comes up again and again: an address, a type."""
    return text_field(text.encode())


@lru_cache(1024)
def _symbol(text: str) -> bytes:
    return encode(Symbol(text))


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
        return NULL
    if type(value) is str:
        return text_field(value.encode())
    return encode(ULong(value) if isinstance(value, int) else value)


def property_fields(
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
        NULL if user_id is None else encode(user_id),
        text_of(to),
        NULL if subject is None else text_of(subject),
        NULL if reply_to is None else text_of(reply_to),
        identifier_field(correlation_id),
        NULL if content_type is None else _symbol(content_type),
        NULL,  # content-encoding
        NULL if expires is None else _timestamp(0x83, expires),
        NULL if created is None else _timestamp(0x83, created),
    ]


def group_fields(group_id: str | None, group_sequence: int | None) -> list[bytes]:
    """The next two properties, or none if neither is there."""
    if group_id is None and group_sequence is None:
        return []
    return [
        NULL if group_id is None else text_of(group_id),
        NULL if group_sequence is None else encode(UInt(group_sequence)),
    ]


def properties_section(fields: list[bytes]) -> bytes:
    """The section of these properties."""
    return PROPERTIES_START + _list(b"".join(fields), len(fields))


def start_of_body(size: int, text: bool) -> bytes:
    """The bytes before a body of `size` bytes: a text or data."""
    if size < 256:
        return _SHORT_TEXTS[size] if text else _SHORT_DATA[size]
    return (VALUE_START + b"\xb1" if text else DATA_START + b"\xb0") + size.to_bytes(4, "big")
