"""Messages as bytes, for programs that move many of them: the functions of `Message` at a fraction of its cost.

`Consumer.receive_encoded` gives bytes, `read` and `front` look into them, and `write` makes bytes for
`Producer.send_encoded`. What cannot be read is a `MessageFormat` here.
"""

from typing import Any

from heliograph.amqp import ProtocolError
from heliograph.amqp.messages import encoded
from heliograph.client.errors import MessageFormat

__all__ = [
    "BYTES",
    "OTHER",
    "TEXT",
    "Front",
    "Outline",
    "Read",
    "Readdressing",
    "front",
    "outlines",
    "own_properties",
    "read",
    "write",
]

BYTES, TEXT, OTHER = encoded.BYTES, encoded.TEXT, encoded.OTHER
"""Kinds of bodies, as `Read.kind` has them."""
Front = encoded.Front
Outline = encoded.Outline
Read = encoded.Read
Readdressing = encoded.Readdressing
outlines = encoded.outlines
write = encoded.write


def front(payload: bytes) -> Front:
    """Only the front, which is the same for most messages of a sender."""
    try:
        return encoded.front(payload)
    except ProtocolError as error:
        raise _unreadable(error) from error


def read(payload: bytes) -> Read:
    """Take a message apart."""
    try:
        return encoded.read(payload)
    except ProtocolError as error:
        raise _unreadable(error) from error


def own_properties(own: bytes) -> dict[str, Any]:
    """What the application has set, as an `Outline` has it."""
    try:
        return encoded.own_properties(own)
    except ProtocolError as error:
        raise _unreadable(error) from error


def _unreadable(error: ProtocolError) -> MessageFormat:
    return MessageFormat(f"a message came that cannot be read: {error}")
