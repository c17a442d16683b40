"""Between the messages of Python and those of AMQP, with the annotations by which JMS clients know the kind."""

from collections.abc import Callable
from typing import Any

from heliograph.amqp import DecodeError
from heliograph.amqp.message import Data, Sequence, Value, decode_message, encode_message
from heliograph.amqp.message import Message as AmqpMessage
from heliograph.amqp.types import Byte, Symbol, Timestamp, ULong
from heliograph.client.destination import KINDS, Destination, Queue
from heliograph.client.message import Message
from heliograph.client.problems import MessageFormat

MSG_TYPE = Symbol("x-opt-jms-msg-type")
DEST = Symbol("x-opt-jms-dest")
REPLY_TO = Symbol("x-opt-jms-reply-to")
DELIVERY_TIME = Symbol("x-opt-delivery-time")

_BYTES_TYPE = "application/octet-stream"

AddressOf = Callable[[Destination], str]
NameOf = Callable[[str], str]


def body_section(body: Any) -> tuple[int, Data | Sequence | Value]:
    """JMS's number for the kind of message, and the body as AMQP has it."""
    if isinstance(body, str):
        return 5, Value(body)
    if isinstance(body, bytes | bytearray | memoryview):
        return 3, Data(bytes(body))
    if isinstance(body, dict):
        return 2, Value(body)
    if isinstance(body, list | tuple):
        return 4, Sequence(list(body))
    return (0 if body is None else 1), Value(body)


def encode_outgoing(
    message: Message, to: str, address_of: AddressOf, ttl: float | None, extra: dict[Symbol, Any] | None = None
) -> bytes:
    """The bytes of a message whose headers are all set; `to` is its destination's address, `ttl` in seconds."""
    kind, body = body_section(message.body)
    annotations: dict[Any, Any] = {MSG_TYPE: Byte(kind)}
    destination = message.destination
    if destination is not None:
        annotations[DEST] = Byte(destination.jms_type)
    reply_to = message.reply_to
    if reply_to is not None:
        annotations[REPLY_TO] = Byte(reply_to.jms_type)
    if message.delivery_time is not None:
        annotations[DELIVERY_TIME] = Timestamp(_ms(message.delivery_time))
    if extra:
        annotations |= extra
    content_type = message.content_type
    if content_type is None and kind == 3:
        content_type = _BYTES_TYPE
    correlation_id = message.correlation_id
    if isinstance(correlation_id, int):
        correlation_id = ULong(correlation_id)
    try:
        return encode_message(
            AmqpMessage(
                body=body,
                durable=message.persistent,
                priority=message.priority,
                ttl=None if ttl is None else max(1, round(ttl * 1000)),
                message_annotations=annotations,
                message_id=message.message_id,
                user_id=None if message.user_id is None else message.user_id.encode(),
                to=to,
                subject=message.type,
                reply_to=None if reply_to is None else address_of(reply_to),
                correlation_id=correlation_id,
                content_type=content_type,
                absolute_expiry_time=None if message.expiration is None else _ms(message.expiration),
                creation_time=None if message.timestamp is None else _ms(message.timestamp),
                group_id=message.group_id,
                group_sequence=message.group_sequence,
                application_properties=message.properties or None,
            )
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise MessageFormat(f"this message cannot be sent: {error}") from error


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def decode_incoming(payload: bytes, message: Message, name_of: NameOf) -> None:
    """Fill a message's attributes from its bytes."""
    try:
        came = decode_message(payload)
    except DecodeError as error:
        raise MessageFormat(f"a message came that cannot be read: {error}") from error
    annotations = came.message_annotations or {}
    message.body = _body(came)
    message.properties = came.application_properties or {}
    message.type = came.subject
    message.correlation_id = came.correlation_id
    message.group_id = came.group_id
    message.group_sequence = came.group_sequence
    message.content_type = came.content_type
    message.message_id = came.message_id
    message.destination = _place(came.to, annotations.get(DEST), name_of)
    message.reply_to = _place(came.reply_to, annotations.get(REPLY_TO), name_of)
    message.timestamp = _seconds(came.creation_time)
    message.expiration = _seconds(came.absolute_expiry_time)
    message.delivery_time = _seconds(annotations.get(DELIVERY_TIME))
    message.priority = came.priority
    message.persistent = came.durable
    message.user_id = None if came.user_id is None else came.user_id.decode("utf-8", "replace")
    message.annotations = annotations
    message._delivered_before = came.delivery_count


def _seconds(ms: Any) -> float | None:
    return ms / 1000 if isinstance(ms, int) else None


def _place(address: str | None, kind: Any, name_of: NameOf) -> Destination | None:
    if not address:
        return None
    return KINDS.get(kind if isinstance(kind, int) else 0, Queue)(name_of(address))


def _body(came: AmqpMessage) -> Any:
    body = came.body
    if isinstance(body, Value):
        return body.value
    if isinstance(body, Sequence):
        return body.items
    if (came.content_type or "").startswith("text/"):
        return bytes(body.content).decode("utf-8", "replace")
    # A message of another JMS client without a body, of the kind that has no bytes, may come as empty data.
    kind = (came.message_annotations or {}).get(MSG_TYPE)
    return None if kind == 0 and not body.content else body.content
