"""A message of a queue for people and for programs."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

from heliograph.amqp import Timestamp
from heliograph.amqp.messages import DEAD_LETTER_TIME, DELIVERY_TIME, JMS_PREFIX
from heliograph.cli.shared.tables import moment
from heliograph.client import Message
from heliograph.common.terminal import on_one_line

_INDENT = "    "
_TIMES = (DEAD_LETTER_TIME, DELIVERY_TIME)
"""Annotations that are milliseconds since 1970, though not every server gives them the type of a time."""


def body_bytes(message: Message) -> bytes:
    """The body as it is printed: bytes as they are, text as UTF-8, anything else as JSON."""
    body = message.body
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    return b"" if body is None else json.dumps(_plain(body), ensure_ascii=False).encode()


def as_json(message: Message) -> str:
    """All there is to say of a message, on one line; what is not there is left out."""
    return json.dumps({name: _plain(value) for name, value in _facts(message)}, ensure_ascii=False)


def rendered(message: Message, number: int) -> Iterator[bytes]:
    """The lines that show a message: what is on the envelope, then the body."""
    shown = [(name, value) for name, value in _facts(message) if name not in {"body", "properties", "annotations"}]
    yield f"--- {number}".encode()
    for name, value in shown:
        yield _line(f"{name.replace('_', '-')}: {_shown(value)}")
    for kind in ("properties", "annotations"):
        for key, value in getattr(message, kind).items():
            if str(key).startswith(JMS_PREFIX):  # what kind of message it is: the rest says that to people
                continue
            is_time = isinstance(value, Timestamp) or (isinstance(value, int) and str(key).startswith(_TIMES))
            yield _line(f"{key} = {moment(value / 1000) if is_time else _plain(value)}")
    yield body_bytes(message)


def _line(text: str) -> bytes:
    """One fact, which cannot look like two."""
    return f"{_INDENT}{on_one_line(text)}".encode()


def _facts(message: Message) -> Iterator[tuple[str, Any]]:
    for name in ("message_id", "correlation_id", "type", "content_type", "group_id", "group_sequence", "user_id"):
        if (value := getattr(message, name)) is not None:
            yield name, value
    if message.reply_to is not None:
        yield "reply_to", message.reply_to.name
    for name in ("timestamp", "expiration", "delivery_time"):
        if (seconds := getattr(message, name)) is not None:
            yield name, moment(seconds)
    yield "priority", message.priority
    yield "persistent", message.persistent
    if message.redelivered:
        yield "delivery_count", message.delivery_count
    if message.properties:
        yield "properties", message.properties
    if message.annotations:
        yield "annotations", message.annotations
    yield "body", message.body


def _shown(value: Any) -> Any:
    return ("yes" if value else "no") if isinstance(value, bool) else _plain(value)


def _plain(value: Any) -> Any:
    """A value as JSON has it; bytes that are no text are in hexadecimal."""
    match value:
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return value.hex()
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case uuid.UUID():
            return str(value)
        case bool() | int() | float() | str() | None:
            return value
    return str(value)
