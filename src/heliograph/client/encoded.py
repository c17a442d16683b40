"""Messages as bytes, for programs that move many of them: what `Message` does for people, at a part of its cost.

`Consumer.receive_many` and `Message.encoded` give bytes, `read` and `front` look into them, and `write` makes bytes for
`Producer.send_encoded`.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from heliograph.amqp import ProtocolError
from heliograph.amqp.encoding import encode
from heliograph.amqp.message import Data, Sequence, Value
from heliograph.amqp.values import Symbol
from heliograph.client.core import reading, writing
from heliograph.client.destination import Queue
from heliograph.client.problems import MessageFormat

TEXT = "text"
BYTES = "bytes"
OTHER = "other"


class Front(NamedTuple):
    """What stands before everything else."""

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
    properties: Mapping[str, Any]
    kind: str
    """`TEXT` and `BYTES` have bytes as their body; `OTHER` has a map, a list, a number or nothing."""
    body: Any


def front(payload: bytes) -> Front:
    """The front alone, which is the same for most messages of a sender."""
    at = reading.front_length(payload)
    if payload[at : at + 2] == b"\x00\x53" and payload[at + 2] > 0x72:
        return Front(*reading.front(payload[:at]))
    return read(payload).front


class Glance(NamedTuple):
    """What a program that only passes messages on needs to know, found without taking all of a message apart."""

    front: Front
    message_id: str | None
    text: bool
    """Whether it is a text message; otherwise it has bytes."""
    body_at: int
    has_properties: bool
    """Whether the application has set properties."""


def glance(payload: bytes) -> Glance | None:
    """Look at a message of the usual shape; None if it has another, and has to be read."""
    at = reading.front_length(payload)
    if payload[at : at + 4] != b"\x00\x53\x73\xc0":
        return None
    try:
        end = at + 5 + payload[at + 4]
        count, code = payload[at + 5], payload[at + 6]
        message_id = None
        if count and code == 0xA1:
            message_id = payload[at + 8 : at + 8 + payload[at + 7]].decode()
        elif count and code != 0x40:
            return None
        has_properties = payload[end + 2] == 0x74
        if has_properties:
            if payload[end + 3] == 0xC1:
                end += 5 + payload[end + 4]
            elif payload[end + 3] == 0xD1:
                end += 8 + int.from_bytes(payload[end + 4 : end + 8], "big")
            else:
                return None
        body_at = _BODIES.get(payload[end : end + 4])
    except (IndexError, UnicodeDecodeError):
        return None
    if body_at is None:
        return None
    text, width = body_at
    start = end + 4 + width
    if start + int.from_bytes(payload[end + 4 : start], "big") != len(payload):
        return None
    return Glance(Front(*reading.front(payload[:at])), message_id, text, start, has_properties)


# The beginnings of bodies that are one text or one piece of data: text or not, and how wide the length is.
_BODIES = {
    b"\x00\x53\x77\xa1": (True, 1),
    b"\x00\x53\x77\xb1": (True, 4),
    b"\x00\x53\x75\xa0": (False, 1),
    b"\x00\x53\x75\xb0": (False, 4),
}


def readdressed(payload: bytes, to: str, to_kind: int = Queue.jms_type) -> bytes | None:
    """The same message for another destination, nothing else changed; None if it has an unusual shape.

    Only for messages that have no failed deliveries and no annotations but those that `write` gives them.
    """
    at = reading.front_length(payload)
    front = _plain_front(payload[:at], to_kind)
    if front is None or payload[at : at + 4] != b"\x00\x53\x73\xc0":
        return None
    try:
        start, count = at + 6, payload[at + 5]
        code = payload[start]
        user = start + (1 if code == 0x40 else 2 + payload[start + 1] if code in _SHORT else 999)
        code = payload[user]
        old = user + (1 if code == 0x40 else 2 + payload[user + 1] if code in _SHORT else 999)
        code = payload[old]
        rest = old + (1 if code == 0x40 else 2 + payload[old + 1] if code in _SHORT else 999)
        end = at + 5 + payload[at + 4]
    except IndexError:
        return None
    place = writing.text_of(to)
    size = payload[at + 4] - (rest - old) + len(place)
    if rest > end or count < 3 or size > 255:
        return None
    head = front + bytes((0, 0x53, 0x73, 0xC0, size, count))
    return b"".join((head, payload[start:old], place, payload[rest:]))


_SHORT = frozenset({0xA0, 0xA1, 0xA3})


@lru_cache(1024)
def _plain_front(data: bytes, to_kind: int) -> bytes | None:
    """The front for another kind of destination, if it has nothing that must not be passed on."""
    persistent, priority, failed, annotations = reading.front(data)
    others = set(annotations) - {writing.MSG_TYPE, writing.DEST}
    kind = annotations.get(writing.MSG_TYPE)
    plain = writing.header_of(persistent, priority, None)
    if failed or others or kind is None or not data.startswith(plain + b"\x00\x53\x72"):
        return None
    return plain + writing.annotations_of(kind, to_kind, None, {})


def read(payload: bytes) -> Read:
    """Take a message apart."""
    try:
        came = reading.read(payload)
    except ProtocolError as error:
        raise MessageFormat(f"a message came that cannot be read: {error}") from error
    message_id, user_id, to, subject, reply_to, correlation_id, content_type, _, expires, created, *_ = came.properties
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


@lru_cache(1024)
def _opening(
    persistent: bool, priority: int, ttl: int | None, kind: int, to_kind: int | None, reply_kind: int | None
) -> bytes:
    return writing.header_of(persistent, priority, ttl) + writing.annotations_of(kind, to_kind, reply_kind, {})


def write(
    body: bytes,
    *,
    to: str,
    text: bool = False,
    persistent: bool = True,
    priority: int = 4,
    ttl: int | None = None,
    properties: Mapping[str, Any] | None = None,
    annotations: Mapping[str, Any] | None = None,
    message_id: Any = None,
    user_id: bytes | None = None,
    to_kind: int = Queue.jms_type,
    subject: str | None = None,
    reply_to: str | None = None,
    reply_kind: int = Queue.jms_type,
    correlation_id: Any = None,
    content_type: str | None = None,
    created: int | None = None,
) -> bytes:
    """The bytes of a message; with `text`, a text message whose body is in UTF-8.

    `ttl` and `created` are milliseconds; `to_kind` and `reply_kind` are the `jms_type` of the destinations.
    """
    kind = writing.TEXT if text else writing.BYTES
    reply = None if reply_to is None else reply_kind
    opening = _opening(persistent, priority, ttl, kind, to_kind, reply)
    if annotations:
        more = {Symbol(key): value for key, value in annotations.items()}
        opening = writing.header_of(persistent, priority, ttl)
        opening += writing.annotations_of(kind, to_kind, reply, more)
    expires = None if ttl is None or created is None else created + ttl
    fields = writing.fields_of(
        message_id, user_id, to, subject, reply_to, correlation_id, content_type, expires, created
    )
    size = len(body)
    if size < 256:
        beginning = bytes((0, 0x53, 0x77, 0xA1, size) if text else (0, 0x53, 0x75, 0xA0, size))
    else:
        beginning = (b"\x00\x53\x77\xb1" if text else b"\x00\x53\x75\xb0") + size.to_bytes(4, "big")
    own = b"\x00\x53\x74" + encode(dict(properties)) if properties else b""
    return b"".join((opening, writing.properties_of(fields), own, beginning, body))
