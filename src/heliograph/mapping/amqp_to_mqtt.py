"""AMQP messages become MQTT publications.

All that comes before the body is looked at once for all messages in which it is the same, byte for byte. Messages in a
row that differ in their payloads only become one span, if the payloads have one length.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from heliograph.amqp.errors import DecodeError, InvalidField
from heliograph.amqp.messages import section_reading
from heliograph.amqp.messages.section_reading import BODY, find_section
from heliograph.amqp.messages.value_reading import UNREADABLE
from heliograph.broker.span import LONGEST_LIFE, Span
from heliograph.mapping import user_properties
from heliograph.mapping.bodies import body_of
from heliograph.mapping.identifiers import data_of
from heliograph.mapping.user_properties import RESERVED, Sections, carried
from heliograph.mqtt.errors import ProtocolError
from heliograph.mqtt.framing import encode_varint
from heliograph.mqtt.packet_types import PacketType
from heliograph.mqtt.properties import decode_properties
from heliograph.mqtt.strings import STRING_MAX, check_topic_name

TOPIC_PREFIX = "topic://"
_QUEUE_PREFIX = "queue://"
ENCODED = "application/vnd.heliograph.amqp"
"""Content type of a payload that is the body of an AMQP message, as AMQP encodes it: a map, a list, a number, ..."""
RETAIN = "x-opt-retain-message"
MQTT_PROPERTIES = "x-opt-mqtt-properties"
"""Properties of a publication that a message cannot express, all of them as MQTT encodes them."""
_REPLY_KIND = "x-opt-jms-reply-to"
_REPLY_KINDS_QUEUE = (0, 2)


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


_known: dict[bytes, Head] = {}
_KNOWN_MOST = 1024
_KNOWN_LONGEST = 512


class Part(NamedTuple):
    """A payload of a publication, and what it is."""

    payload: bytes
    head: Head
    text: bool = False
    encoded: bool = False


def spans_of(topic: bytes, messages: Sequence[bytes], now: float, wall: int) -> list[tuple[int, Span]]:
    """Publications to a topic that say what these messages say, each with the place of its first message.

    Messages that have expired are not among them. `now` is the broker's clock, `wall` milliseconds since 1970. Raises
    DecodeError for what is no message.
    """
    spans: list[tuple[int, Span]] = []
    run: list[Part] = []
    first = 0
    for place, message in enumerate(messages):
        part = part_of(message)
        if run and not _alike(run[-1], part):
            spans += [(first, span) for span in _span(topic, run, now, wall)]
            run, first = [], place
        run.append(part)
    return spans + [(first, span) for span in _span(topic, run, now, wall)]


def _alike(one: Part, other: Part) -> bool:
    """Whether two payloads can travel in one span. Empty ones have no length to be told apart by."""
    return (
        one.head is other.head
        and len(one.payload) == len(other.payload) > 0
        and one.text is other.text
        and one.encoded is other.encoded
    )


def _span(topic: bytes, run: list[Part], now: float, wall: int) -> list[Span]:
    if not run:
        return []
    payload, head, text, encoded = run[0]
    lives = [head.ttl] if head.ttl else []
    if head.expires:
        lives.append(head.expires - wall)
    if lives and min(lives) <= 0:
        return []
    return [
        Span(
            topic,
            payload if len(run) == 1 else b"".join([part.payload for part in run]),
            len(run),
            head=0,
            qos=head.qos,
            id_at=0,
            version5=False,
            retain=head.retain,
            verbatim=False,
            properties=head.properties(text=text, encoded=encoded),
            expires=now + min(*lives, LONGEST_LIFE * 1000) / 1000 if lives else 0.0,
        )
    ]


def part_of(message: bytes) -> Part:
    """What a message is for MQTT."""
    try:
        start, at, code = find_section(message, BODY)
        before = message[:start]
        head = _known.get(before) or _read_head(before)
        if code == BODY:
            # Nearly always: a single section of bytes that fills the rest of the message.
            if message[at] == 0xA0 and at + 2 + message[at + 1] == len(message):
                return Part(message[at + 2 :], head)
            if message[at] == 0xB0 and at + 5 + int.from_bytes(message[at + 1 : at + 5], "big") == len(message):
                return Part(message[at + 5 :], head)
    except UNREADABLE:
        raise DecodeError(f"expected the sections of a message, found {message[:20].hex(' ')} ...") from None
    body = body_of(message, start)
    return Part(body.payload, head, body.text, body.encoded)


def _read_head(before: bytes) -> Head:
    if why := section_reading.too_many_entries(before):
        raise InvalidField(why)
    durable, priority, ttl, _, _ = section_reading.header(before)
    fields = section_reading.properties(before)
    application = section_reading.application_properties(before)
    annotations = section_reading.message_annotations(before)
    head = Head(
        qos=1 if durable else 0,
        retain=annotations.get(RETAIN) is True,
        ttl=ttl or 0,
        expires=fields[user_properties.EXPIRY] or 0,
        sections=Sections(priority, fields, application, annotations),
        encoded={},
    )
    if len(before) <= _KNOWN_LONGEST:
        if len(_known) >= _KNOWN_MOST:
            _known.clear()
        _known[before] = head
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
    users = carried(sections)
    parts = [b"\x01\x01"] if text else []
    content_type = fields[user_properties.CONTENT_TYPE]
    if encoded:
        parts.append(_string(b"\x03", ENCODED))
        if content_type is not None:
            users.append((user_properties.CONTENT_TYPE_NAME, content_type))
    elif content_type is not None:
        parts.append(_string(b"\x03", content_type))
    reply_to = fields[user_properties.REPLY_TO]
    if reply_to is not None:
        topic, address = _response(reply_to, annotations.get(_REPLY_KIND))
        if topic is not None:
            parts.append(_string(b"\x08", topic))
        else:
            users.append((user_properties.REPLY_TO_NAME, address))
    correlation = fields[user_properties.CORRELATION_ID]
    if correlation is not None:
        data = data_of(correlation)
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
    if len(key) <= _KNOWN_LONGEST:
        if len(_keys) >= _KNOWN_MOST:
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


def _response(address: str, kind: Any) -> tuple[str | None, str]:
    """The response topic that stands for an address; None if it is no topic; and the address, with what it is."""
    if kind in _REPLY_KINDS_QUEUE and not address.startswith(_QUEUE_PREFIX):
        address = _QUEUE_PREFIX + address
    topic = address.removeprefix(TOPIC_PREFIX)
    try:
        check_topic_name(topic)
    except ProtocolError:
        return None, address
    return None if address.startswith(_QUEUE_PREFIX) else topic, address


def _as_text(value: object) -> str:
    """A value of any type as text; the type is lost."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex()
    return repr(value) if isinstance(value, float) else str(value)
