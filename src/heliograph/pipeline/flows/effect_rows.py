"""Effects of a flow as rows: one row for each message to be sent, file to be written, or message that failed.

`stream`, `partition`, `offset` and `timestamp` are those of the message that came in; `index` counts what came of it.
Properties are text here, as in MQTT. `message` is for the sink of pipelines: the message as the server takes it, with
everything that columns would lose; where it is given, the columns that say the same are empty.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from heliograph.flow.engine import DeadLetter, Effect, Publish, Put, WriteFile
from heliograph.flow.formats import Envelope
from heliograph.flow.inline import carried_properties, is_text
from heliograph.mapping import identifier_from_envelope, identifier_to_text

QUEUE, TOPIC, FILE, DEAD_LETTER = "queue", "topic", "file", "dead-letter"
END = "end"
"""The kind of the row that is the last one for the sink; it has nothing else."""
_MAP = pa.map_(pa.string(), pa.string())
_PLACE = (
    ("stream", "string", pa.string()),
    ("partition", "int", pa.int32()),
    ("offset", "bigint", pa.int64()),
    ("timestamp", "timestamp", pa.timestamp("us", "UTC")),
)
_READABLE = (
    ("payload", "binary", pa.binary()),
    ("text", "boolean", pa.bool_()),
    ("content_type", "string", pa.string()),
    ("correlation", "binary", pa.binary()),
    ("reply_to", "string", pa.string()),
    ("properties", "map<string,string>", _MAP),
    ("message_id", "string", pa.string()),
    ("persistent", "boolean", pa.bool_()),
    ("priority", "int", pa.int32()),
    ("expiry", "bigint", pa.int64()),
    ("retain", "boolean", pa.bool_()),
    ("reason", "string", pa.string()),
    ("exceptions", "string", pa.string()),
)
_HEAD = (
    ("index", "int", pa.int32()),
    ("kind", "string", pa.string()),
    ("destination", "string", pa.string()),
    ("node", "string", pa.string()),
)
_COLUMNS = (*_PLACE, *_HEAD, *_READABLE)
ROW = "row"
"""The column with the number of a message among those of its task. Messages that came in have it if some between them
were left out that the flow need not see."""
_FOR_THE_SINK = ((ROW, "bigint", pa.int64()), ("message", "binary", pa.binary()))

SCHEMA = pa.schema([(name, kind) for name, _, kind in _COLUMNS])
DDL = ", ".join(f"`{name}` {ddl}" for name, ddl, _ in _COLUMNS)
"""The same for Spark."""
SINK_SCHEMA = pa.schema([(name, kind) for name, _, kind in (*_COLUMNS, *_FOR_THE_SINK)])
"""With `row`, the number of the message that came in among those of its task, and `message`."""
MESSAGES_SCHEMA = pa.schema([(name, kind) for name, _, kind in _FOR_THE_SINK])
"""Only these two."""
SINK_DDL = ", ".join(f"`{name}` {ddl}" for name, ddl, _ in (*_COLUMNS, *_FOR_THE_SINK))


def end_row() -> pa.RecordBatch:
    """The row that tells the sink that all rows have come."""
    arrays = [pa.array([END], field.type) if field.name == "kind" else pa.nulls(1, field.type) for field in SINK_SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SINK_SCHEMA)


class EffectRows:
    """Gathers effects of the messages of a batch, and makes a batch of rows of them."""

    def __init__(self, came: pa.RecordBatch) -> None:
        """`came` has the messages that came in."""
        self._came = came
        # One tuple for each row: an append for each column would take longer than all the rest.
        self._heads: list[tuple[int, int, str, str, str]] = []
        self._readable: list[tuple[Any, ...]] = []
        self._messages: list[bytes] = []

    def __len__(self) -> int:
        return len(self._heads)

    def add_message(self, at: int, index: int, kind: str, destination: str, node: str, message: bytes) -> None:
        """A message as the server takes it, that came of message number `at` of the batch."""
        self._heads.append((at, index, kind, destination, node))
        self._messages.append(message)

    def add(self, at: int, index: int, effect: Effect) -> None:
        """An effect with columns for everything that is known of it."""
        self._heads.append((at, index, *kind_and_destination(effect), effect.node))
        self._readable.append(_readable(effect))

    def batch(self, schema: pa.Schema, first_row: int = 0) -> pa.RecordBatch:
        """The rows. `first_row` is the number of the first message of the batch among those of its task."""
        places, *heads = map(list, zip(*self._heads, strict=True))
        at = pa.array(places, pa.int32())
        columns: dict[str, pa.Array] = {}
        for (name, _, kind), values in zip(_HEAD, heads, strict=True):
            columns[name] = pa.array(values, kind)
        for name, _, kind in _PLACE:
            if name in self._came.schema.names:
                columns[name] = self._came.column(name).take(at).cast(kind)
        for (name, _, kind), column in zip(_READABLE, zip(*self._readable, strict=True), strict=False):
            columns[name] = _maps(column) if name == "properties" else pa.array(column, kind)
        if ROW in schema.names:
            numbered = ROW in self._came.schema.names
            rows = self._came.column(ROW).take(at) if numbered else [first_row + row for row in places]
            columns[ROW] = pa.array(rows, pa.int64())
            if self._messages:
                columns["message"] = pa.array(self._messages, pa.binary())
        arrays = [columns[field.name] if field.name in columns else pa.nulls(len(self), field.type) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _readable(effect: Effect) -> tuple[Any, ...]:
    """The values of the readable columns."""
    envelope: Envelope = Envelope(effect.data) if isinstance(effect, WriteFile) else effect.envelope  # type: ignore[union-attr]
    text = is_text(envelope)
    message_id = envelope.message_id
    letter = effect if isinstance(effect, DeadLetter) else None
    return (
        envelope.body,
        text,
        envelope.content_type or None,
        envelope.correlation_id or None,
        envelope.reply_to or None,
        carried_properties(envelope, text=text),
        identifier_to_text(identifier_from_envelope(message_id)) if message_id else None,
        envelope.persistent,
        envelope.priority,
        None if envelope.expiry < 0 else envelope.expiry * 100,
        isinstance(effect, Publish) and effect.retain,
        letter and letter.reason,
        letter and letter.exceptions,
    )


def kind_and_destination(effect: Effect) -> tuple[str, str]:
    """What an effect is called in rows, and where it goes."""
    if isinstance(effect, Put):
        return QUEUE, effect.queue
    if isinstance(effect, Publish):
        return TOPIC, effect.topic
    if isinstance(effect, DeadLetter):
        return DEAD_LETTER, effect.queue
    assert isinstance(effect, WriteFile)  # flows that answer requests are not deployed
    return FILE, f"{effect.directory}/{effect.name}"


def _maps(properties: Sequence[Mapping[str, Any]]) -> pa.Array:
    """All names and all values at once: a row at a time takes several times as long."""
    offsets = [0]
    names: list[str] = []
    texts: list[str | None] = []
    for one in properties:
        if one:
            names += one.keys()
            texts += [value if type(value) is str else _text(value) for value in one.values()]
        offsets.append(len(names))
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.array(names, pa.string()), pa.array(texts, pa.string()), type=_MAP
    )


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.hex() if isinstance(value, bytes) else str(value)
