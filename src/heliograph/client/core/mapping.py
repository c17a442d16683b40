"""Between the messages of Python and those of AMQP, with the annotations by which JMS clients know the kind."""

from collections.abc import Callable
from struct import error as struct_error
from typing import Any

from heliograph.amqp import ProtocolError
from heliograph.amqp.messages.message import Data, Sequence, Value
from heliograph.client.core.reading import read
from heliograph.client.core.writing import BYTES, DELIVERY_TIME, DEST, MESSAGE, MSG_TYPE, REPLY_TO, header_of, write
from heliograph.client.destination import KINDS, Destination, Queue, destination_of
from heliograph.client.message import Message
from heliograph.client.problems import MessageFormat
from heliograph.errors import Problem

AddressOf = Callable[[Destination], str]
NameOf = Callable[[str], str]


def encode_outgoing(
    message: Message,
    to: str,
    address_of: AddressOf,
    persistent: bool | None,
    priority: int | None,
    ttl: float | None,
) -> bytes:
    """The bytes of a message whose headers are all set; `to` is its destination's address, `ttl` in seconds.

    If `persistent` or `priority` is None, the message leaves it to the queue.
    """
    reply_to = None if message.reply_to is None else address_of(message.reply_to)
    try:
        header = header_of(persistent, priority, None if ttl is None else max(1, round(ttl * 1000)))
        return write(message, to, reply_to, header)
    except (Problem, TypeError, ValueError, OverflowError, AttributeError, struct_error) as error:
        raise MessageFormat(f"this message cannot be sent: {error}") from error


def decode_incoming(payload: bytes, message: Message, name_of: NameOf) -> None:
    """Fill a message's attributes from its bytes."""
    try:
        came = read(payload)
    except ProtocolError as error:
        raise MessageFormat(f"a message came that cannot be read: {error}") from error
    annotations = came.annotations
    (
        message.message_id,
        user_id,
        to,
        message.type,
        reply_to,
        message.correlation_id,
        message.content_type,
        _,
        expires,
        created,
        message.group_id,
        message.group_sequence,
        _,
    ) = came.properties
    message.user_id = None if user_id is None else user_id.decode("utf-8", "replace")
    message.destination = _place(to, annotations.get(DEST), name_of)
    message.reply_to = _place(reply_to, annotations.get(REPLY_TO), name_of)
    message.expiration = _seconds(expires)
    message.timestamp = _seconds(created)
    message.delivery_time = _seconds(annotations.get(DELIVERY_TIME))
    message.priority = came.priority
    message.persistent = came.durable
    message.annotations = annotations
    message.properties = came.application_properties
    message.body = _body(came.body, message.content_type, annotations)
    message._delivered_before = came.delivery_count


def _seconds(ms: Any) -> float | None:
    return ms / 1000 if isinstance(ms, int) else None


def _place(address: str | None, kind: Any, name_of: NameOf) -> Destination | None:
    if not address:
        return None
    if isinstance(kind, int):
        return KINDS.get(kind, Queue)(name_of(address))
    place = destination_of(address)  # clients that are no JMS clients say it in the address, if at all
    return type(place)(name_of(place.name))


def _body(body: Data | Sequence | Value, content_type: str | None, annotations: dict[Any, Any]) -> Any:
    if isinstance(body, Value):
        return body.value
    if isinstance(body, Sequence):
        return body.items
    kind = annotations.get(MSG_TYPE)
    if kind != BYTES and content_type is not None and content_type.startswith("text/"):
        return _text(body.content)
    # A message without a body, as other JMS clients send it, may have empty data.
    return None if not body.content and kind == MESSAGE else body.content


def _text(content: bytes) -> str | bytes:
    try:
        return content.decode()
    except UnicodeDecodeError:  # in some other encoding, which the application may know
        return content
