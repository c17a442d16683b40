"""Messages as bytes, for programs that move many of them: the functions of `Message` at a fraction of its cost.

`read`, `front` and `outlines` decode bytes, `write` encodes them, and `Readdressing` changes the destination. Messages
are those of JMS clients, with their annotations. Bytes that are no message raise `ProtocolError`.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from struct import Struct
from struct import error as StructError  # noqa: N812 - it is a class
from typing import Any, NamedTuple

from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.values import Symbol
from heliograph.amqp.errors import DecodeError
from heliograph.amqp.messages import jms_kinds, message_reading, section_writing
from heliograph.amqp.messages.annotations import JMS_DESTINATION_KIND, JMS_MESSAGE_KIND
from heliograph.amqp.messages.message import Data, Sequence, Value
from heliograph.amqp.messages.sections import (
    APPLICATION_PROPERTIES,
    APPLICATION_PROPERTIES_START,
    DATA_START,
    DEFAULT_PRIORITY,
    MESSAGE_ANNOTATIONS,
    MESSAGE_ANNOTATIONS_START,
    PROPERTIES_START,
    VALUE_START,
)

TEXT = "text"
BYTES = "bytes"
OTHER = "other"


class Front(NamedTuple):
    """The sections before the properties: header and annotations."""

    persistent: bool
    priority: int
    failed: int
    """How many deliveries of it have failed."""
    annotations: Mapping[Any, Any]


class Read(NamedTuple):
    """A message, taken apart. Times are milliseconds since 1970; None stands for what is not there."""

    front: Front
    message_id: Any
    user_id: bytes | None
    to: str | None
    subject: str | None
    reply_to: str | None
    correlation_id: Any
    content_type: str | None
    expires: int | None
    created: int | None
    group_id: str | None
    group_sequence: int | None
    properties: Mapping[str, Any]
    kind: str
    """`TEXT` and `BYTES` have bytes as their body; `OTHER` has a map, a list, a number or nothing."""
    body: Any


def front(payload: bytes) -> Front:
    """Decode only the front, which is equal for most messages of a sender (and therefore cached)."""
    at = message_reading.front_length(payload)
    if payload[at : at + 2] == b"\x00\x53" and payload[at + 2] > MESSAGE_ANNOTATIONS:
        return Front(*message_reading.read_front(payload[:at]))
    return read(payload).front


class Outline(NamedTuple):
    """What a program needs that only forwards messages, found without decoding all of a message."""

    persistent: bool
    priority: int
    failed: int
    message_id: bytes
    """A text, in UTF-8; empty if there is none."""
    text: bool
    """Whether it is a text message; otherwise it has bytes."""
    own: bytes
    """The properties that the application has set, for `own_properties`; empty if there are none."""
    at: int
    """Where the front ends, for `Readdressing`."""
    body: int
    """Where the text or the bytes begin, which are all that follows."""


def outlines(payloads: Iterable[bytes]) -> Iterator[Outline | None]:
    """Return the outlines of messages of the usual form; None for each that has another form and must be decoded
    (`read`).

    The front of most messages equals that of the message before, so comparing it is enough.
    """
    opening, at = _PROPERTIES, 0
    persistent, priority, failed, _ = message_reading.read_front(b"")
    for payload in payloads:
        if not payload.startswith(opening):
            at = message_reading.front_length(payload)
            if not payload.startswith(_PROPERTIES, at):
                yield None
                continue
            opening = payload[: at + len(_PROPERTIES)]
            persistent, priority, failed, _ = message_reading.read_front(payload[:at])
        try:
            code = payload[at + 6]
            if code == 0xA1:
                message_id = payload[at + 8 : at + 8 + payload[at + 7]]
            elif code == 0x40:
                message_id = b""
            else:
                yield None
                continue
            end = at + 5 + payload[at + 4]
            own = b""
            if payload[end + 2] == APPLICATION_PROPERTIES:
                start = end + 3
                end = _end_of_map(payload, start)
                own = payload[start:end]
            text, width = _BODIES[payload[end : end + 4]]
            size = payload[end + 4] if width == 1 else _length(payload, end + 4)[0]
        except (IndexError, KeyError, StructError):
            yield None
            continue
        body = end + 4 + width
        if body + size == len(payload):
            yield _outline((persistent, priority, failed, message_id, text, own, at, body))
        else:
            yield None


def _end_of_map(payload: bytes, at: int) -> int:
    """Where the map at this place ends; the place itself, which is no beginning of a body, if there is none."""
    if payload[at] == 0xC1:
        return at + 2 + payload[at + 1]
    return at + 5 + _length(payload, at + 1)[0] if payload[at] == 0xD1 else at


def own_properties(own: bytes) -> dict[str, Any]:
    """What the application has set, as a `Outline` has it."""
    found, end = decode(own)
    if type(found) is not dict or end != len(own):
        raise DecodeError("its properties are no map")
    return found


# `_make` of a NamedTuple is a Python function; this does the same in C.
_outline = partial(tuple.__new__, Outline)
_length = Struct(">I").unpack_from
_PROPERTIES = PROPERTIES_START + b"\xc0"
_HEADS = tuple(_PROPERTIES + bytes((size,)) for size in range(256))
# The beginnings of bodies that are one text or one piece of data: text or not, and how wide the length is.
_BODIES = {
    VALUE_START + b"\xa1": (True, 1),
    VALUE_START + b"\xb1": (True, 4),
    DATA_START + b"\xa0": (False, 1),
    DATA_START + b"\xb0": (False, 4),
}


class Readdressing:
    """Sends messages that `outlines` has seen to another destination, with nothing else changed.

    What most messages have in common with the one before (front, user and old destination) is decoded once.
    """

    __slots__ = ("_front", "_kind", "_more", "_new", "_new_front", "_old", "_place", "_plain", "_to_kind")

    def __init__(self, to: str, to_kind: int = jms_kinds.QUEUE) -> None:
        self._place = section_writing.text_of(to)
        self._to_kind = to_kind
        self._front = b""
        self._new_front = b""
        self._plain = False  # a front that is empty does not say of what kind the message is
        self._kind: int | None = None
        # User and destination, old and new; at first there is neither.
        self._old = b"\x40\x40"
        self._new = b"\x40" + self._place
        self._more = len(self._new) - len(self._old)

    def __call__(self, payload: bytes, at: int) -> bytes | None:
        """The message with its new address; `at` is where its front ends.

        None if more than that has to be done: it has failed deliveries, or annotations that must not be passed on.
        """
        user = self._user(payload, at)
        size = payload[at + 4] + self._more
        if not user or size > 255:
            return None
        rest = payload[user + len(self._old) :]
        return b"".join((self._new_front, _HEADS[size], payload[at + 5 : user], self._new, rest))

    def with_body(self, payload: bytes, seen: Outline, body: bytes, created: int) -> bytes | None:
        """The message with its new address, another body, and the time (milliseconds since 1970) when it got that.

        The body of a text is in UTF-8. None if more than that has to be done, as above, or if it has what `write` is to
        write anew: somebody who wants replies, or a time to expire.
        """
        _, _, _, _, text, own, at, _ = seen
        user = self._user(payload, at)
        size = payload[at + 4] + self._more
        if not user or size > 255 or self._kind != (jms_kinds.TEXT if text else jms_kinds.BYTES):
            return None
        rest = user + len(self._old)
        time = rest + 6 if payload.startswith(_ONLY_TIME, rest) else _time_of(payload, rest)
        if not time or not 10 <= payload[at + 5] <= 12:
            return None
        end = at + 5 + payload[at + 4]
        return b"".join(
            (
                self._new_front,
                _HEADS[size],
                payload[at + 5 : user],
                self._new,
                payload[rest:time],
                _timestamp(0x83, created),
                payload[time + 9 : end + 3 + len(own) if own else end],
                section_writing.start_of_body(len(body), text),
                body,
            )
        )

    def _user(self, payload: bytes, at: int) -> int:
        """Where the user stands, behind the identifier; 0 if the message cannot go on as it is."""
        front = payload[:at]
        if front != self._front:
            plain, self._kind = _plain_front(front, self._to_kind)
            self._front, self._new_front, self._plain = front, plain or b"", plain is not None
        user = at + 7 if payload[at + 6] == 0x40 else at + 8 + payload[at + 7]
        if not self._plain or payload[at + 5] < 3:
            return 0
        return user if payload.startswith(self._old, user) or self._look(payload, user) else 0

    def _look(self, payload: bytes, user: int) -> bool:
        """See where the destination is; False if it has an unusual form."""
        try:
            to = user + (1 if payload[user] == 0x40 else 2 + payload[user + 1])
            rest = to + (1 if payload[to] == 0x40 else 2 + payload[to + 1])
        except IndexError:
            return False
        if payload[user] not in _SHORT or payload[to] not in _SHORT:
            return False
        self._old = payload[user:rest]
        self._new = payload[user:to] + self._place
        self._more = len(self._new) - len(self._old)
        return True


_SHORT = frozenset({0x40, 0xA0, 0xA1})
# What follows the destination in most messages: nothing, and the time when it was made.
_ONLY_TIME = b"\x40" * 6 + b"\x83"
_timestamp = Struct(">Bq").pack


def _time_of(payload: bytes, at: int) -> int:
    """Where the time is when a message was made, if only a correlation id and a content type are before it; else 0.

    `at` is behind the destination.
    """
    if not payload.startswith(b"\x40\x40", at):
        return 0
    at += 2
    for code in (0xA1, 0xA3):
        if payload[at] == code:
            at += 2 + payload[at + 1]
        elif payload[at] == 0x40:
            at += 1
        else:
            return 0
    return at + 2 if payload.startswith(b"\x40\x40\x83", at) else 0


@lru_cache(1024)
def _plain_front(data: bytes, to_kind: int) -> tuple[bytes | None, int | None]:
    """The front for another kind of destination, if it has nothing that must not be passed on; the message's kind."""
    persistent, priority, failed, annotations = message_reading.read_front(data)
    others = set(annotations) - {JMS_MESSAGE_KIND, JMS_DESTINATION_KIND}
    kind = annotations.get(JMS_MESSAGE_KIND)
    plain = section_writing.header_section(persistent, priority, None)
    if failed or others or kind is None or not data.startswith(plain + MESSAGE_ANNOTATIONS_START):
        return None, kind
    return plain + section_writing.annotations_section(kind, to_kind, None, {}), kind


def read(payload: bytes) -> Read:
    """Take a message apart."""
    came = message_reading.read_message(payload)
    message_id, user_id, to, subject, reply_to, correlation_id, content_type, _, expires, created, *group = (
        came.properties
    )
    kind, body = _body(came.body)
    return Read(
        Front(came.durable, came.priority, came.delivery_count, came.annotations),
        message_id,
        user_id,
        to,
        subject,
        reply_to,
        correlation_id,
        content_type,
        expires,
        created,
        group[0],
        group[1],
        came.application_properties,
        kind,
        body,
    )


def _body(section: Data | Sequence | Value) -> tuple[str, Any]:
    if type(section) is Data:
        return BYTES, section.content
    if type(section) is Value:
        value = section.value
        return (TEXT, value.encode()) if type(value) is str else (OTHER, value)
    assert isinstance(section, Sequence)
    return OTHER, section.items


def opening_of(
    persistent: bool,
    priority: int,
    ttl: int | None,
    text: bool,
    to_kind: int | None,
    reply_kind: int | None,
    annotations: Mapping[str, Any] | None,
) -> bytes:
    """Header and annotations of a message."""
    kind = jms_kinds.TEXT if text else jms_kinds.BYTES
    if not annotations:
        return _opening(persistent, priority, ttl, kind, to_kind, reply_kind)
    more = {Symbol(key): value for key, value in annotations.items()}
    return section_writing.header_section(persistent, priority, ttl) + section_writing.annotations_section(
        kind, to_kind, reply_kind, more
    )


@lru_cache(1024)
def _opening(
    persistent: bool, priority: int, ttl: int | None, kind: int, to_kind: int | None, reply_kind: int | None
) -> bytes:
    return section_writing.header_section(persistent, priority, ttl) + section_writing.kinds_section(
        kind, to_kind, reply_kind
    )


def write(
    body: bytes,
    *,
    to: str,
    text: bool = False,
    persistent: bool = True,
    priority: int = DEFAULT_PRIORITY,
    ttl: int | None = None,
    properties: Mapping[str, Any] | None = None,
    annotations: Mapping[str, Any] | None = None,
    message_id: Any = None,
    user_id: bytes | None = None,
    to_kind: int = jms_kinds.QUEUE,
    subject: str | None = None,
    reply_to: str | None = None,
    reply_kind: int = jms_kinds.QUEUE,
    correlation_id: Any = None,
    content_type: str | None = None,
    created: int | None = None,
    group_id: str | None = None,
    group_sequence: int | None = None,
) -> bytes:
    """The bytes of a message; with `text`, a text message whose body is in UTF-8.

    `ttl` and `created` are milliseconds; `to_kind` and `reply_kind` are numbers of `jms_kinds`.
    """
    reply = None if reply_to is None else reply_kind
    opening = opening_of(persistent, priority, ttl, text, to_kind, reply, annotations)
    expires = None if ttl is None or created is None else created + ttl
    fields = section_writing.property_fields(
        message_id, user_id, to, subject, reply_to, correlation_id, content_type, expires, created
    )
    fields += section_writing.group_fields(group_id, group_sequence)
    own = APPLICATION_PROPERTIES_START + encode(dict(properties)) if properties else b""
    return b"".join(
        (opening, section_writing.properties_section(fields), own, section_writing.start_of_body(len(body), text), body)
    )
