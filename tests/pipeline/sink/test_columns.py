"""Which columns become which parts of a message."""

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from heliograph.errors import Problem
from heliograph.pipeline.sink.columns import used_columns
from heliograph.pipeline.sink.options import SinkOptions

TO_TOPIC = SinkOptions(topic="t")


def frame(**columns: object) -> StructType:
    schema = StructType()
    for name, kind in columns.items():
        schema.add(name, kind)  # type: ignore[call-overload]
    return schema


def test_what_was_read_from_a_stream_can_be_written_as_it_is() -> None:
    read = frame(
        stream=StringType(),
        partition=IntegerType(),
        offset=LongType(),
        timestamp=TimestampType(),
        topic=StringType(),
        payload=BinaryType(),
        properties=MapType(StringType(), StringType()),
    )
    assert used_columns(read, SinkOptions()) == ("topic", "payload", "properties")


@pytest.mark.parametrize(
    ("schema", "options", "text"),
    [
        (
            frame(device=StringType(), payload=StringType()),
            TO_TOPIC,
            'unknown column "device"; columns of a message are',
        ),
        (frame(payload=StringType(), propertys=StringType()), TO_TOPIC, "did you mean properties?"),
        (frame(topic=StringType()), SinkOptions(), 'expected a column "payload".*found: topic'),
        (frame(), TO_TOPIC, "found: no column"),
        (frame(payload=LongType()), TO_TOPIC, 'expected type binary or string for column "payload", found bigint'),
        (frame(payload=StringType(), qos=StringType()), TO_TOPIC, 'type int for column "qos", found string'),
        (
            frame(payload=StringType(), properties=MapType(StringType(), ArrayType(StringType()))),
            TO_TOPIC,
            'for column "properties", found map<string,array<string>>',
        ),
        (frame(payload=StringType()), SinkOptions(), "an option topic or queue, or a column topic or queue"),
        (frame(payload=StringType(), kind=StringType()), SinkOptions(), "to say where messages go"),
    ],
)
def test_a_frame_that_cannot_be_messages_is_refused(schema: StructType, options: SinkOptions, text: str) -> None:
    with pytest.raises(Problem, match=text):
        used_columns(schema, options)
