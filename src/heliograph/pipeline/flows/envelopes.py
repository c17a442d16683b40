"""Rows of a stream become envelopes: the same that an inline flow gets of the same message.

The inline runner gets MQTT publications as the server converts them for queues and AMQP subscriptions
(docs/reference/mapping.md). A flow on Spark gets them from a stream, as they were published, so that conversion is done
here, for TopicInput and QueueInput alike: an input with a queue sees what it would see if the queue were bound to the
topic.

What a stream does not keep cannot come back: the types of an AMQP sender's properties, and whether its address for
replies said that it is a topic. How long a message lives is counted from its arrival, so that a task that is repeated,
or that is done a month later, makes the same outputs. A message without an identifier of its own has none here either;
new identifiers are made from its place in the stream, so that a task that is repeated makes the same ones.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heliograph.amqp.messages import sections
from heliograph.client import MessageFormat
from heliograph.flow.formats import Envelope
from heliograph.flow.inline import (
    DATAGRAM_MESSAGE,
    DEFAULT_CCSID,
    DEFAULT_ENCODING,
    MQMD_PROPERTIES,
    MQSTR,
    REQUEST_MESSAGE,
    ServerEnvelope,
    take_header,
)
from heliograph.mapping import (
    AMQP_FIELD_PREFIX,
    CONTENT_TYPE_PROPERTY,
    ENCODED_CONTENT_TYPE,
    FIELD_READERS,
    PRIORITY_PROPERTY,
    QUEUE_PREFIX,
    REPLY_TO_PROPERTY,
    TOPIC_PREFIX,
    identifier_from_correlation_data,
    identifier_from_text,
    identifier_to_envelope,
    is_utf8,
    read_priority,
)

_DEFAULT_PRIORITY = sections.DEFAULT_PRIORITY
_SECTIONS = (sections.SEQUENCE_START, sections.VALUE_START)
"""How the payload begins that is an encoded body."""
_NOTHING: Mapping[str, Any] = {}


def envelopes_of(batch: pa.RecordBatch) -> list[Envelope]:
    """An envelope for each row, in order. The batch has the columns of the source, or some of them."""
    rows = zip(
        _values(batch, "payload"),
        _values(batch, "text"),
        _values(batch, "topic"),
        _values(batch, "qos"),
        _values(batch, "expiry"),
        _values(batch, "content_type"),
        _values(batch, "correlation"),
        _values(batch, "reply_to"),
        properties_of(batch),
        _values(batch, "message_id"),
        _values(batch, "timestamp"),
        places_of(batch),
        strict=True,
    )
    envelopes = [_envelope(*row) for row in rows]
    if _has_fields(batch):
        for envelope in envelopes:
            if envelope.properties:
                _take_properties(envelope)
    return envelopes


def places_of(batch: pa.RecordBatch) -> list[str]:
    """Where each row is kept: `stream/partition/offset`."""
    rows = zip(*(_values(batch, name) for name in ("stream", "partition", "offset")), strict=True)
    return ["" if offset is None else f"{stream}/{partition}/{offset}" for stream, partition, offset in rows]


def properties_of(batch: pa.RecordBatch) -> Sequence[Mapping[str, str]]:
    """The user properties of each row; of several with one name, the first counts."""
    if "properties" not in batch.schema.names:
        return [_NOTHING] * batch.num_rows
    column = batch.column("properties")
    offsets = column.offsets.to_pylist()
    first, last = offsets[0], offsets[-1]
    if first == last:
        return [_NOTHING] * batch.num_rows
    # Names and values of all rows at once: a row at a time takes several times as long.
    names = column.keys[first:last].to_pylist()
    texts = column.items[first:last].to_pylist()
    found: list[Mapping[str, str]] = []
    for start, end in pairwise(offsets):
        if start == end:
            found.append(_NOTHING)
            continue
        start, end = start - first, end - first
        one = dict(zip(names[start:end], texts[start:end], strict=True))
        if len(one) < end - start:  # the first of a name is the last that is put in
            pairs = zip(reversed(names[start:end]), reversed(texts[start:end]), strict=True)
            one = dict(reversed(dict(pairs).items()))
        found.append(one)
    return found


def _values(batch: pa.RecordBatch, name: str) -> Sequence[Any]:
    if name not in batch.schema.names:
        return [None] * batch.num_rows
    column = batch.column(name)
    if column.null_count == len(column):
        return [None] * batch.num_rows
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False).view(pa.int64())
    values: Sequence[Any] = column.to_pylist() if column.null_count else column.to_numpy(zero_copy_only=False).tolist()
    return values


def _envelope(
    payload: bytes | None,
    text: bool | None,
    topic: str | None,
    qos: int | None,
    expiry: int | None,
    content_type: str | None,
    correlation: bytes | None,
    reply_to: str | None,
    properties: Mapping[str, str],
    message_id: str | None,
    timestamp: int | None,
    place: str,
) -> Envelope:
    # By position: half the time of a call with names.
    envelope = Envelope(
        payload or b"",
        MQSTR if text and payload is not None and is_utf8(payload) else "",
        DEFAULT_CCSID,
        DEFAULT_ENCODING,
        b"" if message_id is None or message_id == place else identifier_to_envelope(identifier_from_text(message_id)),
        identifier_to_envelope(identifier_from_correlation_data(correlation)) if correlation else b"",
        _reply_to(reply_to) if reply_to else "",
        bool(qos),
        _DEFAULT_PRIORITY,
        -1 if expiry is None else expiry // 100,
        REQUEST_MESSAGE if reply_to else DATAGRAM_MESSAGE,
        "",
        timestamp / 1_000_000 if timestamp else 0.0,
        0,
        topic or "",
        content_type if content_type is not None and content_type.isascii() else "",
        properties,
        b"",
        1,
        _NOTHING,
        place.encode(),
    )
    if content_type == ENCODED_CONTENT_TYPE:
        _take_encoded(envelope)
    return envelope


def _reply_to(text: str) -> str:
    """A topic, unless it says that it is a queue."""
    return text.removeprefix(QUEUE_PREFIX) if "://" in text else TOPIC_PREFIX + text


def _take_encoded(envelope: Envelope) -> None:
    """The payload is a section of AMQP; its content type, if it has one, travels as a user property."""
    if not envelope.body.startswith(_SECTIONS):
        return
    try:
        read = ServerEnvelope.of(envelope.body, envelope.created)
        envelope.body, envelope.format = read.body, read.format
    except MessageFormat:
        return
    properties = dict(envelope.properties)
    content_type = properties.pop(CONTENT_TYPE_PROPERTY, "")
    envelope.content_type = content_type if content_type.isascii() else ""
    envelope.properties = properties


def _has_fields(batch: pa.RecordBatch) -> bool:
    """Whether user properties of any row stand for fields: most have none, and need not be looked at one by one."""
    if "properties" not in batch.schema.names:
        return False
    column = batch.column("properties")
    first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
    names = pc.unique(column.keys[first:last]).to_pylist()
    return any(name.startswith(AMQP_FIELD_PREFIX) or name in MQMD_PROPERTIES for name in names)


def _take_properties(envelope: Envelope) -> None:
    """Put user properties that stand for fields where they belong."""
    properties = envelope.properties
    if any(name.startswith(AMQP_FIELD_PREFIX) for name in properties):
        left = dict(envelope.properties)
        for name, text in properties.items():
            try:
                if name.startswith(AMQP_FIELD_PREFIX) and _take_field(envelope, name, text):
                    del left[name]
            except ValueError:  # it is not written as it would be for the field, so it is the application's own
                continue
        envelope.properties = left
    if not MQMD_PROPERTIES.isdisjoint(properties):
        take_header(envelope)


def _take_message_id(envelope: Envelope, message_id: Any) -> None:
    envelope.message_id = identifier_to_envelope(message_id)


def _take_created(envelope: Envelope, created: int) -> None:
    envelope.created = created / 1000


def _take_group(envelope: Envelope, group_id: str) -> None:
    envelope.group_id = group_id.encode()


def _take_sequence(envelope: Envelope, sequence: int) -> None:
    envelope.sequence = int(sequence)


_SETTERS: Mapping[int, Callable[[Envelope, Any], None]] = {
    sections.MESSAGE_ID: _take_message_id,
    sections.CREATION_TIME: _take_created,
    sections.GROUP_ID: _take_group,
    sections.GROUP_SEQUENCE: _take_sequence,
}
"""What fields of the properties are in an envelope; no flow sees the others."""


def _take_field(envelope: Envelope, name: str, text: str) -> bool:
    """Put a user property where it belongs; False if it is the application's own, ValueError if its text is."""
    if name == PRIORITY_PROPERTY:
        envelope.priority = int(read_priority(text))
        return True
    if name == REPLY_TO_PROPERTY:
        if envelope.reply_to:  # MQTT's own comes first
            return False
        envelope.reply_to = text.removeprefix(QUEUE_PREFIX)
        envelope.message_type = REQUEST_MESSAGE if envelope.reply_to else DATAGRAM_MESSAGE
        return True
    if name not in FIELD_READERS:
        return False
    position, read = FIELD_READERS[name]
    value = read(text)
    if position in _SETTERS:
        _SETTERS[position](envelope, value)
    return True
