"""Decodes whole messages: a fast way for the usual forms; everything else goes through the codec.

Header and annotations are equal bytes in all messages of a producer, so they are decoded once and cached. Properties
and body are decoded inline as long as they have the usual short forms.
"""

import struct
from struct import Struct
from typing import Any, NamedTuple

from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.errors import DecodeError
from heliograph.amqp.messages.message import Data, Message, Sequence, Value, decode_message
from heliograph.amqp.messages.rabbitmq import unwrapped
from heliograph.amqp.messages.sections import (
    APPLICATION_PROPERTIES_START,
    DATA_START,
    HEADER_START,
    MESSAGE_ANNOTATIONS_START,
    PROPERTIES_START,
    PROPERTY_NAMES,
    VALUE_START,
)

_NOTHING = (None,) * len(PROPERTY_NAMES)
_SHORT_HEADER = HEADER_START + b"\xc0"
_SHORT_ANNOTATIONS = MESSAGE_ANNOTATIONS_START + b"\xc1"
_MOST_REMEMBERED = 1000
_long = Struct(">q").unpack_from
_size = Struct(">I").unpack_from


class Contents(NamedTuple):
    """What is in a message: its front (header and annotations), the 13 properties, application properties and body."""

    durable: bool
    priority: int
    delivery_count: int
    annotations: dict[Any, Any]
    properties: tuple[Any, ...]
    application_properties: dict[str, Any]
    body: Data | Sequence | Value


_fronts: dict[bytes, tuple[bool, int, int, dict[Any, Any]]] = {}


def read_message(payload: bytes) -> Contents:
    """Everything in a message. `ProtocolError` if it is none."""
    try:
        found = read_usual_message(payload)
    except (IndexError, struct.error):  # it is cut off
        found = None
    except DecodeError:
        original = unwrapped(payload)
        if original is None:
            raise
        return _of(original)
    return found or decode_any(payload)


def decode_any(payload: bytes) -> Contents:
    """The contents of a message of any form."""
    return _of(decode_message(payload))


def _of(message: Message) -> Contents:
    return Contents(
        message.durable,
        message.priority,
        message.delivery_count,
        message.message_annotations or {},
        tuple(getattr(message, name) for name in PROPERTY_NAMES),
        message.application_properties or {},
        message.body,
    )


def read_usual_message(payload: bytes) -> Contents | None:
    """The contents if all sections have the forms that nearly everybody sends; None if anything is unusual."""
    at = front_length(payload)
    durable, priority, delivery_count, annotations = read_front(payload[:at])
    properties = _NOTHING
    if payload[at : at + 3] == PROPERTIES_START:
        if payload[at + 3] != 0xC0:
            return None
        end = at + 5 + payload[at + 4]
        fields = _fields(payload, at + 6, payload[at + 5])
        if fields is None:
            return None
        properties, at = fields
        if at != end:
            return None
    application_properties: Any = {}
    if payload[at : at + 3] == APPLICATION_PROPERTIES_START:
        found = _application_properties(payload, at + 3)
        if found is None:
            return None
        application_properties, at = found
    body = _body(payload, at)
    if body is None:
        return None
    return Contents(durable, priority, delivery_count, annotations.copy(), properties, application_properties, body)


def _application_properties(payload: bytes, at: int) -> tuple[dict[str, Any], int] | None:
    """The map at this place and where it ends. Many messages of a sender have the same one."""
    if payload[at] != 0xC1:
        found, end = decode(payload, at)
        return (found, end) if type(found) is dict else None
    end = at + 2 + payload[at + 1]
    data = payload[at:end]
    known = _maps.get(data)
    if known is None:
        known, length = decode(data)
        if length != len(data):
            return None
        if len(_maps) < _MOST_REMEMBERED and all(type(value) in _UNCHANGING for value in known.values()):
            _maps[data] = known
    return known.copy(), end


_maps: dict[bytes, dict[str, Any]] = {}
_UNCHANGING = frozenset({str, int, bool, float, bytes})


def front_length(payload: bytes) -> int:
    """Where header and annotations end, if they have their usual forms; an unusual one is not counted."""
    at = 5 + payload[4] if payload.startswith(_SHORT_HEADER) else 0
    if payload.startswith(_SHORT_ANNOTATIONS, at):
        at += 5 + payload[at + 4]
    return at


def read_front(data: bytes) -> tuple[bool, int, int, dict[Any, Any]]:
    """What header and annotations say: durable, priority, delivery count, annotations. The last must not be changed."""
    known = _fronts.get(data)
    if known is None:
        message = decode_message(data) if data else Message()
        known = (message.durable, message.priority, message.delivery_count, message.message_annotations or {})
        if len(_fronts) < _MOST_REMEMBERED:
            _fronts[data] = known
    return known


def _fields(payload: bytes, at: int, count: int) -> tuple[tuple[Any, ...], int] | None:
    """The fields of the properties, if they are nulls, short texts, short symbols and times."""
    fields: list[Any] = []
    for _ in range(count):
        code = payload[at]
        if code == 0x40:
            fields.append(None)
            at += 1
        elif code in {0xA1, 0xA3}:
            start = at + 2
            at = start + payload[at + 1]
            try:
                fields.append(payload[start:at].decode())
            except UnicodeDecodeError:
                return None
        elif code == 0x83:
            fields.append(_long(payload, at + 1)[0])
            at += 9
        else:
            return None
    return (*fields, *_NOTHING[count:]), at


def _body(payload: bytes, at: int) -> Data | Value | None:
    """The last section, if it is one text or one piece of data and nothing follows."""
    section, code = payload[at : at + 3], payload[at + 3]
    if code in {0xA1, 0xA0}:
        start, size = at + 5, payload[at + 4]
    elif code in {0xB1, 0xB0} and len(payload) >= at + 8:
        start, size = at + 8, _size(payload, at + 4)[0]
    else:
        return None
    if start + size != len(payload):
        return None
    if section == VALUE_START and code & 1:
        try:
            return Value(payload[start:].decode())
        except UnicodeDecodeError:
            return None
    return Data(payload[start:]) if section == DATA_START and not code & 1 else None
