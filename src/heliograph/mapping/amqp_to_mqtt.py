"""AMQP messages become MQTT publications.

The sections before the body (the *head*) are decoded once for all messages in which they are equal byte for byte. A
producer that sends many messages usually changes only the body, so the cache (`_heads`) is hit for nearly all of them.
The cache is bounded by the number and the length of heads, and cleared when it is full.
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
    """The MQTT meaning of the sections before the body."""

    qos: int
    retain: bool
    ttl: int
    """Milliseconds from its arrival; 0: no limit."""
    expires: int
    """Milliseconds since 1970; 0: never."""
    sections: Sections
    encoded: dict[tuple[bool, bool], bytes]
    """The encoded properties for each kind of body: they depend on whether it is text or an encoded section."""

    def properties(self, *, text: bool, encoded: bool) -> bytes:
        """The properties of a publication, encoded without their length."""
        known = self.encoded.get((text, encoded))
        if known is None:
            known = self.encoded[text, encoded] = properties_of(self.sections, text=text, encoded=encoded)
        return known

    def life_left(self, wall: int) -> int | None:
        """Return the remaining lifetime in milliseconds of a message that arrives now (0 or less: expired; None: no
        limit)."""
        return life_left(self.ttl, self.expires, wall)


_heads: dict[bytes, Head] = {}
_MOST_REMEMBERED = 1024
_LONGEST_REMEMBERED = 512


class Publication(NamedTuple):
    """An AMQP message as an MQTT publication."""

    payload: bytes
    head: Head
    text: bool = False
    encoded: bool = False

    def differs_in_payload_only(self, other: "Publication") -> bool:
        """Whether both have the same properties, and payloads of one length that is not 0.

        The broker writes such publications as a run of packets of one length."""
        return (
            self.head is other.head
            and len(self.payload) == len(other.payload) > 0
            and self.text is other.text
            and self.encoded is other.encoded
        )


def publication_of(message: bytes) -> Publication:
    """Convert an encoded AMQP message to a publication."""
    try:
        start, at, code = find_section(message, BODY_SECTION)
        before = message[:start]
        head = _heads.get(before) or _read_head(before)
        if code == BODY_SECTION:
            # The usual case: one data section that fills the rest of the message. Its length proves that nothing
            # follows.
            # 0xa0 and 0xb0 are binary with a length of one and of four bytes (AMQP part 1, section 1.6.19).
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
    """Return the MQTT 5 properties for the fields of a message, encoded without their length.

    Strings that MQTT does not allow are left out.
    """
    fields, annotations = sections.fields, sections.annotations
    # A message that was an MQTT publication carries its original properties if they cannot be restored from the fields
    # (see `mqtt_to_amqp`). Other clients can set the annotation, too, so it is validated.
    raw = annotations.get(MQTT_PROPERTIES)
    if type(raw) is bytes and _are_properties(raw):
        return raw
    users = fields_as_users(sections)
    # Property 0x01 is the payload format indicator, 1 for UTF-8 (MQTT 5, section 3.3.2.3.2).
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


# Cached, because messages use the same few names.
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
    """Encode a property with a string value; nothing if MQTT does not allow the string."""
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
    """Return a value of any type as text. The type is lost, as user properties are strings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex()
    return repr(value) if isinstance(value, float) else str(value)
