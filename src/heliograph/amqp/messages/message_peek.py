"""Reads what a broker needs of a message without decoding all of it: header, delivery time, expiry, address.

This runs for every message that the broker receives, so it is ordered by cost: equal headers are looked up in a cache;
annotations and properties are searched for the few fields that matter, and their other entries are skipped."""

import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.values import Described
from heliograph.amqp.errors import DecodeError, InvalidField
from heliograph.amqp.messages.annotations import DELIVERY_DELAY, DELIVERY_PREFIX, DELIVERY_TIME
from heliograph.amqp.messages.sections import (
    ABSOLUTE_EXPIRY_TIME,
    APPLICATION_PROPERTIES_START,
    DATA_START,
    DELIVERY_ANNOTATIONS_START,
    FOOTER,
    HEADER,
    HEADER_NAME,
    HEADER_START,
    MESSAGE_ANNOTATIONS_START,
    PROPERTIES_START,
    SEQUENCE_START,
    TO,
    VALUE_START,
    Header,
    section_start,
)


class Peeked(NamedTuple):
    """The broker's view of a message. Times are in milliseconds; 0 means none."""

    durable: bool | None  # None: the message does not say
    priority: int | None  # the same
    ttl: int  # relative, as in the header
    delivery_count: int
    header_end: int  # where the header section ends
    deliver_at: int  # absolute, from an annotation
    delay: int  # relative, from an annotation
    expires: int  # absolute, from the properties


_ANNOTATIONS: Final = (DELIVERY_ANNOTATIONS_START, MESSAGE_ANNOTATIONS_START)
_SECTIONS: Final = tuple(section_start(code) for code in range(HEADER, FOOTER + 1))
_LONG_DESCRIPTORS: Final = (b"\x00\x80", b"\x00\xa3", b"\x00\xb3")  # valid, though no client is known to send them
_SHORT_HEADER: Final = HEADER_START + b"\xc0"
_SHORT_ANNOTATIONS: Final = tuple(start + b"\xc1" for start in _ANNOTATIONS)
_SHORT_PROPERTIES: Final = PROPERTIES_START + b"\xc0"
_LONG_PROPERTIES: Final = PROPERTIES_START + b"\xd0"
_BEHIND_PROPERTIES: Final = (APPLICATION_PROPERTIES_START, DATA_START, SEQUENCE_START, VALUE_START)
_DELAYED: Final = DELIVERY_PREFIX.encode()
_NEAR: Final = 1024  # how many bytes behind the header are searched for the annotation before any section is decoded
_DELAYED_MOST: Final = 16_384  # limit of annotations: decoding more would take long
_LONGEST_HEADER: Final = 256  # its five fields need a tenth of that
_REMEMBERED: Final = 1024
_LATEST: Final = 1 << 62  # milliseconds: the current time plus this delay still fits in 64 bits
_IDENTIFIERS: Final = (b"\xa1", b"\x40")
_RUN: Final = 3  # for fewer messages, comparing them costs more than it saves
_ATTEMPTS: Final = 4  # if the messages of a run are all different, comparing them is given up after this many

_uint = struct.Struct(">I").unpack_from
_time = struct.Struct(">q").unpack_from

# One application has a few dozen different headers, so each is decoded once.
_headers: dict[bytes, Header] = {}
# Most messages have no delay and no expiry: their result depends on the header only.
_plain: dict[bytes, Peeked] = {b"": Peeked(None, None, 0, 0, 0, 0, 0, 0)}


def peek(payload: bytes) -> Peeked:
    """Look at the header, the annotations about delayed delivery and the expiry time.

    Raise `ProtocolError` if this is no message; sections behind the properties are not validated.
    """
    # Short forms are handled inline throughout, because nearly all messages have them.
    end = 5 + payload[4] if payload.startswith(_SHORT_HEADER) and len(payload) > 5 else _header_end(payload)
    head = payload[:end]
    plain = _plain.get(head)
    if plain is None:
        plain = _learn(head)
    at = _annotations_end(payload, end)
    deliver_at, delay = _delays(payload, end) if payload.find(_DELAYED, end, min(at, end + _NEAR)) >= 0 else (0, 0)
    expires = _expiry(payload, at)
    if deliver_at or delay or expires:
        return plain._replace(deliver_at=deliver_at, delay=delay, expires=expires)
    return plain


def peek_run(payloads: Sequence[bytes]) -> Iterator[Peeked]:
    """Peek at a run of messages; the result is that of `peek` for each.

    Messages of one sender mostly differ in identifiers, times and bodies only. A message whose other bytes equal those
    of an earlier one is not decoded again.
    """
    return map(peek, payloads) if len(payloads) < _RUN else _peek_run(payloads)


def _peek_run(payloads: Sequence[bytes]) -> Iterator[Peeked]:
    opening, fields, plain, attempts = b"", b"", _plain[b""], _ATTEMPTS
    for payload in payloads:
        if opening and payload.startswith(opening):
            if not fields:  # and no properties
                yield plain
                continue
            at = len(opening) + 2
            # The first field is the identifier: a short text, or nothing.
            code = payload[at : at + 1]
            at = at + 2 + payload[at + 1] if code == b"\xa1" and len(payload) > at + 1 else at + 1
            if payload.startswith(fields, at) and code in _IDENTIFIERS:
                yield plain
                continue
        seen = peek(payload)
        yield seen
        if attempts and not (seen.deliver_at or seen.delay or seen.expires):
            attempts -= 1
            plain, (opening, fields) = seen, _alike(payload, seen.header_end)


def _alike(payload: bytes, at: int) -> tuple[bytes, bytes]:
    """What messages like this one begin with, up to their properties, and the fields between identifier and time.

    Without properties, what they begin with up to what stands in their place. Of a message with an unusual shape,
    nothing. `at` is where the header ends.
    """
    at = _annotations_end(payload, at)
    if payload.startswith(_BEHIND_PROPERTIES, at):
        return payload[: at + len(_BEHIND_PROPERTIES[0])], b""
    first = at + 6
    end = _field_at(payload, at, ABSOLUTE_EXPIRY_TIME + 1)
    if not end or not payload.startswith(_SHORT_PROPERTIES, at) or not payload.startswith(_IDENTIFIERS, first):
        return b"", b""
    start = first + 2 + payload[first + 1] if payload[first] == 0xA1 else first + 1
    return payload[: at + 4], payload[start:end]


def with_header(payload: bytes, *, delivery_count: int, ttl: int | None = None) -> bytes:
    """The message with another delivery count (and ttl, unless None) in its header, and every other byte the same."""
    end = _header_end(payload)
    old = _header(payload[:end])
    ttl = old.ttl if ttl is None else ttl
    return Header(old.durable, old.priority, ttl, old.first_acquirer, delivery_count).encoded() + payload[end:]


def with_durable_and_priority(payload: bytes, durable: bool, priority: int) -> bytes:
    """The message with these in its header, and every other byte the same."""
    end = _header_end(payload)
    return _header_with(payload[:end], durable, priority) + payload[end:]


@lru_cache(_REMEMBERED)
def _header_with(head: bytes, durable: bool, priority: int) -> bytes:
    old = _header(head)
    return Header(durable, priority, old.ttl, old.first_acquirer, old.delivery_count).encoded()


def _header_end(payload: bytes) -> int:
    if payload.startswith(HEADER_START):
        return _end_of_compound(payload, 3)
    if payload.startswith(_LONG_DESCRIPTORS):
        descriptor, at = decode(payload, 1)
        if descriptor in {HEADER, HEADER_NAME}:
            return _end_of_compound(payload, at)
    elif not payload.startswith(_SECTIONS):
        # A receiver could not decode this, and some clients close their connection then.
        raise DecodeError(f"a message begins with one of its sections, not with {payload[:8].hex(' ') or 'nothing'}")
    return 0


def _header(head: bytes) -> Header:
    if not head:
        return Header()
    header = _headers.get(head)
    if header is None:
        if len(head) > _LONGEST_HEADER:
            raise DecodeError(f"the header of a message has at most {_LONGEST_HEADER} bytes, not {len(head)}")
        section, end = decode(head)
        if type(section) is not Described or type(section.value) is not list or end != len(head):
            raise DecodeError(f"the header of a message is a list, not {section!r:.60}")
        header = Header.from_list(section.value)
        if len(_headers) >= _REMEMBERED:
            _headers.clear()
            _plain.clear()
        _headers[head] = header
    return header


def _learn(head: bytes) -> Peeked:
    header = _header(head)
    said = decode(head)[0].value
    durable = header.durable if said and said[0] is not None else None
    priority = header.priority if len(said) > 1 and said[1] is not None else None
    plain = Peeked(durable, priority, header.ttl or 0, header.delivery_count, len(head), 0, 0, 0)
    _plain[head] = plain
    return plain


def _end_of_compound(payload: bytes, at: int) -> int:
    """Where the list or map that begins at `at` ends."""
    try:
        code = payload[at]
        if code in {0xC0, 0xC1}:
            end = at + 2 + payload[at + 1]
        elif code in {0xD0, 0xD1}:
            end = at + 5 + _uint(payload, at + 1)[0]
        elif code == 0x45:
            end = at + 1
        else:
            raise DecodeError(f"expected a list or map as section of a message, got type 0x{code:02x}")
    except (IndexError, struct.error):
        raise DecodeError("a section of the message is cut off") from None
    if end > len(payload):
        raise DecodeError("a section of the message is cut off")
    return end


def _delays(payload: bytes, at: int) -> tuple[int, int]:
    """Time and delay of delivery, from the message annotations."""
    if payload.startswith(_ANNOTATIONS[0], at):
        at = _end_of_compound(payload, at + 3)
    if not payload.startswith(_ANNOTATIONS[1], at):
        return 0, 0
    size = _end_of_compound(payload, at + 3) - at
    if size > _DELAYED_MOST:
        raise InvalidField(f"a message that is delayed has at most {_DELAYED_MOST} bytes of annotations, not {size}")
    annotations = decode(payload, at + 3)[0]
    if type(annotations) is not dict:
        return 0, 0
    return _wait(annotations, DELIVERY_TIME), _wait(annotations, DELIVERY_DELAY)


def _wait(annotations: dict[Any, Any], name: str) -> int:
    """The value of an annotation in milliseconds; 0 if it is no positive number, which delays nothing."""
    value = annotations.get(name)
    if not isinstance(value, int) or value <= 0:
        return 0
    if value > _LATEST:
        raise InvalidField(f"{name} is at most {_LATEST} milliseconds, not {value}")
    return int(value)


def _annotations_end(payload: bytes, at: int) -> int:
    """Where the annotations end that begin here, if any do."""
    try:
        for _ in _ANNOTATIONS:
            if not payload.startswith(_ANNOTATIONS, at):
                break
            short = payload.startswith(_SHORT_ANNOTATIONS, at)
            at = at + 5 + payload[at + 4] if short else _end_of_compound(payload, at + 3)
    except IndexError:
        raise DecodeError("a section of the message is cut off") from None
    return at


def _expiry(payload: bytes, at: int) -> int:
    """The absolute expiry time in the properties, if they begin here."""
    at = _field_at(payload, at, ABSOLUTE_EXPIRY_TIME)
    try:
        expires = int(_time(payload, at + 1)[0]) if at and payload[at] == 0x83 else 0
    except (IndexError, struct.error):
        raise DecodeError("the properties of the message are cut off") from None
    # A time before 1970 has passed, like any other time in the past; but 0 would mean none.
    return expires if expires >= 0 else 1


def address_at(payload: bytes) -> tuple[int, int]:
    """Where the address in the properties begins and ends: the bytes of the string in the field `to`.

    (0, 0) if there is no string. Messages that are the same up to the end have the same address.
    """
    end = 5 + payload[4] if payload.startswith(_SHORT_HEADER) and len(payload) > 5 else _header_end(payload)
    at = _field_at(payload, _annotations_end(payload, end), TO)
    try:
        if at and payload[at] == 0xA1:
            return at + 2, at + 2 + payload[at + 1]
        return (at + 5, at + 5 + int(_uint(payload, at + 1)[0])) if at and payload[at] == 0xB1 else (0, 0)
    except (IndexError, struct.error):
        raise DecodeError("the properties of the message are cut off") from None


def _field_at(payload: bytes, at: int, number: int) -> int:
    """Where the field of this number begins in the properties that begin here; 0 if they do not have it.

    The fields before it are stepped over.
    """
    try:
        if payload.startswith(_SHORT_PROPERTIES, at):
            count = payload[at + 5]
            at += 6
        elif payload.startswith(_LONG_PROPERTIES, at):
            count = _uint(payload, at + 8)[0]
            at += 12
        else:
            return 0
        if count <= number:
            return 0
        widths = _WIDTHS
        for _ in range(number):
            width = widths[payload[at]]
            if width == _SHORT_VARIABLE:
                at += 2 + payload[at + 1]
            elif width == _LONG_VARIABLE:
                at += 5 + _uint(payload, at + 1)[0]
            else:
                at += width
    except (IndexError, struct.error):
        raise DecodeError("the properties of the message are cut off") from None
    return at


_SHORT_VARIABLE, _LONG_VARIABLE = 0, -1
# The width of a value with its constructor, by its constructor: those of fixed width are sorted by the upper half.
_WIDTHS: Final = [
    (1, 1, 1, 1, 1, 2, 3, 5, 9, 17)[code >> 4] if code < 0xA0 else _SHORT_VARIABLE if code < 0xB0 else _LONG_VARIABLE
    for code in range(256)
]
