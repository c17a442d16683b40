"""AMQP messages become MQTT publications.

All that comes before the body is looked at once for all messages in which it is the same, byte for byte.
"""

from typing import NamedTuple

from heliograph.amqp import DecodeError, InvalidField
from heliograph.amqp.messages import (
    ABSOLUTE_EXPIRY_TIME,
    BODY_SECTION,
    CONTENT_TYPE,
    CORRELATION_ID,
    JMS_REPLY_KIND,
    MQTT_PROPERTIES,
    MQTT_RETAIN,
    REPLY_TO,
    UNREADABLE,
    find_section,
    read_application_properties,
    read_header,
    read_message_annotations,
    read_properties,
    too_many_entries,
)
from heliograph.mapping import user_properties
from heliograph.mapping.bodies import ENCODED_CONTENT_TYPE, publication_body
from heliograph.mapping.delivery import life_left, qos_of, response_topic
from heliograph.mapping.identifiers import identifier_to_correlation_data
from heliograph.mapping.user_properties import RESERVED, Sections, fields_as_users
from heliograph.mqtt import STRING_MAX, PacketType, ProtocolError, decode_properties, encode_varint


class Head(NamedTuple):
    """What all that comes before the body means for MQTT."""

    qos: int
    retain: bool
    ttl: int
    """Milliseconds from its arrival on; 0: for ever."""
    expires: int
    """Milliseconds since 1970; 0: never."""
    sections: Sections
    encoded: dict[tuple[bool, bool], bytes]
    """The properties for each kind of body that has been seen."""

    def properties(self, *, text: bool, encoded: bool) -> bytes:
        """The properties of a publication, encoded without their length."""
        known = self.encoded.get((text, encoded))
        if known is None:
            known = self.encoded[text, encoded] = properties_of(self.sections, text=text, encoded=encoded)
        return known

    def life_left(self, wall: int) -> int | None:
        """Milliseconds that a message has which arrives now; 0 or less: it has expired; None: it lives for ever."""
        return life_left(self.ttl, self.expires, wall)


_heads: dict[bytes, Head] = {}
_MOST_REMEMBERED = 1024
_LONGEST_REMEMBERED = 512


class Publication(NamedTuple):
    """What a message is for MQTT."""

    payload: bytes
    head: Head
    text: bool = False
    encoded: bool = False

    def differs_in_payload_only(self, other: "Publication") -> bool:
        """Whether both have the same properties, and payloads of one length, which is not 0."""
        return (
            self.head is other.head
            and len(self.payload) == len(other.payload) > 0
            and self.text is other.text
            and self.encoded is other.encoded
        )


def publication_of(message: bytes) -> Publication:
    """What a message is for MQTT."""
    try:
        start, at, code = find_section(message, BODY_SECTION)
        before = message[:start]
        head = _heads.get(before) or _read_head(before)
        if code == BODY_SECTION:
            # Nearly always: a single section of bytes that fills the rest of the message.
            if message[at] == 0xA0 and at + 2 + message[at + 1] == len(message):
                return Publication(message[at + 2 :], head)
            if message[at] == 0xB0 and at + 5 + int.from_bytes(message[at + 1 : at + 5], "big") == len(message):
                return Publication(message[at + 5 :], head)
    except UNREADABLE:
        raise DecodeError(f"expected the sections of a message, found {message[:20].hex(' ')} ...") from None
    body = publication_body(message, start)
    return Publication(body.payload, head, body.text, body.encoded)


def _read_head(before: bytes) -> Head:
    if why := too_many_entries(before):
        raise InvalidField(why)
    durable, priority, ttl, _, _ = read_header(before)
    fields = read_properties(before)
    application = read_application_properties(before)
    annotations = read_message_annotations(before)
    head = Head(
        qos=qos_of(durable),
        retain=annotations.get(MQTT_RETAIN) is True,
        ttl=ttl or 0,
        expires=fields[ABSOLUTE_EXPIRY_TIME] or 0,
        sections=Sections(priority, fields, application, annotations),
        encoded={},
    )
    if len(before) <= _LONGEST_REMEMBERED:
        if len(_heads) >= _MOST_REMEMBERED:
            _heads.clear()
        _heads[before] = head
    return head


# Properties


def properties_of(sections: Sections, *, text: bool, encoded: bool) -> bytes:
    """The MQTT 5 properties that say what the fields of a message say, encoded without their length.

    Strings that MQTT does not take are left out.
    """
    fields, annotations = sections.fields, sections.annotations
    raw = annotations.get(MQTT_PROPERTIES)
    if type(raw) is bytes and _are_properties(raw):
        return raw
    users = fields_as_users(sections)
    parts = [b"\x01\x01"] if text else []
    content_type = fields[CONTENT_TYPE]
    if encoded:
        parts.append(_string(b"\x03", ENCODED_CONTENT_TYPE))
        if content_type is not None:
            users.append((user_properties.CONTENT_TYPE_PROPERTY, content_type))
    elif content_type is not None:
        parts.append(_string(b"\x03", content_type))
    reply_to = fields[REPLY_TO]
    if reply_to is not None:
        topic, address = response_topic(reply_to, annotations.get(JMS_REPLY_KIND))
        if topic is not None:
            parts.append(_string(b"\x08", topic))
        else:
            users.append((user_properties.REPLY_TO_PROPERTY, address))
    correlation = fields[CORRELATION_ID]
    if correlation is not None:
        data = identifier_to_correlation_data(correlation)
        if len(data) <= STRING_MAX:
            parts.append(b"\x09" + len(data).to_bytes(2, "big") + data)
    for name, value in sections.application.items():
        if name not in RESERVED and value is not None:
            users.append((name, value if value.__class__ is str else _as_text(value)))
    for name, value in users:
        key, worth = _keys.get(name) or _key(name), _string(b"", value)
        if key and worth:
            parts.append(key + worth)
    return b"".join(parts)


# Messages have the same names over and over.
_keys: dict[str, bytes] = {}


def _key(name: str) -> bytes:
    """The name of a user property, encoded."""
    key = _string(b"\x26", name)
    if len(key) <= _LONGEST_REMEMBERED:
        if len(_keys) >= _MOST_REMEMBERED:
            _keys.clear()
        _keys[name] = key
    return key


def _string(identifier: bytes, text: str) -> bytes:
    """A string after the identifier of its property; nothing if MQTT does not take it."""
    encoded = text.encode()
    if len(encoded) > STRING_MAX or b"\0" in encoded:
        return b""
    return identifier + len(encoded).to_bytes(2, "big") + encoded


def _are_properties(raw: bytes) -> bool:
    encoded = encode_varint(len(raw)) + raw
    try:
        properties, _ = decode_properties(encoded, 0, len(encoded), PacketType.PUBLISH)
    except ProtocolError:
        return False
    return not properties.keys() & {"subscription_identifier", "topic_alias", "message_expiry_interval"}


def _as_text(value: object) -> str:
    """A value of any type as text; the type is lost."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex()
    return repr(value) if isinstance(value, float) else str(value)
