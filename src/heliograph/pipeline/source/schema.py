"""The columns that a stream has in Spark."""

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from heliograph.common.suggestions import closest_name
from heliograph.pipeline.errors import InvalidOption

_TEXT = StringType()
_ALWAYS: dict[str, DataType] = {
    "stream": _TEXT,
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "topic": _TEXT,
    "payload": BinaryType(),
    "qos": IntegerType(),
    "retain": BooleanType(),
}
_SOMETIMES: dict[str, DataType] = {
    "content_type": _TEXT,
    "correlation": BinaryType(),
    "reply_to": _TEXT,
    "properties": MapType(_TEXT, _TEXT),
}
_ON_REQUEST: dict[str, DataType] = {"text": BooleanType(), "expiry": LongType()}
"""Columns that are there if a user's own schema has them: `text` is true if the sender said that it is text, `expiry`
is how many milliseconds the message was meant to live when it came."""


def stream_schema(payload_format: str) -> StructType:
    """All columns; `payload_format` is "binary" or "text"."""
    fields = [StructField(name, kind, nullable=False) for name, kind in _ALWAYS.items()]
    fields += [StructField(name, kind) for name, kind in _SOMETIMES.items()]
    fields.append(StructField("message_id", _TEXT, nullable=False))
    if payload_format == "text":
        fields[5] = StructField("payload", _TEXT, nullable=False)
    return StructType(fields)


def check_schema(wanted: StructType, payload_format: str) -> None:
    """Whether a user's own schema has only columns that a stream has: any of them, in any order."""
    check_columns(wanted, columns_in(stream_schema(payload_format)) | _ON_REQUEST)


def columns_in(schema: StructType) -> dict[str, DataType]:
    """The types of columns, by name."""
    return {field.name: field.dataType for field in schema.fields}


def check_columns(wanted: StructType, there: Mapping[str, DataType]) -> None:
    """Whether a user's own schema has only columns that are there."""
    for field in wanted.fields:
        kind = there.get(field.name)
        if kind is None:
            near = closest_name(field.name, there)
            suggestion = f', did you mean "{near}"?' if near else ""
            raise InvalidOption(f'unknown column "{field.name}"{suggestion}; columns are: {", ".join(there)}')
        if kind.simpleString() != field.dataType.simpleString():
            found = field.dataType.simpleString()
            raise InvalidOption(f'column "{field.name}": expected type {kind.simpleString()}, found {found}')


def arrow_schema(schema: StructType) -> pa.Schema:
    """The schema as Arrow types, which Spark expects from its Python workers."""
    return to_arrow_schema(schema, timezone="UTC")
