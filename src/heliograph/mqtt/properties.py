"""MQTT 5 properties: a dictionary in Python, identifiers and values on the wire."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, cast

from heliograph.mqtt.errors import MalformedPacket, ProtocolError
from heliograph.mqtt.framing import PacketType, encode_varint
from heliograph.mqtt.primitives import U16, U32, Reader, pack_binary, pack_byte, pack_pair, pack_string
from heliograph.mqtt.reasons import Reason


class Properties(TypedDict, total=False):
    """The properties of one packet, by the standard's names. Properties that may come more than once are lists."""

    payload_format_indicator: int
    message_expiry_interval: int
    content_type: str
    response_topic: str
    correlation_data: bytes
    subscription_identifier: list[int]
    session_expiry_interval: int
    assigned_client_identifier: str
    server_keep_alive: int
    authentication_method: str
    authentication_data: bytes
    request_problem_information: int
    will_delay_interval: int
    request_response_information: int
    response_information: str
    server_reference: str
    reason_string: str
    receive_maximum: int
    topic_alias_maximum: int
    topic_alias: int
    maximum_qos: int
    retain_available: int
    user_property: list[tuple[str, str]]
    maximum_packet_size: int
    wildcard_subscription_available: int
    subscription_identifier_available: int
    shared_subscription_available: int


# Where properties can stand: in a packet, or inside CONNECT with the will.
Place = PacketType | Literal["will"]


@dataclass(frozen=True, slots=True)
class _Type:
    """How a property's value is read and written."""

    read: Callable[[Reader], Any]
    pack: Callable[[Any], bytes]


_BYTE = _Type(Reader.byte, pack_byte)
_U16 = _Type(Reader.u16, U16.pack)
_U32 = _Type(Reader.u32, U32.pack)
_VARINT = _Type(Reader.varint, encode_varint)
_STRING = _Type(Reader.string, pack_string)
_BINARY = _Type(Reader.binary, pack_binary)
_PAIR = _Type(Reader.pair, pack_pair)

_Check = Callable[[str, Any], None]


def _any_value(_name: str, _value: Any) -> None:
    pass


def _zero_or_one(name: str, value: int) -> None:
    if value > 1:
        raise ProtocolError(Reason.PROTOCOL_ERROR, f"property {name} is {value}; it can be 0 or 1")


def _not_zero(name: str, value: int) -> None:
    if value == 0:
        raise ProtocolError(Reason.PROTOCOL_ERROR, f"property {name} is 0")


def _alias_not_zero(name: str, value: int) -> None:
    if value == 0:
        raise ProtocolError(Reason.TOPIC_ALIAS_INVALID, f"property {name} is 0")


def _no_wildcard(name: str, value: str) -> None:
    if not value or "+" in value or "#" in value:
        raise ProtocolError(Reason.PROTOCOL_ERROR, f"property {name} is no topic name: {value!r}")


@dataclass(frozen=True, slots=True)
class _Property:
    """One line of the standard's table of properties."""

    identifier: int
    name: str
    type: _Type
    places: frozenset[Place]
    check: _Check = _any_value


_T = PacketType
_MESSAGE: frozenset[Place] = frozenset({_T.PUBLISH, "will"})
_CONNECT: frozenset[Place] = frozenset({_T.CONNECT})
_CONNACK: frozenset[Place] = frozenset({_T.CONNACK})
_HANDSHAKE = _CONNECT | _CONNACK
_AUTH: frozenset[Place] = _HANDSHAKE | {_T.AUTH}
_ACK: frozenset[Place] = frozenset({_T.PUBACK, _T.PUBREC, _T.PUBREL, _T.PUBCOMP, _T.SUBACK, _T.UNSUBACK})
_ANSWER: frozenset[Place] = _CONNACK | _ACK | {_T.DISCONNECT, _T.AUTH}
_ANYWHERE: frozenset[Place] = _ANSWER | _CONNECT | _MESSAGE | {_T.SUBSCRIBE, _T.UNSUBSCRIBE}

_TABLE = (
    _Property(0x01, "payload_format_indicator", _BYTE, _MESSAGE, _zero_or_one),
    _Property(0x02, "message_expiry_interval", _U32, _MESSAGE),
    _Property(0x03, "content_type", _STRING, _MESSAGE),
    _Property(0x08, "response_topic", _STRING, _MESSAGE, _no_wildcard),
    _Property(0x09, "correlation_data", _BINARY, _MESSAGE),
    _Property(0x0B, "subscription_identifier", _VARINT, frozenset({_T.PUBLISH, _T.SUBSCRIBE}), _not_zero),
    _Property(0x11, "session_expiry_interval", _U32, _HANDSHAKE | {_T.DISCONNECT}),
    _Property(0x12, "assigned_client_identifier", _STRING, _CONNACK),
    _Property(0x13, "server_keep_alive", _U16, _CONNACK),
    _Property(0x15, "authentication_method", _STRING, _AUTH),
    _Property(0x16, "authentication_data", _BINARY, _AUTH),
    _Property(0x17, "request_problem_information", _BYTE, _CONNECT, _zero_or_one),
    _Property(0x18, "will_delay_interval", _U32, frozenset({"will"})),
    _Property(0x19, "request_response_information", _BYTE, _CONNECT, _zero_or_one),
    _Property(0x1A, "response_information", _STRING, _CONNACK),
    _Property(0x1C, "server_reference", _STRING, _CONNACK | {_T.DISCONNECT}),
    _Property(0x1F, "reason_string", _STRING, _ANSWER),
    _Property(0x21, "receive_maximum", _U16, _HANDSHAKE, _not_zero),
    _Property(0x22, "topic_alias_maximum", _U16, _HANDSHAKE),
    _Property(0x23, "topic_alias", _U16, frozenset({_T.PUBLISH}), _alias_not_zero),
    _Property(0x24, "maximum_qos", _BYTE, _CONNACK, _zero_or_one),
    _Property(0x25, "retain_available", _BYTE, _CONNACK, _zero_or_one),
    _Property(0x26, "user_property", _PAIR, _ANYWHERE),
    _Property(0x27, "maximum_packet_size", _U32, _HANDSHAKE, _not_zero),
    _Property(0x28, "wildcard_subscription_available", _BYTE, _CONNACK, _zero_or_one),
    _Property(0x29, "subscription_identifier_available", _BYTE, _CONNACK, _zero_or_one),
    _Property(0x2A, "shared_subscription_available", _BYTE, _CONNACK, _zero_or_one),
)
_BY_IDENTIFIER = {row.identifier: row for row in _TABLE}
_BY_NAME = {row.name: row for row in _TABLE}

_LISTS = {"user_property", "subscription_identifier"}

MOST_OF_A_KIND = 1000
"""The limit for a property that may be repeated: reading a packet full of them would take too long."""


def encode_properties(properties: Properties) -> bytes:
    """Encode properties in the dictionary's order, preceded by their length."""
    if not properties:
        return b"\0"
    parts: list[bytes] = []
    for name, value in properties.items():
        row = _BY_NAME[name]
        for one in cast("list[Any]", value) if name in _LISTS else (value,):
            parts += (pack_byte(row.identifier), row.type.pack(one))
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def decode_properties(buf: bytes, pos: int, end: int, place: Place) -> tuple[Properties, int]:
    """Read the length at `pos` and the properties after it: them and the position after them.

    `end` is where the packet ends; for the rest see `read_properties`.
    """
    reader = Reader(buf, pos, end)
    return read_properties(reader, place), reader.pos


def read_properties(reader: Reader, place: Place) -> Properties:
    """Read the properties, their length first, of what `place` names.

    Raises ProtocolError with the reason that the standard names when a property is unknown, does not belong there,
    comes twice or has a value that it cannot have.
    """
    length = reader.varint()
    if length == 0:
        return Properties()
    if length > reader.left:
        raise MalformedPacket(f"{length} bytes of properties, but only {reader.left} left in the packet")
    part = reader.part(length)
    found: dict[str, Any] = {}
    while part.left:
        _read_one(part, place, found)
    if "authentication_data" in found and "authentication_method" not in found:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "authentication data without an authentication method")
    return cast("Properties", found)


def _read_one(reader: Reader, place: Place, found: dict[str, Any]) -> None:
    identifier = reader.varint()
    row = _BY_IDENTIFIER.get(identifier)
    if row is None or place not in row.places:
        name = place if isinstance(place, str) else place.name
        raise MalformedPacket(f"property 0x{identifier:02X} does not belong in {name}")
    value = row.type.read(reader)
    row.check(row.name, value)
    if row.name in _LISTS:
        values = found.setdefault(row.name, [])
        # Only PUBLISH may have several: one for each matching subscription (section 3.3.2.3.8).
        if values and row.name == "subscription_identifier" and place is not PacketType.PUBLISH:
            raise _twice(row.name)
        if len(values) == MOST_OF_A_KIND:
            raise ProtocolError(Reason.QUOTA_EXCEEDED, f"property {row.name} is there more than {MOST_OF_A_KIND} times")
        values.append(value)
    elif row.name in found:
        raise _twice(row.name)
    else:
        found[row.name] = value


def _twice(name: str) -> ProtocolError:
    return ProtocolError(Reason.PROTOCOL_ERROR, f"property {name} is there twice")
