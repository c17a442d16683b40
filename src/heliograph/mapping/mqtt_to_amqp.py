"""MQTT publications become AMQP messages.

All that comes before the payload is made once for a span. What is the same for all spans of a topic with the same
properties is made once for them: only the times in it are filled in.
"""

from struct import Struct
from typing import Any, NamedTuple

from heliograph.amqp.encoding import NULL, encode, encode_list
from heliograph.amqp.values import Byte, Symbol
from heliograph.broker.mixed_span import MixedSpan
from heliograph.broker.span import Span
from heliograph.mapping import user_properties
from heliograph.mapping.amqp_to_mqtt import ENCODED, MQTT_PROPERTIES, RETAIN, TOPIC_PREFIX, properties_of
from heliograph.mapping.bodies import is_body
from heliograph.mapping.identifiers import identifier_in
from heliograph.mapping.user_properties import Sections, put_back
from heliograph.mqtt.framing import encode_varint
from heliograph.mqtt.packet_types import PacketType
from heliograph.mqtt.properties import Properties, decode_properties

_TOPIC = Byte(1)
"""In annotations of JMS: the address is a topic's."""
_TTL = Struct(">BI")
_TIME = Struct(">Bq")
_TTL_MOST = 2**32 - 1
_FIXED_TTL, _FIXED_TIME = _TTL.pack(0x70, 0), _TIME.pack(0x83, 0)
_STRING_BODY, _DATA_BODY = b"\x00\x53\x77", b"\x00\x53\x75"


def amqp_messages(span: Span, now: float, wall: int) -> list[bytes]:
    """The messages of a span, encoded. `now` is the broker's clock, `wall` milliseconds since 1970."""
    if isinstance(span, MixedSpan):
        return [message for at in range(span.count) for message in amqp_messages(span.single(at), now, wall)]
    meaning = _meaning(span.properties)
    payloads = span.payloads(0, span.count)
    if meaning.plain is not None and not all(map(is_body, payloads)):
        meaning = meaning.plain
    left = max(1, round((span.expires - now) * 1000)) if span.expires else 0
    head = _template(span, meaning).filled(left, wall)
    if meaning.is_encoded:
        return list(map(head.__add__, payloads))
    size = len(payloads[0])
    data_head = head + _DATA_BODY + _length(0xA0, size)
    if not meaning.is_text:
        return list(map(data_head.__add__, payloads))
    text_head = head + _STRING_BODY + _length(0xA1, size)
    return [(text_head if _is_text(payload) else data_head) + payload for payload in payloads]


def _length(small: int, size: int) -> bytes:
    """What comes before a string or bytes of this length; the longer form of each has a code that is higher by 0x10."""
    return bytes((small, size)) if size < 256 else (small + 0x10).to_bytes(1) + size.to_bytes(4, "big")


def _is_text(payload: bytes) -> bool:
    if payload.isascii():
        return True
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True


# Properties


class _Meaning(NamedTuple):
    """What one set of MQTT properties means for AMQP, encoded as far as it does not depend on the message."""

    key: bytes
    annotations: dict[Symbol, object]
    priority: bytes
    fields: list[bytes]
    """The fields of the properties section, each encoded."""
    application: bytes
    """The whole section of the application properties."""
    is_text: bool
    is_encoded: bool
    plain: "_Meaning | None" = None
    """Of payloads that are said to be the body of an AMQP message: what to do with those that are not."""


_meanings: dict[bytes, _Meaning] = {}
_templates: dict[tuple[bytes, bytes, bool, bool, bool, bool], "_Template"] = {}
_KNOWN_MOST = 4096
_KNOWN_LONGEST = 1024


def _meaning(properties: bytes) -> _Meaning:
    known = _meanings.get(properties)
    if known is not None:
        return known
    known = _read_meaning(properties, _decoded(properties))
    if len(properties) <= _KNOWN_LONGEST:
        if len(_meanings) >= _KNOWN_MOST:
            _meanings.clear()
        _meanings[properties] = known
    return known


def _read_meaning(key: bytes, found: Properties) -> _Meaning:
    is_encoded = found.get("content_type") == ENCODED
    plain = _encode_meaning(key, found, is_encoded=False) if is_encoded else None
    return _encode_meaning(key, found, is_encoded=is_encoded)._replace(plain=plain)


def _encode_meaning(key: bytes, found: Properties, *, is_encoded: bool) -> _Meaning:
    is_text = found.get("payload_format_indicator") == 1 and not is_encoded
    sections = _sections_of(found, is_encoded=is_encoded)
    annotations: dict[Symbol, object] = {}
    reply_to = sections.fields[user_properties.REPLY_TO]
    if reply_to is not None and reply_to.startswith(TOPIC_PREFIX):
        annotations[Symbol("x-opt-jms-reply-to")] = _TOPIC
    back = _decoded(properties_of(sections, text=is_text, encoded=is_encoded))
    if back != _without_nothing(found):
        annotations[Symbol(MQTT_PROPERTIES)] = key
    return _Meaning(
        key,
        annotations,
        NULL if sections.priority == 4 else encode(sections.priority),
        [encode(value) for value in sections.fields],
        b"\x00\x53\x74" + encode(sections.application) if sections.application else b"",
        is_text,
        is_encoded,
    )


def _decoded(properties: bytes) -> Properties:
    encoded = encode_varint(len(properties)) + properties
    return decode_properties(encoded, 0, len(encoded), PacketType.PUBLISH)[0]


def _without_nothing(found: Properties) -> Properties:
    """The same properties, without those that say no more than their absence would."""
    if found.get("payload_format_indicator") == 0:
        found = found.copy()
        del found["payload_format_indicator"]
    return found


def _sections_of(found: Properties, *, is_encoded: bool) -> Sections:
    """Sections that say what these properties say, as far as AMQP can."""
    fields: list[Any] = [None] * 13
    users = found.get("user_property", []).copy()
    content_type = found.get("content_type")
    if is_encoded:
        content_type = _taken(users, user_properties.CONTENT_TYPE_NAME)
    if content_type is not None and content_type.isascii():
        fields[user_properties.CONTENT_TYPE] = Symbol(content_type)
    if (topic := found.get("response_topic")) is not None:
        fields[user_properties.REPLY_TO] = TOPIC_PREFIX + topic
    else:
        fields[user_properties.REPLY_TO] = _taken(users, user_properties.REPLY_TO_NAME)
    if (data := found.get("correlation_data")) is not None:
        fields[user_properties.CORRELATION_ID] = identifier_in(data)
    priority, application = put_back(users, fields)
    return Sections(priority, fields, application, {})


def _taken(users: list[tuple[str, str]], wanted: str) -> str | None:
    """The first user property of this name, taken out."""
    for index, (name, value) in enumerate(users):
        if name == wanted:
            del users[index]
            return value
    return None


# Templates


class _Template(NamedTuple):
    """The sections before the body, cut where times have to be filled in."""

    pieces: tuple[bytes, ...]
    expires: bool
    """Whether there is a place for how long it lives, and for when that ends."""
    created: bool

    def filled(self, left: int, wall: int) -> bytes:
        """The sections of a message that arrives now, and has so many milliseconds left."""
        times = []
        if self.expires:
            times = [_TTL.pack(0x70, min(left, _TTL_MOST)), _TIME.pack(0x83, wall + left)]
        if self.created:
            times.append(_TIME.pack(0x83, wall))
        pieces = self.pieces
        filled = pieces[0]
        for time, piece in zip(times, pieces[1:], strict=True):
            filled += time + piece
        return filled


def _template(span: Span, meaning: _Meaning) -> _Template:
    expires = bool(span.expires)
    key = (span.topic, meaning.key, span.qos > 0, span.retain, expires, meaning.is_encoded)
    known = _templates.get(key)
    if known is None:
        known = _make_template(span, meaning, expires)
        if len(span.topic) + len(meaning.key) <= _KNOWN_LONGEST:
            if len(_templates) >= _KNOWN_MOST:
                _templates.clear()
            _templates[key] = known
    return known


def _make_template(span: Span, meaning: _Meaning, expires: bool) -> _Template:
    header = [encode(span.qos > 0), meaning.priority]
    annotations = {Symbol("x-opt-jms-dest"): _TOPIC, **meaning.annotations}
    if span.retain:
        annotations[Symbol(RETAIN)] = True
    fields = meaning.fields.copy()
    fields[user_properties.TO] = encode(TOPIC_PREFIX + span.topic.decode())
    created = fields[user_properties.CREATED] == NULL
    marks = []
    if expires:
        header.append(_FIXED_TTL)
        fields[user_properties.EXPIRY] = _FIXED_TIME
    if created:
        fields[user_properties.CREATED] = _FIXED_TIME
    while fields[-1] == NULL:
        fields.pop()
    sections = b"\x00\x53\x70" + encode_list(header)
    if expires:
        marks.append((len(sections) - len(_FIXED_TTL), len(_FIXED_TTL)))
    sections += b"\x00\x53\x72" + encode(annotations)
    sections += b"\x00\x53\x73" + encode_list(fields)
    for index, wanted in ((user_properties.EXPIRY, expires), (user_properties.CREATED, created)):
        if wanted:
            marks.append((len(sections) - len(b"".join(fields[index:])), len(_FIXED_TIME)))
    sections += meaning.application
    pieces, at = [], 0
    for mark, width in marks:
        pieces.append(sections[at:mark])
        at = mark + width
    return _Template((*pieces, sections[at:]), expires, created)
