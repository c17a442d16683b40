"""Columns that become parts of a message.

| column | type | what it is |
|---|---|---|
| `payload` | binary or string | the body; null is an empty one |
| `topic`, `queue` | string | where the message goes |
| `kind`, `destination` | string | the same in two columns; `kind` is topic, queue or dead-letter (a queue too) |
| `text` | boolean | whether a binary payload is a text in UTF-8 |
| `qos` | integer | 0 is not persistent; 1 and 2 are |
| `persistent` | boolean | the same, and it goes before `qos`; persistent unless said otherwise |
| `retain` | boolean | whether a topic keeps the message |
| `content_type` | string | |
| `correlation` | binary or string | |
| `reply_to` | string | `topic://NAME` or `queue://NAME`; a bare name is one of the kind that the message goes to |
| `properties` | map of strings to strings, numbers, booleans or binary | |
| `message_id` | string | else `QUERY/BATCH/PARTITION/ROW` in queues, and none in topics |
| `priority` | integer, 0 to 9 | 4 unless said otherwise |
| `expiry` | integer | milliseconds that the message lives; null or negative is for ever |
| `group_id`, `group_sequence` | string, integer | |
| `reason`, `exceptions`, `node`, `origin` | string | of a dead letter: why, where in a flow, from which queue |

Columns of `PASSED_OVER` say where a row came from. They may be there, so that what was read can be written as it is.
"""

from collections.abc import Sequence

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    StringType,
    StructType,
)

from heliograph.common.suggestions import closest_name
from heliograph.pipeline.errors import InvalidOption
from heliograph.pipeline.sink.options import SinkOptions

_TEXT: tuple[type[DataType], ...] = (StringType,)
_NUMBER: tuple[type[DataType], ...] = (IntegralType,)
_FLAG: tuple[type[DataType], ...] = (BooleanType,)
_BYTES: tuple[type[DataType], ...] = (BinaryType, StringType)
KNOWN: dict[str, tuple[type[DataType], ...]] = {
    "payload": _BYTES,
    "topic": _TEXT,
    "queue": _TEXT,
    "kind": _TEXT,
    "destination": _TEXT,
    "text": _FLAG,
    "qos": _NUMBER,
    "persistent": _FLAG,
    "retain": _FLAG,
    "content_type": _TEXT,
    "correlation": _BYTES,
    "reply_to": _TEXT,
    "properties": (MapType,),
    "message_id": _TEXT,
    "priority": _NUMBER,
    "expiry": _NUMBER,
    "group_id": _TEXT,
    "group_sequence": _NUMBER,
    "reason": _TEXT,
    "exceptions": _TEXT,
    "node": _TEXT,
    "origin": _TEXT,
}
_PROPERTY = (StringType, IntegralType, FloatType, DoubleType, BooleanType, BinaryType)
PASSED_OVER = frozenset({"stream", "partition", "offset", "timestamp", "index"})
_NAMES: dict[type[DataType], str] = {
    StringType: "string",
    BinaryType: "binary",
    BooleanType: "boolean",
    IntegralType: "int",
    MapType: "map<string,string>",
}


def used_columns(schema: StructType, options: SinkOptions) -> tuple[str, ...]:
    """The columns of a frame that become parts of messages; a `Problem` if messages cannot be made of it."""
    names = schema.fieldNames()
    for field in schema.fields:
        if field.name in KNOWN:
            _check_type(field.name, field.dataType)
        elif field.name not in PASSED_OVER:
            raise InvalidOption(_unknown(field.name))
    if "payload" not in names:
        raise InvalidOption(f'expected a column "payload" (binary or string), found: {", ".join(names) or "no column"}')
    _check_destination(names, options)
    return tuple(name for name in names if name in KNOWN)


def _check_destination(names: Sequence[str], options: SinkOptions) -> None:
    if options.topic or options.queue or "topic" in names or "queue" in names:
        return
    if "kind" in names and "destination" in names:
        return
    raise InvalidOption(
        "expected an option topic or queue, or a column topic or queue (or kind and destination), "
        f"to say where messages go; found the columns: {', '.join(names)}"
    )


def _check_type(name: str, found: DataType) -> None:
    expected = KNOWN[name]
    good = isinstance(found, expected)
    if isinstance(found, MapType):
        good = good and isinstance(found.keyType, StringType)
        good = good and isinstance(found.valueType, _PROPERTY)
    if not good:
        types = " or ".join(_NAMES[kind] for kind in expected)
        raise InvalidOption(f'expected type {types} for column "{name}", found {found.simpleString()}')


def _unknown(name: str) -> str:
    close = closest_name(name, KNOWN)
    hint = f"; did you mean {close}?" if close else ""
    return (
        f'unknown column "{name}"; columns of a message are: {", ".join(KNOWN)}{hint} '
        "(drop the column, or put it into the payload or the properties)"
    )
