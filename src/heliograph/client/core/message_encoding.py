"""Between the messages of Python and those of AMQP, with the annotations by which JMS clients know the kind."""

from collections.abc import Callable
from struct import error as struct_error
from typing import Any

from heliograph.amqp import EncodeError, ProtocolError, Timestamp, encode
from heliograph.amqp.messages import (
    APPLICATION_PROPERTIES_START,
    DELIVERY_TIME,
    JMS_DESTINATION_KIND,
    JMS_MESSAGE_KIND,
    JMS_REPLY_KIND,
    annotations_section,
    group_fields,
    header_section,
    kinds_section,
    properties_section,
    property_fields,
    read_message,
)
from heliograph.amqp.messages.jms_kinds import BYTES
from heliograph.client.destination import KINDS, Destination, Queue, destination_of
from heliograph.client.errors import MessageFormat
from heliograph.client.message import Message
from heliograph.mapping import BYTES_CONTENT_TYPE, kind_and_body_of, value_of_body

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
        header = header_section(persistent, priority, None if ttl is None else max(1, round(ttl * 1000)))
        return _encode(message, to, reply_to, header)
    except (EncodeError, TypeError, ValueError, OverflowError, AttributeError, struct_error) as error:
        raise MessageFormat(f"this message cannot be sent: {error}") from error


def _encode(message: Message, to: str, reply_to: str | None, header: bytes) -> bytes:
    kind, body = kind_and_body_of(message.body)
    to_kind = _kind_of(message.destination)
    reply_kind = _kind_of(message.reply_to)
    if message.delivery_time is None:
        annotations = kinds_section(kind, to_kind, reply_kind)
    else:
        delivery_time = {DELIVERY_TIME: Timestamp(_ms(message.delivery_time))}
        annotations = annotations_section(kind, to_kind, reply_kind, delivery_time)
    content_type = message.content_type
    if content_type is None and kind == BYTES:
        content_type = BYTES_CONTENT_TYPE
    fields = property_fields(
        message.message_id,
        None if message.user_id is None else message.user_id.encode(),
        to,
        message.type,
        reply_to,
        message.correlation_id,
        content_type,
        None if message.expiration is None else _ms(message.expiration),
        None if message.timestamp is None else _ms(message.timestamp),
    )
    fields += group_fields(message.group_id, message.group_sequence)
    own = APPLICATION_PROPERTIES_START + encode(message.properties) if message.properties else b""
    return b"".join((header, annotations, properties_section(fields), own, body))


def _kind_of(destination: Destination | None) -> int | None:
    return None if destination is None else destination.jms_type


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def decode_incoming(payload: bytes, message: Message, name_of: NameOf) -> None:
    """Fill a message's attributes from its bytes."""
    try:
        came = read_message(payload)
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
    message.destination = _destination(to, annotations.get(JMS_DESTINATION_KIND), name_of)
    message.reply_to = _destination(reply_to, annotations.get(JMS_REPLY_KIND), name_of)
    message.expiration = _seconds(expires)
    message.timestamp = _seconds(created)
    message.delivery_time = _seconds(annotations.get(DELIVERY_TIME))
    message.priority = came.priority
    message.persistent = came.durable
    message.annotations = annotations
    message.properties = came.application_properties
    message.body = value_of_body(came.body, message.content_type, annotations.get(JMS_MESSAGE_KIND))
    message.failed_deliveries = came.delivery_count


def _seconds(ms: Any) -> float | None:
    return ms / 1000 if isinstance(ms, int) else None


def _destination(address: str | None, kind: Any, name_of: NameOf) -> Destination | None:
    if not address:
        return None
    if isinstance(kind, int):
        return KINDS.get(kind, Queue)(name_of(address))
    destination = destination_of(address)  # clients that are no JMS clients say it in the address, if at all
    return type(destination)(name_of(destination.name))
