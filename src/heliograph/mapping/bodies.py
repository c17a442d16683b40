"""Message bodies as MQTT payloads and as Python values.

For MQTT, the body of an AMQP message is located without decoding the items in it, of which there may be millions. So
the payload of a publication has the items as their sender encoded them, valid or not, as messages in queues do.

A Python value corresponds to a section and to the kind of message that JMS clients see:

| value | section | kind |
|---|---|---|
| `str` | `amqp-value`, a string | text message |
| `bytes` | `data` | bytes message |
| `dict` | `amqp-value`, a map | map message |
| `list` | `amqp-sequence` | stream message |
| `None` | `amqp-value`, null | message without a body |
| anything else | `amqp-value` | object message |
"""

import struct
from typing import Any, Final, NamedTuple

from heliograph.amqp import DecodeError, InvalidField, encode
from heliograph.amqp.messages import (
    UNREADABLE,
    Data,
    Sequence,
    Value,
    jms_kinds,
    read_value,
    sections,
    text_field,
)

ENCODED_CONTENT_TYPE: Final = "application/vnd.heliograph.amqp"
"""Content type of a payload that is the body of an AMQP message, as AMQP encodes it: a map, a list, a number, ..."""
MOST_SECTIONS: Final = 1000
"""Limit for bodies in several sections, since joining them takes time."""
_NULL, _EMPTY_LIST, _SHORT_LIST, _LONG_LIST = 0x40, 0x45, 0xC0, 0xD0
_SHORT_STRING, _LONG_STRING = 0xA1, 0xB1
_SHORT_BYTES, _LONG_BYTES = 0xA0, 0xB0
_two_numbers = struct.Struct(">II")
BYTES_CONTENT_TYPE: Final = "application/octet-stream"
"""What JMS clients write on a bytes message, if its sender says nothing else."""
_TEXT_CONTENT_TYPES: Final = "text/"
# The kinds of messages that JMS clients know.
_MESSAGE, _OBJECT, _MAP = jms_kinds.MESSAGE, jms_kinds.OBJECT, jms_kinds.MAP
_BYTES, _STREAM, _TEXT = jms_kinds.BYTES, jms_kinds.STREAM, jms_kinds.TEXT
# Module globals, because these are looked up for each message, and an attribute of another module costs more.
_DATA, _SEQUENCE, _VALUE, _FOOTER = sections.DATA, sections.SEQUENCE, sections.VALUE, sections.FOOTER
_DATA_START, _SEQUENCE_START, _VALUE_START = sections.DATA_START, sections.SEQUENCE_START, sections.VALUE_START
_SECTION_NAMES = sections.SECTION_NAMES


class Body(NamedTuple):
    """A body as an MQTT payload."""

    payload: bytes
    text: bool = False
    encoded: bool = False
    """The payload is a whole AMQP section, because MQTT has no equivalent; the content type says so."""


def publication_body(message: bytes, at: int) -> Body:
    """Return the body that begins at `at` (empty if nothing follows). Raise DecodeError if it is not a body."""
    try:
        code, values = _sections(message, at)
        if code == _VALUE:
            return _of_value(values[0])
        if code == _SEQUENCE:
            return Body(_SEQUENCE_START + _joined(values), encoded=True)
        return Body(b"".join([_bytes(value) for value in values]))
    except UNREADABLE:
        raise DecodeError(f"expected the body of a message, found {message[at : at + 20].hex(' ')} ...") from None


def is_body(payload: bytes) -> bool:
    """Whether a payload is one whole AMQP section: a value or a sequence."""
    try:
        code, values = _sections(payload, 0)
        if code == _SEQUENCE:
            _items(values[0])
    except (*UNREADABLE, InvalidField):
        return False
    return code in {_SEQUENCE, _VALUE} and payload == sections.section_start(code) + values[0]


def is_utf8(payload: bytes) -> bool:
    """Whether a payload is UTF-8."""
    if payload.isascii():
        return True
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True


def _sections(message: bytes, at: int) -> tuple[int, list[bytes]]:
    """Return the kind of the body's sections and their encoded values.

    AMQP part 3, section 3.2: a body is several data sections, several sequences, or one value; a footer may follow."""
    kind, values = 0, list[bytes]()
    while at < len(message):
        code, start = _descriptor(message, at)
        _, at = read_value(message, start)
        if code == _FOOTER and at == len(message):
            break
        if code not in {_DATA, _SEQUENCE, _VALUE} or (values and (code != kind or code == _VALUE)):
            raise ValueError(code)
        # Bounds the work for a hostile message.
        if len(values) == MOST_SECTIONS:
            raise InvalidField(f"the body of a message for a topic may come in {MOST_SECTIONS} sections")
        kind = code
        values.append(message[start:at])
    return kind, values


def _descriptor(message: bytes, at: int) -> tuple[int, int]:
    """Return the descriptor code of a section and the offset of its value. The descriptor may be a number or a name."""
    if message[at]:
        raise ValueError(at)
    name, start = read_value(message, at + 1)
    if isinstance(name, str):
        name = _SECTION_NAMES.get(name)
    return name if type(name) is int else 0, start


def _of_value(value: bytes) -> Body:
    code = value[0]
    # The constructors of null, str8, str32, vbin8 and vbin32. Everything else has no form in MQTT.
    if code == _NULL:
        return Body(b"")
    if code in {_SHORT_STRING, _LONG_STRING}:
        text = value[2 if code == _SHORT_STRING else 5 :]
        text.decode()
        return Body(text, text=True)
    if code in {_SHORT_BYTES, _LONG_BYTES}:
        return Body(_bytes(value))
    return Body(_VALUE_START + value, encoded=True)


def _bytes(value: bytes) -> bytes:
    if value[0] not in {_SHORT_BYTES, _LONG_BYTES}:
        raise ValueError(value[0])
    return value[2 if value[0] == _SHORT_BYTES else 5 :]


def _joined(lists: list[bytes]) -> bytes:
    parts = [_items(one) for one in lists]
    if len(parts) == 1:
        return lists[0]
    items = b"".join([part for _, part in parts])
    return bytes((_LONG_LIST,)) + _two_numbers.pack(4 + len(items), sum([count for count, _ in parts])) + items


def _items(value: bytes) -> tuple[int, bytes]:
    """Return the number of items of an encoded list, and the bytes of the items."""
    code = value[0]
    if code == _EMPTY_LIST:
        return 0, b""
    if code == _SHORT_LIST:
        return value[2], value[3:]
    if code != _LONG_LIST:
        raise ValueError(code)
    return _two_numbers.unpack_from(value, 1)[1], value[9:]


def kind_and_body_of(body: Any) -> tuple[int, bytes]:
    """Return the kind of message for a Python value, and its section."""
    if isinstance(body, str):
        return _TEXT, _VALUE_START + text_field(body.encode())
    if isinstance(body, bytes | bytearray | memoryview):
        return _BYTES, _DATA_START + encode(bytes(body))
    if isinstance(body, dict):
        return _MAP, _VALUE_START + encode(body)
    if isinstance(body, list | tuple):
        return _STREAM, _SEQUENCE_START + encode(list(body))
    return (_MESSAGE if body is None else _OBJECT), _VALUE_START + encode(body)


def value_of_body(body: Data | Sequence | Value, content_type: str | None, kind: Any) -> Any:
    """Return the Python value of a section; `kind` is the JMS kind of the message, if it has one."""
    if isinstance(body, Value):
        return body.value
    if isinstance(body, Sequence):
        return body.items
    if kind != _BYTES and content_type is not None and content_type.startswith(_TEXT_CONTENT_TYPES):
        return _text(body.content)
    # Other JMS clients send a message without a body as an empty data section.
    return None if not body.content and kind == _MESSAGE else body.content


def _text(content: bytes) -> str | bytes:
    try:
        return content.decode()
    except UnicodeDecodeError:  # in an encoding that only the application may know
        return content
