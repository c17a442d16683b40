"""Between the messages of a server and the envelopes of a flow.

| AMQP | envelope |
|---|---|
| a text | its bytes in UTF-8, format MQSTR |
| data | its bytes; format, character set and encoding as `JMS_IBM_Format` and so on say |
| anything else | JSON, format MQSTR |
| message and correlation id | bytes: of a text in UTF-8, of a number or a UUID as JMS writes them, else as they are |
| delivery count | backout count |
| group id and sequence | the same; a group id that is no text is `JMS_IBM_MQMD_GroupId` |
| `JMS_IBM_MQMD_Report` and so on | the other fields of MQMD |

The other way, identifiers that can be read are texts, and others bytes.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from heliograph.amqp.messages import (
    DEAD_LETTER_COUNT,
    DEAD_LETTER_EXCEPTIONS,
    DEAD_LETTER_NODE,
    DEAD_LETTER_QUEUE,
    DEAD_LETTER_REASON,
    DEAD_LETTER_TIME,
    DELIVERY_DELAY,
    MQTT_RETAIN,
)
from heliograph.client import MessageFormat, Queue, Topic, encoded
from heliograph.flow.engine.outcome import DeadLetter, Publish, Put
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.formats.mqmd import CARRIED, HeaderField
from heliograph.mapping import QUEUE_PREFIX, TOPIC_PREFIX, identifier_from_envelope, identifier_to_envelope, is_utf8

MQSTR = "MQSTR"
REQUEST_MESSAGE, DATAGRAM_MESSAGE = 1, 8
DEFAULT_CCSID, DEFAULT_ENCODING = 1208, 546
FORMAT, CCSID, ENCODING, TYPE = "JMS_IBM_Format", "JMS_IBM_Character_Set", "JMS_IBM_Encoding", "JMS_IBM_MsgType"
HEADER = "JMS_IBM_MQMD_"
"""Before the names of further fields of MQMD."""
GROUP = HEADER + "GroupId"
"""For groups that no text can name."""
MQMD_PROPERTIES = frozenset({FORMAT, CCSID, ENCODING, TYPE, GROUP, *(HEADER + name for name in CARRIED)})
"""Properties that stand for fields of MQMD."""


_AT_ONCE = frozenset({"body", "ccsid", "encoding", "properties"})
"""What a flow that looks at the body of a message needs."""


class ServerEnvelope(Envelope):
    """An envelope from a server, decoded lazily: most flows use few of its fields."""

    __slots__ = ("now", "payload", "seen")

    payload: bytes | None
    """The message as it came; None for a copy with changes."""
    now: float
    seen: encoded.Outline | None
    """What was seen of it; None if the message has an unusual shape."""

    @classmethod
    def of(cls, payload: bytes, now: float) -> "ServerEnvelope":
        """A message that was taken `now` (seconds since 1970)."""
        return envelopes_of([payload], now)[0]

    def __getattr__(self, name: str) -> Any:
        """Comes here only for attributes that have no value yet."""
        if name in {"payload", "now", "seen"}:
            return None
        if name == "place":  # not needed for messages of a server
            return b""
        if self.payload is None:
            raise AttributeError(name)
        if name not in _AT_ONCE or not self._look():
            self._read()
        return object.__getattribute__(self, name)

    def _look(self) -> bool:
        """Take the body and what is said of it, if the message has the usual shape."""
        seen, payload = self.seen, self.payload
        if seen is None:
            return False
        assert payload is not None
        body = payload[seen.body :]
        if seen.text and not is_utf8(body):
            return False
        self.body = body
        if seen.own:
            _, self.ccsid, self.encoding, properties = _described(seen.own, seen.text)
            self.properties = properties.copy()
        else:
            self.ccsid, self.encoding, self.properties = DEFAULT_CCSID, DEFAULT_ENCODING, {}
        return True

    def _read(self) -> None:
        """Take all of it."""
        assert self.payload is not None
        read = encoded.read(self.payload)
        properties = read.properties
        if self.seen is None or not self._look():
            self.body, form = _body(read)
            self.format, self.ccsid, self.encoding, self.properties = _description(properties, form)
        self.persistent, self.priority, self.backout_count, _ = read.front
        self.message_id = identifier_to_envelope(read.message_id)
        self.correlation_id = identifier_to_envelope(read.correlation_id)
        self.reply_to = (read.reply_to or "").removeprefix(QUEUE_PREFIX)
        self.expiry = -1 if read.expires is None else max(0, int(read.expires / 100 - self.now * 10))
        self.user = "" if read.user_id is None else read.user_id.decode("utf-8", "replace")
        self.created = 0.0 if read.created is None else read.created / 1000
        self.topic = read.to.removeprefix(TOPIC_PREFIX) if read.to and read.to.startswith(TOPIC_PREFIX) else ""
        self.content_type = read.content_type or ""
        self.message_type = REQUEST_MESSAGE if self.reply_to else DATAGRAM_MESSAGE
        self.group_id = (read.group_id or "").encode()
        self.sequence = 1 if read.group_sequence is None else read.group_sequence
        self.mqmd = {}
        if properties and not MQMD_PROPERTIES.isdisjoint(properties):
            _take_further(self, properties)

    def with_body(self, body: bytes, form: str) -> Envelope:
        """The same with another body; what else it has is not read now either."""
        seen = self.seen
        if self.payload is None or seen is None or self.format != form or self.properties:
            return super().with_body(body, form)
        if seen.text and not is_utf8(body):
            return super().with_body(body, form)
        changed = object.__new__(ChangedEnvelope)
        changed.came = self
        changed.body = body
        changed.message_id = self.message_id
        changed.persistent = self.persistent
        changed.backout_count = self.backout_count
        return changed

    def __reduce__(self) -> tuple[Any, ...]:
        if self.payload is not None:
            return ServerEnvelope.of, (self.payload, self.now)
        return Envelope, tuple(getattr(self, name) for name in Envelope.__slots__)


class ChangedEnvelope(Envelope):
    """An envelope that came from a server, with another body. A text is still one."""

    __slots__ = ("came",)

    came: ServerEnvelope | None
    """What it was; None for a copy with further changes."""

    def __getattr__(self, name: str) -> Any:
        """Comes here only for attributes that have no value yet."""
        if name == "came":
            return None
        if self.came is None:
            raise AttributeError(name)
        return getattr(self.came, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Envelope, tuple(getattr(self, name) for name in Envelope.__slots__)


def take_header(envelope: Envelope) -> None:
    """Put properties that stand for fields of MQMD (`JMS_IBM_...`) where they belong.

    A publisher that speaks MQTT sends numbers as text.
    """
    properties = envelope.properties
    envelope.format, envelope.ccsid, envelope.encoding, envelope.properties = _description(properties, envelope.format)
    _take_further(envelope, properties)


def _take_further(envelope: Envelope, properties: Mapping[str, Any]) -> None:
    """Those of them that few flows look at."""
    envelope.message_type = _number(properties.get(TYPE), envelope.message_type)
    envelope.group_id = identifier_to_envelope(properties.get(GROUP)) or envelope.group_id
    envelope.mqmd = {
        name: _carried(field, properties[HEADER + name])
        for name, field in CARRIED.items()
        if HEADER + name in properties
    }


def envelopes_of(payloads: Sequence[bytes], now: float) -> list[ServerEnvelope]:
    """Messages that were taken `now` (seconds since 1970), of which is read only what every flow looks at."""
    envelopes = []
    new, kind = object.__new__, ServerEnvelope
    for payload, seen in zip(payloads, encoded.outlines(payloads), strict=True):
        envelope = new(kind)
        envelope.payload = payload
        envelope.now = now
        envelope.seen = seen
        if seen is not None:
            envelope.persistent, envelope.priority, envelope.backout_count, envelope.message_id, text, own, _, _ = seen
            if not own:
                envelope.format = MQSTR if text else ""
            else:
                try:
                    envelope.format = _described(own, text)[0]
                except MessageFormat:  # reading it will fail with the reason
                    envelope.seen = None
        envelopes.append(envelope)
    return envelopes


@lru_cache(1024)
def _described(own: bytes, text: bool) -> "_Description":
    """What these properties of the application say. Many messages of a sender have the same ones."""
    return _description(encoded.own_properties(own), MQSTR if text else "")


def _description(properties: Mapping[str, Any], form: str) -> "_Description":
    """Format, character set and encoding, and the properties without those that stand for fields of MQMD."""
    if MQMD_PROPERTIES.isdisjoint(properties):
        return form, DEFAULT_CCSID, DEFAULT_ENCODING, dict(properties)
    return (
        str(properties.get(FORMAT, form)),
        _number(properties.get(CCSID), DEFAULT_CCSID),
        _number(properties.get(ENCODING), DEFAULT_ENCODING),
        {name: value for name, value in properties.items() if name not in MQMD_PROPERTIES},
    )


_Description = tuple[str, int, int, dict[str, Any]]


def _body(read: encoded.Read) -> tuple[bytes, str]:
    if read.kind == encoded.TEXT:
        return read.body, MQSTR
    if read.kind == encoded.BYTES:
        return read.body, ""
    if read.body is None:
        return b"", ""
    return json.dumps(read.body, default=_shown, ensure_ascii=False).encode(), MQSTR


def _shown(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else str(value)


def _number(value: Any, default: int) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) else default


def _carried(field: HeaderField, value: Any) -> Any:
    return _number(value, field.default) if isinstance(field.default, int) and isinstance(value, str) else value


def payload_of(
    effect: Put | Publish | DeadLetter,
    now: int,
    origins: Mapping[str, str],
    readdressing: encoded.Readdressing | None = None,
) -> bytes:
    """The bytes of a message to be put or published; `now` is milliseconds since 1970.

    `origins` has the queue of each input node, which a dead letter is to name. `readdressing` is that of the place
    where the message goes, for somebody who sends many there.
    """
    envelope = effect.envelope
    if type(effect) is DeadLetter:
        return _encode(envelope, effect.queue, now, _reasons(effect, now, origins.get(effect.node, "")))
    annotations: dict[str, Any] | None = None
    if type(effect) is Publish and effect.retain:
        annotations = {MQTT_RETAIN: True}
    elif type(effect) is Put and effect.delay:
        annotations = {DELIVERY_DELAY: round(effect.delay * 1000)}
    elif type(envelope) is ServerEnvelope and envelope.payload is not None and envelope.seen is not None:
        same = (readdressing or readdressing_to(effect))(envelope.payload, envelope.seen.at)
        if same is not None:
            return same
    elif type(envelope) is ChangedEnvelope and envelope.came is not None:
        payload, seen = envelope.came.payload, envelope.came.seen
        assert payload is not None
        assert seen is not None
        similar = (readdressing or readdressing_to(effect)).with_body(payload, seen, envelope.body, now)
        if similar is not None:
            return similar
    place = TOPIC_PREFIX + effect.topic if isinstance(effect, Publish) else effect.queue
    return _encode(envelope, place, now, annotations)


def readdressing_to(effect: Put | Publish | DeadLetter) -> encoded.Readdressing:
    """How messages that came from a server get to where this one goes."""
    if isinstance(effect, Publish):
        return encoded.Readdressing(TOPIC_PREFIX + effect.topic, Topic.jms_type)
    return encoded.Readdressing(QUEUE_PREFIX + effect.queue)


def _reasons(letter: DeadLetter, now: int, origin: str) -> Mapping[str, Any]:
    return {
        DEAD_LETTER_QUEUE: origin,
        DEAD_LETTER_REASON: letter.reason,
        DEAD_LETTER_TIME: now,
        DEAD_LETTER_COUNT: letter.envelope.backout_count,
        DEAD_LETTER_EXCEPTIONS: letter.exceptions,
        DEAD_LETTER_NODE: letter.node,
    }


def _encode(envelope: Envelope, place: str, now: int, annotations: Mapping[str, Any] | None = None) -> bytes:
    is_topic = place.startswith(TOPIC_PREFIX)
    body = envelope.body
    text = is_text(envelope)
    reply_to = envelope.reply_to
    group = identifier_from_envelope(envelope.group_id)
    try:
        return encoded.write(
            body,
            to=place if is_topic or place.startswith(QUEUE_PREFIX) else QUEUE_PREFIX + place,
            to_kind=Topic.jms_type if is_topic else 0,
            text=text,
            persistent=envelope.persistent,
            priority=min(envelope.priority, 9),
            ttl=None if envelope.expiry < 0 else max(1, envelope.expiry * 100),
            properties=carried_properties(envelope, text=text),
            annotations=annotations,
            message_id=identifier_from_envelope(envelope.message_id),
            user_id=envelope.user.encode() if envelope.user else None,
            reply_to=None if not reply_to else reply_to if "://" in reply_to else QUEUE_PREFIX + reply_to,
            reply_kind=Topic.jms_type if reply_to.startswith(TOPIC_PREFIX) else Queue.jms_type,
            correlation_id=identifier_from_envelope(envelope.correlation_id),
            content_type=envelope.content_type or None,
            created=now,
            group_id=group if type(group) is str else None,
            group_sequence=None if group is None else envelope.sequence,
        )
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise MessageFormat(f"this message cannot be put: {error}") from error


def is_text(envelope: Envelope) -> bool:
    """Whether the message is to be sent as a text; otherwise it has bytes."""
    return envelope.format.rstrip() == MQSTR and envelope.ccsid == DEFAULT_CCSID and is_utf8(envelope.body)


def carried_properties(envelope: Envelope, *, text: bool) -> Mapping[str, Any]:
    """The application's properties, and those that stand for fields of MQMD which are not as usual."""
    more: dict[str, Any] = {}
    if envelope.format.rstrip() != (MQSTR if text else ""):
        more[FORMAT] = envelope.format
    if envelope.ccsid != DEFAULT_CCSID:
        more[CCSID] = envelope.ccsid
    if envelope.encoding != DEFAULT_ENCODING:
        more[ENCODING] = envelope.encoding
    if envelope.message_type != (REQUEST_MESSAGE if envelope.reply_to else DATAGRAM_MESSAGE):
        more[TYPE] = envelope.message_type
    if envelope.group_id and type(identifier_from_envelope(envelope.group_id)) is not str:
        more[GROUP] = envelope.group_id
    for name, value in envelope.mqmd.items():
        more[HEADER + name] = value
    return {**envelope.properties, **more} if more else envelope.properties
