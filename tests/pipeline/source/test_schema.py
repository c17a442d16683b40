"""What users may say about the columns that they want, and what they hear if it is not right."""

import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from heliograph.errors import Problem
from heliograph.pipeline.source.schema import check_schema, stream_schema


def test_any_columns_in_any_order() -> None:
    check_schema(stream_schema("binary"), "binary")
    check_schema(StructType([StructField("offset", LongType()), StructField("topic", StringType())]), "binary")


@pytest.mark.parametrize(
    ("field", "told"),
    [
        (StructField("topics", StringType()), 'unknown column "topics", did you mean "topic"?; columns are: stream, '),
        (StructField("key", StringType()), 'unknown column "key"; columns are: stream, partition, offset, '),
        (StructField("offset", IntegerType()), 'column "offset": expected type bigint, found int'),
        (StructField("payload", StringType()), 'column "payload": expected type binary, found string'),
    ],
)
def test_a_column_that_does_not_fit_is_told(field: StructField, told: str) -> None:
    with pytest.raises(Problem) as problem:
        check_schema(StructType([field]), "binary")
    assert told in str(problem.value)


def test_a_payload_is_text_for_those_who_say_so() -> None:
    check_schema(StructType([StructField("payload", StringType())]), "text")
