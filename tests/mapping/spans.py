"""Publications as spans, what is in them, and what they are as messages of AMQP."""

from typing import Any

from heliograph.amqp.messages import decode_message
from heliograph.broker.core.span import carried_properties, message
from heliograph.broker.queues.conversion import amqp_messages
from heliograph.mqtt import PacketType, decode_properties, encode_varint

NOW, WALL = 1000.0, 1_700_000_000_000


def properties_in(span: Any) -> Any:
    """The properties of a span, decoded."""
    encoded = encode_varint(len(span.properties)) + span.properties
    return decode_properties(encoded, 0, len(encoded), PacketType.PUBLISH)[0]


def to_amqp(payload: bytes = b"", topic: bytes = b"a/b", **fields: Any) -> Any:
    """The AMQP message of a publication."""
    publish = {name: fields.pop(name) for name in ("qos", "retain", "expires") if name in fields}
    span = message(topic, payload, properties=carried_properties(fields), **publish)
    (encoded,) = amqp_messages(span, NOW, WALL)
    return decode_message(encoded)
