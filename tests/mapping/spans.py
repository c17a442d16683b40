"""What is in spans of publications, for tests."""

from typing import Any

from heliograph.mqtt import PacketType, decode_properties, encode_varint


def properties_in(span: Any) -> Any:
    """The properties of a span, decoded."""
    encoded = encode_varint(len(span.properties)) + span.properties
    return decode_properties(encoded, 0, len(encoded), PacketType.PUBLISH)[0]
