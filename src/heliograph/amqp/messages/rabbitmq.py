"""Unwraps messages that RabbitMQ 3 has converted to AMQP 0-9-1 and that a shovel forwards in this form.

The queues of RabbitMQ 3 store AMQP 0-9-1 messages only. AMQP 1.0 sections without an equivalent are stored as headers,
and a body that is no data section is stored encoded, with the type `amqp-1.0`. Its AMQP 1.0 plug-in reverses that when
it delivers such a message. A shovel does not: it turns the headers into application properties, in which the sections
are strings with bytes that are not valid text.
"""

from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.errors import DecodeError
from heliograph.amqp.messages.message import Data, Message, decode_message
from heliograph.amqp.messages.sections import APPLICATION_PROPERTIES_START

_SECTIONS = (b"x-amqp-1.0-message-annotations", b"x-amqp-1.0-properties", b"x-amqp-1.0-app-properties")
_ENCODED_BODY = b"amqp-1.0"
_SHORT_MAP, _LONG_MAP = 0xC1, 0xD1
_SHORT_TEXT, _LONG_TEXT = 0xA1, 0xB1


def unwrapped(payload: bytes) -> Message | None:
    """The message as it was sent; None if RabbitMQ has not wrapped this one."""
    if not any(name in payload for name in _SECTIONS):
        return None
    try:
        return _unwrapped(payload)
    except IndexError:
        raise DecodeError("the application properties of the message are cut off") from None


def _unwrapped(payload: bytes) -> Message | None:
    start = _find(payload)
    if start is None:
        return None
    texts, end = _texts(payload, start + len(APPLICATION_PROPERTIES_START))
    outside = decode_message(payload[:start] + payload[end:])
    if not isinstance(outside.body, Data):
        return None
    encoded = texts.get(b"type") == _ENCODED_BODY
    message = decode_message(
        b"".join(texts.get(name, b"") for name in _SECTIONS) + (outside.body.content if encoded else b"")
    )
    if not encoded:
        message.body = outside.body
    message.durable, message.priority, message.ttl = outside.durable, outside.priority, outside.ttl
    message.delivery_count = outside.delivery_count
    message.message_annotations = {**(message.message_annotations or {}), **(outside.message_annotations or {})}
    return message


def _find(payload: bytes) -> int | None:
    """Where the application properties begin, behind sections that can be read."""
    at = 0
    while not payload.startswith(APPLICATION_PROPERTIES_START, at):
        at = decode(payload, at)[1]
        if at >= len(payload):
            return None
    return at


def _texts(payload: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """The strings of the map that begins here, as bytes, by their names; and where the map ends."""
    code = payload[at]
    if code == _SHORT_MAP:
        count, end, at = payload[at + 2], at + 2 + payload[at + 1], at + 3
    elif code == _LONG_MAP:
        size, count = (int.from_bytes(payload[at + n : at + n + 4], "big") for n in (1, 5))
        end, at = at + 5 + size, at + 9
    else:
        raise DecodeError(f"application properties are a map, not of type 0x{code:02x}")
    texts: dict[bytes, bytes] = {}
    for _ in range(count // 2):
        name, at = _text(payload, at)
        value, at = _text(payload, at)
        if name is not None and value is not None:
            texts[name] = value
    if at != end:
        raise DecodeError(f"a map ends at byte {at}, not at {end}")
    return texts, end


def _text(payload: bytes, at: int) -> tuple[bytes | None, int]:
    """The bytes of the string that begins here, None for a value of another type; and where it ends."""
    code = payload[at]
    if code == _SHORT_TEXT:
        end = at + 2 + payload[at + 1]
        return payload[at + 2 : end], end
    if code == _LONG_TEXT:
        end = at + 5 + int.from_bytes(payload[at + 1 : at + 5], "big")
        return payload[at + 5 : end], end
    return None, decode(payload, at)[1]
