"""Messages as bytes, for programs that move many of them: what `Message` does for people, at a part of its cost.

`Consumer.receive_many` and `Message.encoded` give bytes, `read` and `front` look into them, and `write` makes bytes for
`Producer.send_encoded`.
"""

from collections.abc import Mapping
from functools import lru_cache, partial
from struct import Struct
from struct import error as StructError  # noqa: N812 - it is a class
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

    persistent: bool
    priority: int
    failed: int
    message_id: bytes
    """A text, in UTF-8; empty if there is none."""
    text: bool
    """Whether it is a text message; otherwise it has bytes."""
    has_properties: bool
    """Whether the application has set properties."""
    at: int
    """Where the front ends, for `readdressed`."""


def glance(payload: bytes) -> Glance | None:
    """Look at a message of the usual shape; None if it has another, and has to be read."""
    at = reading.front_length(payload)
    if not payload.startswith(_PROPERTIES, at):
        return None
    try:
        end = at + 5 + payload[at + 4]
        code = payload[at + 6]
        if code == 0xA1:
            message_id = payload[at + 8 : at + 8 + payload[at + 7]]
        elif code == 0x40:
            message_id = b""
        else:
            return None
        has_properties = payload[end + 2] == 0x74
        if has_properties:
            if payload[end + 3] == 0xC1:
                end += 5 + payload[end + 4]
            elif payload[end + 3] == 0xD1:
                end += 8 + _length(payload, end + 4)[0]
            else:
                return None
        text, width = _BODIES[payload[end : end + 4]]
        size = _length(payload, end + 4)[0] if width == 4 else payload[end + 4]
    except (IndexError, KeyError, StructError):
        return None
    if end + 4 + width + size != len(payload):
        return None
    persistent, priority, failed, _ = reading.front(payload[:at])
    return _glance((persistent, priority, failed, message_id, text, has_properties, at))


# The class method of a NamedTuple is a Python function; this is the same without it.
_glance = partial(tuple.__new__, Glance)
_length = Struct(">I").unpack_from
_PROPERTIES = b"\x00\x53\x73\xc0"
# The beginnings of bodies that are one text or one piece of data: text or not, and how wide the length is.
_BODIES = {
    b"\x00\x53\x77\xa1": (True, 1),
    b"\x00\x53\x77\xb1": (True, 4),
    b"\x00\x53\x75\xa0": (False, 1),
    b"\x00\x53\x75\xb0": (False, 4),
}


def readdressed(payload: bytes, at: int, to: str, to_kind: int = Queue.jms_type) -> bytes | None:
    """A message that `glance` has seen, for another destination, and nothing else changed.

    None if more than that has to be done: it has failed deliveries, or annotations that must not be passed on.
    """
    front = _plain_front(payload[:at], to_kind)
    if front is None:
        return None
    try:
        count, code = payload[at + 5], payload[at + 6]
        start = at + 6
        user = start + (1 if code == 0x40 else 2 + payload[start + 1])
        code = payload[user]
        old = user + (1 if code == 0x40 else 2 + payload[user + 1])
        if code not in _SHORT or payload[old] not in _SHORT:
            return None
        rest = old + (1 if payload[old] == 0x40 else 2 + payload[old + 1])
    except IndexError:
        return None
    place = writing.text_of(to)
    size = payload[at + 4] - (rest - old) + len(place)
    if rest > at + 5 + payload[at + 4] or count < 3 or size > 255:
        return None
    head = bytes((0, 0x53, 0x73, 0xC0, size, count))
    return b"".join((front, head, payload[start:old], place, payload[rest:]))


_SHORT = frozenset({0x40, 0xA0, 0xA1})


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
