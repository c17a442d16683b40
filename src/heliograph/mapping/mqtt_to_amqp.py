"""MQTT publications become AMQP messages.

The sections before the payload are encoded once for a run of publications. They differ between runs of the same topic
and properties only in times (ttl, expiry, creation), so they are cached as a template with gaps for these
(`_Template`).

Two caches, both bounded in number and length of entries: `_remembered` has converted properties, `_templates` has
templates by topic, properties and flags.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Any, NamedTuple

from heliograph.amqp import NULL, Byte, Symbol, encode, encode_list
from heliograph.amqp.messages import (
    JMS_DESTINATION_KIND,
    JMS_REPLY_KIND,
    MQTT_PROPERTIES,
    MQTT_RETAIN,
    jms_kinds,
    sections,
)
from heliograph.mapping import user_properties
from heliograph.mapping.amqp_to_mqtt import properties_of
from heliograph.mapping.bodies import ENCODED_CONTENT_TYPE, is_body, is_utf8
from heliograph.mapping.delivery import LONGEST_TTL, TOPIC_PREFIX, is_durable, reply_to
from heliograph.mapping.identifiers import identifier_from_correlation_data
from heliograph.mapping.user_properties import Sections, fields_from_users
from heliograph.mqtt import PacketType, Properties, decode_properties, encode_varint

_TOPIC = Byte(jms_kinds.TOPIC)
_TTL = Struct(">BI")
_TIME = Struct(">Bq")
_NO_TTL, _NO_TIME = _TTL.pack(0x70, 0), _TIME.pack(0x83, 0)
"""What stands in a template where a time is filled in."""


def messages_of(
    topic: bytes, payloads: Sequence[bytes], properties: bytes, qos: int, retain: bool, left: int, wall: int
) -> list[bytes]:
    """Return the encoded messages of publications with payloads of one length.

    `properties` are encoded as in MQTT 5, without their length. `left` is the time until they expire in milliseconds
    (0: never); `wall` is the current time in milliseconds since 1970.
    """
    converted = _converted(properties)
    if converted.plain is not None and not all(map(is_body, payloads)):
        converted = converted.plain
    head = _template(topic, converted, qos, retain, left > 0).filled(left, wall)
    if converted.is_encoded:
        return list(map(head.__add__, payloads))
    size = len(payloads[0])
    data_head = head + sections.DATA_START + _length(0xA0, size)
    if not converted.is_text:
        return list(map(data_head.__add__, payloads))
    text_head = head + sections.VALUE_START + _length(0xA1, size)
    return [(text_head if is_utf8(payload) else data_head) + payload for payload in payloads]


def _length(small: int, size: int) -> bytes:
    """Return the constructor and length of a string or binary. The code of the long form is 0x10 above the short
    one."""
    return bytes((small, size)) if size < 256 else (small + 0x10).to_bytes(1) + size.to_bytes(4, "big")


# Properties


class _Converted(NamedTuple):
    """One set of MQTT properties as AMQP fields, encoded as far as they do not depend on the message."""

    key: bytes
    annotations: dict[Symbol, object]
    priority: bytes
    fields: list[bytes]
    """The fields of the properties section, each encoded."""
    application: bytes
    """The whole section of the application properties."""
    is_text: bool
    is_encoded: bool
    plain: "_Converted | None" = None
    """If the content type says that the payload is an AMQP section: the conversion for payloads that are none."""


_remembered: dict[bytes, _Converted] = {}
_templates: dict[tuple[bytes, bytes, bool, bool, bool, bool], "_Template"] = {}
_MOST_REMEMBERED = 4096
_LONGEST_REMEMBERED = 1024


def _converted(properties: bytes) -> _Converted:
    known = _remembered.get(properties)
    if known is not None:
        return known
    known = _convert(properties, _decoded(properties))
    if len(properties) <= _LONGEST_REMEMBERED:
        if len(_remembered) >= _MOST_REMEMBERED:
            _remembered.clear()
        _remembered[properties] = known
    return known


def _convert(key: bytes, found: Properties) -> _Converted:
    is_encoded = found.get("content_type") == ENCODED_CONTENT_TYPE
    plain = _encode(key, found, is_encoded=False) if is_encoded else None
    return _encode(key, found, is_encoded=is_encoded)._replace(plain=plain)


def _encode(key: bytes, found: Properties, *, is_encoded: bool) -> _Converted:
    text = found.get("payload_format_indicator") == 1 and not is_encoded
    converted = _sections_of(found, is_encoded=is_encoded)
    annotations: dict[Symbol, object] = {}
    answers_to = converted.fields[sections.REPLY_TO]
    if answers_to is not None and answers_to.startswith(TOPIC_PREFIX):
        annotations[JMS_REPLY_KIND] = _TOPIC
    # If the conversion back would not restore the properties, the message carries the original ones as an annotation.
    # So
    # a publication that passes through a queue reaches MQTT subscribers with exactly its properties.
    back = _decoded(properties_of(converted, text=text, encoded=is_encoded))
    if back != _without_defaults(found):
        annotations[MQTT_PROPERTIES] = key
    return _Converted(
        key,
        annotations,
        NULL if converted.priority == sections.DEFAULT_PRIORITY else encode(converted.priority),
        [encode(value) for value in converted.fields],
        sections.APPLICATION_PROPERTIES_START + encode(converted.application) if converted.application else b"",
        text,
        is_encoded,
    )


def _decoded(properties: bytes) -> Properties:
    encoded = encode_varint(len(properties)) + properties
    return decode_properties(encoded, 0, len(encoded), PacketType.PUBLISH)[0]


def _without_defaults(found: Properties) -> Properties:
    """Return the properties without those whose value is the default."""
    if found.get("payload_format_indicator") == 0:
        found = found.copy()
        del found["payload_format_indicator"]
    return found


def _sections_of(found: Properties, *, is_encoded: bool) -> Sections:
    """Return the sections for these properties, as far as AMQP has fields for them."""
    fields: list[Any] = [None] * len(sections.PROPERTY_NAMES)
    users = found.get("user_property", []).copy()
    content_type = found.get("content_type")
    if is_encoded:
        content_type = _taken(users, user_properties.CONTENT_TYPE_PROPERTY)
    if content_type is not None and content_type.isascii():
        fields[sections.CONTENT_TYPE] = Symbol(content_type)
    if (topic := found.get("response_topic")) is not None:
        fields[sections.REPLY_TO] = reply_to(topic)
    else:
        fields[sections.REPLY_TO] = _taken(users, user_properties.REPLY_TO_PROPERTY)
    if (data := found.get("correlation_data")) is not None:
        fields[sections.CORRELATION_ID] = identifier_from_correlation_data(data)
    priority, application = fields_from_users(users, fields)
    return Sections(priority, fields, application, {})


def _taken(users: list[tuple[str, str]], wanted: str) -> str | None:
    """Remove and return the first user property of this name."""
    for index, (name, value) in enumerate(users):
        if name == wanted:
            del users[index]
            return value
    return None


# Templates


class _Template(NamedTuple):
    """The encoded sections before the body, cut at the places of times."""

    pieces: tuple[bytes, ...]
    expires: bool
    """Whether there are places for the ttl and the expiry time."""
    created: bool

    def filled(self, left: int, wall: int) -> bytes:
        """Return the sections of a message that arrives now and expires in `left` milliseconds."""
        times = []
        if self.expires:
            # 0x70 is the constructor of uint, 0x83 of timestamp: forms of fixed width, so every gap has one size.
            times = [_TTL.pack(0x70, min(left, LONGEST_TTL)), _TIME.pack(0x83, wall + left)]
        if self.created:
            times.append(_TIME.pack(0x83, wall))
        pieces = self.pieces
        filled = pieces[0]
        for time, piece in zip(times, pieces[1:], strict=True):
            filled += time + piece
        return filled


def _template(topic: bytes, converted: _Converted, qos: int, retain: bool, expires: bool) -> _Template:
    key = (topic, converted.key, qos > 0, retain, expires, converted.is_encoded)
    known = _templates.get(key)
    if known is None:
        known = _make_template(topic, converted, qos, retain, expires)
        if len(topic) + len(converted.key) <= _LONGEST_REMEMBERED:
            if len(_templates) >= _MOST_REMEMBERED:
                _templates.clear()
            _templates[key] = known
    return known


def _make_template(topic: bytes, converted: _Converted, qos: int, retain: bool, expires: bool) -> _Template:
    header = [encode(is_durable(qos)), converted.priority]
    annotations = {JMS_DESTINATION_KIND: _TOPIC, **converted.annotations}
    if retain:
        annotations[MQTT_RETAIN] = True
    fields = converted.fields.copy()
    fields[sections.TO] = encode(TOPIC_PREFIX + topic.decode())
    created = fields[sections.CREATION_TIME] == NULL
    marks = []
    if expires:
        header.append(_NO_TTL)
        fields[sections.ABSOLUTE_EXPIRY_TIME] = _NO_TIME
    if created:
        fields[sections.CREATION_TIME] = _NO_TIME
    # Trailing nulls of a list of fields may be left out (AMQP part 1, section 1.4).
    while fields[-1] == NULL:
        fields.pop()
    before = sections.HEADER_START + encode_list(header)
    if expires:
        marks.append((len(before) - len(_NO_TTL), len(_NO_TTL)))
    before += sections.MESSAGE_ANNOTATIONS_START + encode(annotations)
    before += sections.PROPERTIES_START + encode_list(fields)
    for index, wanted in ((sections.ABSOLUTE_EXPIRY_TIME, expires), (sections.CREATION_TIME, created)):
        if wanted:
            marks.append((len(before) - len(b"".join(fields[index:])), len(_NO_TIME)))
    before += converted.application
    pieces, at = [], 0
    for mark, width in marks:
        pieces.append(before[at:mark])
        at = mark + width
    return _Template((*pieces, before[at:]), expires, created)
