"""Decodes single sections of a message without the others, for selectors and for the mapping to MQTT.

Values have the simple types that selectors know: all whole numbers and times are `int`, `float` and `double` are
`float`, strings, symbols and characters are `str`. What JMS has no type for (binary, decimals) is there, but compares
to nothing. Nothing is checked that need not be: a section that makes no sense raises one of `UNREADABLE`, or is read as
far as it makes sense.
"""

import struct
from struct import Struct
from typing import Any
from uuid import UUID

from heliograph.amqp.codec.decoding import DEEPEST
from heliograph.amqp.messages.sections import (
    APPLICATION_PROPERTIES,
    DATA,
    DATA_START,
    HEADER,
    HEADER_DEFAULTS,
    HEADER_START,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    PROPERTY_NAMES,
    SECTION_NAMES,
    SEQUENCE_START,
    VALUE_START,
)

UNREADABLE = (IndexError, ValueError, struct.error)
"""Exceptions raised for bytes that are not valid AMQP."""

_FIXED = {
    code: (Struct(form).unpack_from, 1 + Struct(form).size)
    for code, form in {
        0x50: ">B",
        0x51: ">b",
        0x52: ">B",
        0x53: ">B",
        0x54: ">b",
        0x55: ">b",
        0x60: ">H",
        0x61: ">h",
        0x70: ">I",
        0x71: ">i",
        0x72: ">f",
        0x80: ">Q",
        0x81: ">q",
        0x82: ">d",
        0x83: ">q",
    }.items()
}
"""Numbers: how to read each kind, and how many bytes it takes with its code."""
_CONSTANTS = {0x40: None, 0x41: True, 0x42: False, 0x43: 0, 0x44: 0}
_WIDTHS = {0x4: 0, 0x5: 1, 0x6: 2, 0x7: 4, 0x8: 8, 0x9: 16}
_TEXTS = {0xA1: "utf-8", 0xB1: "utf-8", 0xA3: "ascii", 0xB3: "ascii"}
# Boolean as a byte of its own, character, UUID, and the decimals, which stay bytes.
_OTHERS: dict[int, Any] = {
    0x45: lambda _: b"",
    0x56: lambda raw: raw != b"\0",
    0x73: lambda raw: raw.decode("utf-32-be"),
    0x74: bytes,
    0x84: bytes,
    0x94: bytes,
    0x98: lambda raw: UUID(bytes=raw),
}
_HEADER_KINDS = ({bool}, {int}, {int}, {bool}, {int})
_NO_PROPERTIES = (None,) * len(PROPERTY_NAMES)
_IDENTIFIER, _TEXT, _NUMBER = {str, bytes, int, UUID}, {str}, {int}
_PROPERTY_KINDS = (
    *(_IDENTIFIER, {bytes}, _TEXT, _TEXT, _TEXT, _IDENTIFIER, _TEXT, _TEXT),
    *(_NUMBER, _NUMBER, _TEXT, _NUMBER, _TEXT),
)
MOST_ENTRIES = 1000
"""Application properties, and message annotations, that a message may have. Reading more would take long, and whoever
has a selector reads them again and again."""
ENTRY_CHECK_FROM = 3 * MOST_ENTRIES
"""Shorter messages cannot exceed `MOST_ENTRIES`, since an entry takes three bytes at least."""
_READ_MOST = MOST_ENTRIES + 100
"""What is read of them: dead letters have got some more."""
BODY_SECTION = DATA
"""Where a body begins: no section before it has a descriptor as high as this."""
_BEFORE_BODY = 5
"""Sections that a message can have before its body."""
_SHORT_HEADER = HEADER_START + b"\xc0"
_BODIES = (DATA_START, SEQUENCE_START, VALUE_START)
_NAMES = {name.encode(): code for name, code in SECTION_NAMES.items() if code < BODY_SECTION}


def find_section(payload: bytes, wanted: int) -> tuple[int, int, int]:
    """The first section with this code, or with a higher one: where it begins, where its value begins, and its code.

    At the end of the message, or where it is not valid, the code is 0.
    """
    at, size = 0, len(payload)
    for _ in range(_BEFORE_BODY + 1):
        if at + 3 >= size:
            break
        start = at
        if payload[at + 1] == 0x53 and not payload[at]:
            code, at = payload[at + 2], at + 3
        else:
            code, at = _long_descriptor(payload, at)
        if code >= wanted:
            return start, at, code
        form = payload[at]
        if form & 0xF0 == 0xC0:
            at += 2 + payload[at + 1]
        elif form == 0x45:
            at += 1
        elif form & 0xF0 == 0xD0:
            at += 5 + int.from_bytes(payload[at + 1 : at + 5], "big")
        else:
            return start, at, 0
    else:
        raise ValueError(at)
    return size, size, 0


def _long_descriptor(payload: bytes, at: int) -> tuple[int, int]:
    """The code of a section that is written in a longer way than needed, and where its list or map begins."""
    if payload[at] == 0:
        if payload[at + 1] == 0x80:
            return int.from_bytes(payload[at + 2 : at + 10], "big"), at + 10
        if payload[at + 1] == 0xA3:
            end = at + 3 + payload[at + 2]
            return _NAMES.get(payload[at + 3 : end], BODY_SECTION), end
    return BODY_SECTION, at


def read_header(payload: bytes) -> tuple[Any, ...]:
    """Durable, priority, ttl, first acquirer, delivery count."""
    return tuple(_section_list(payload, HEADER, HEADER_DEFAULTS, _HEADER_KINDS))


def read_properties(payload: bytes) -> list[Any]:
    """The 13 fields of the properties."""
    return _section_list(payload, PROPERTIES, _NO_PROPERTIES, _PROPERTY_KINDS)


def read_application_properties(payload: bytes) -> dict[str, Any]:
    """The application properties of a message, {} if it has none."""
    return _section_map(payload, APPLICATION_PROPERTIES)


def read_message_annotations(payload: bytes) -> dict[str, Any]:
    """The message annotations, {} if there are none."""
    return _section_map(payload, MESSAGE_ANNOTATIONS)


def encoded_annotations(payload: bytes) -> tuple[int, int, dict[Any, bytes]]:
    """Where the message annotations begin and end, and the bytes of each, its name and its value; all by name.

    Where there are none, they would begin and end in their place.
    """
    found: dict[Any, bytes] = {}
    start, at, section = find_section(payload, MESSAGE_ANNOTATIONS)
    if section != MESSAGE_ANNOTATIONS:
        if not section and start < len(payload):
            raise ValueError(start)
        return start, start, found
    if payload[at] & 0x0F != 1:
        raise ValueError(payload[at])  # a list
    at, end = _compound(payload, at)
    for _ in range(_READ_MOST):
        if at >= end:
            break
        name, value_at = read_value(payload, at)
        _, stop = read_value(payload, value_at)
        found[name] = payload[at:stop]
        at = stop
    if at != end:
        raise ValueError(end)
    return start, end, found


def _section_map(payload: bytes, wanted: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    _, at, section = find_section(payload, wanted)
    if section != wanted:
        return found
    at, end = _compound(payload, at)
    for _ in range(_READ_MOST):
        if at >= end:
            break
        # Nearly all names and many values are short strings, which are decoded inline.
        if payload[at] & 0xFD == 0xA1:
            stop = at + 2 + payload[at + 1]
            name = payload[at + 2 : stop].decode()
        else:
            name, stop = read_value(payload, at)
        code = payload[stop]
        if code == 0xA1:
            at = stop + 2 + payload[stop + 1]
            found[name] = payload[stop + 2 : at].decode()
        elif code in _FIXED:
            unpack, size = _FIXED[code]
            (found[name],) = unpack(payload, stop + 1)
            at = stop + size
        else:
            found[name], at = read_value(payload, stop)
    if at != end or end > len(payload):
        raise ValueError(end)
    return found


def too_many_entries(payload: bytes) -> str | None:
    """The reason to refuse a message with too many properties or annotations; None if it has not.

    It relies on the number that the map declares. If that is wrong, the section cannot be read.
    """
    try:
        if payload.startswith(_SHORT_HEADER) and payload.startswith(_BODIES, 5 + payload[4]):
            return None  # it has nothing but a header and a body
        start, at, section = find_section(payload, APPLICATION_PROPERTIES)
        if section == APPLICATION_PROPERTIES and (number := _entries_at(payload, at)) > MOST_ENTRIES:
            return f"a message may have {MOST_ENTRIES} application properties, this one has {number}"
        if start > ENTRY_CHECK_FROM:
            _, at, section = find_section(payload, MESSAGE_ANNOTATIONS)
            if section == MESSAGE_ANNOTATIONS and (number := _entries_at(payload, at)) > MOST_ENTRIES:
                return f"a message may have {MOST_ENTRIES} message annotations, this one has {number}"
    except UNREADABLE:
        pass
    return None


def _entries_at(payload: bytes, at: int) -> int:
    """What a map says of the number of its entries, if it is of the kind that can have many."""
    return int.from_bytes(payload[at + 5 : at + 9], "big") // 2 if payload[at] & 0xF0 == 0xD0 else 0


def _section_list(payload: bytes, wanted: int, defaults: tuple[Any, ...], kinds: tuple[set[Any], ...]) -> list[Any]:
    """The fields of a section that is a list; those that are null or missing have their defaults."""
    values: list[Any] = []
    _, at, section = find_section(payload, wanted)
    if section != wanted or payload[at] == 0x45:
        return list(defaults)
    at, end = _compound(payload, at)
    while at < end:
        if payload[at] == 0x40:
            values.append(defaults[len(values)])
            at += 1
            continue
        value, at = read_value(payload, at)
        if value.__class__ not in kinds[len(values)]:
            raise ValueError(value)
        values.append(value)
    if at != end or end > len(payload):
        raise ValueError(end)
    return [*values, *defaults[len(values) :]]


def _compound(payload: bytes, at: int) -> tuple[int, int]:
    """Where the elements of a list or map begin and end."""
    form = payload[at]
    if form & 0xF0 == 0xC0:
        return at + 3, at + 2 + payload[at + 1]
    if form & 0xF0 != 0xD0:
        raise ValueError(form)
    return at + 9, at + 5 + int.from_bytes(payload[at + 1 : at + 5], "big")


def read_value(payload: bytes, at: int) -> tuple[Any, int]:
    """A simple value as selectors see it, and where the next one begins. Anything else is skipped as its bytes."""
    code = payload[at]
    if not code:  # descriptors are skipped: they do not matter here
        at = _described(payload, at)
        code = payload[at]
    if code in _FIXED:
        unpack, size = _FIXED[code]
        return unpack(payload, at + 1)[0], at + size
    if code in _CONSTANTS:
        return _CONSTANTS[code], at + 1
    kind = code >> 4
    if kind in {0xA, 0xC, 0xE}:
        start = at + 2
        end = start + payload[at + 1]
    elif kind in {0xB, 0xD, 0xF}:
        start = at + 5
        end = start + int.from_bytes(payload[at + 1 : start], "big")
    else:
        if code not in _OTHERS:
            raise ValueError(code)
        start, end = at + 1, at + 1 + _WIDTHS[kind]
    if end > len(payload):
        raise ValueError(end)
    raw = payload[start:end]
    if code in _TEXTS:
        return raw.decode(_TEXTS[code]), end
    return _OTHERS[code](raw) if code in _OTHERS else raw, end


def _described(payload: bytes, at: int) -> int:
    """Where the value behind one description or several begins."""
    for _ in range(DEEPEST):
        if payload[at]:
            return at
        if not payload[at + 1]:
            break
        _, at = read_value(payload, at + 1)
    raise ValueError(at)
